"""The command line, and the folder of recorded runs."""

from __future__ import annotations

from tests.cli.conftest import Cli, Result, harness, here
from tests.importers.conftest import corpora

__all__ = ["Cli", "Result", "corpora", "harness", "here"]
