"""No new best for a while."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, nth
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience(Guard):
    """Stops when this many scored iterations running have brought no new best.

    Only a strictly better score is a new best; iterations without a score count neither way.
    """

    reason: ClassVar[ExitReason] = ExitReason.STAGNATION
    measures: ClassVar[str] = "scored iterations since the last new best"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold, after=1)

    def signal(self, history: History) -> float:
        return history.since_best if history.scores else UNKNOWN
