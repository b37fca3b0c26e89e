"""Limit on revisions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, nth
from harness.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRounds(Guard):
    """Stops when the number of revisions reaches the limit.

    The first execution is no revision: three rounds allow four iterations. Three to five are
    usual for code repair; zero allows the first version only.
    """

    reason: ClassVar[ExitReason] = ExitReason.MAX_ROUNDS
    measures: ClassVar[str] = "revisions made (iterations after the first)"

    threshold: float = 5

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold, after=1)

    def latest(self) -> float:
        return nth(self.threshold, after=1)

    def signal(self, history: History) -> float:
        return history.length - 1
