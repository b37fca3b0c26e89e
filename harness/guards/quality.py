"""Good enough."""

from __future__ import annotations

from dataclasses import dataclass
from operator import le
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, Wider
from harness.history import UNKNOWN, History
from harness.trace import Direction
from harness.verdicts import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality(Guard):
    """Stops when the score reaches the threshold, ``confirmations`` scored iterations running.

    An iteration without a score says nothing. Where a lower score is better it stops when the
    score is at or below the threshold.
    """

    reason: ClassVar[ExitReason] = ExitReason.QUALITY_REACHED
    measures: ClassVar[str] = "score (the worst of the last `confirmations`)"
    on_scores: ClassVar[bool] = True
    wider: ClassVar[Wider] = {"confirmations": le}

    threshold: float = 0.85
    confirmations: int = 1

    def earliest(self) -> float:
        return self.confirmations

    def signal(self, history: History) -> float:
        score = history.now.evaluation.score
        if score is None:
            return UNKNOWN
        if self.confirmations == 1:
            return score
        last = history.scores[-self.confirmations :]
        if len(last) < self.confirmations:
            return UNKNOWN
        return max(last) if history.direction == "lower" else min(last)

    def compares(self, direction: Direction) -> Comparison:
        return "<=" if direction == "lower" else ">="
