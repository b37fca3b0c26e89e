"""The shortest recording that still ends the same way: a regression test from one bad night."""

from harness.minimise.core import Minimised, minimise

__all__ = ["Minimised", "minimise"]
