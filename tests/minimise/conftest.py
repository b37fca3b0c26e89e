"""What the tests of minimising share with those of the command line."""

from tests.cli.conftest import harness, here

__all__ = ["harness", "here"]
