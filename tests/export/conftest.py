"""What the tests of export share with those of the command line and of the importers."""

from tests.cli.conftest import harness, here
from tests.importers.conftest import corpora

__all__ = ["corpora", "harness", "here"]
