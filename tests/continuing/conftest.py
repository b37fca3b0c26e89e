"""The command line in an empty folder, as in the tests of the command line."""

from __future__ import annotations

from tests.cli.conftest import harness, here

__all__ = ["harness", "here"]
