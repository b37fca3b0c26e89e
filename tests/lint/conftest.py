"""The command line, called in this process, as the tests of the other verbs do."""

from __future__ import annotations

from tests.cli.conftest import harness, here, scenario

__all__ = ["harness", "here", "scenario"]
