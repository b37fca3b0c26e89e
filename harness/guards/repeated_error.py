"""The same error again and again."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, nth
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedError(Guard):
    """Stops when this many turns running have failed with the same error.

    A turn failed if it made calls and none succeeded; the signature is the last line of the
    error, normalised, whatever was called. An error without output has no signature; waiting
    calls and transient failures are passed over.
    """

    reason: ClassVar[ExitReason] = ExitReason.REPEATED_ERROR
    measures: ClassVar[str] = "trailing turns that failed with the same error"

    threshold: float = 3

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        return history.error_turns if history.calls else UNKNOWN
