"""The work gets worse."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression(Guard):
    """Stops when the score lies this far behind the best so far."""

    reason: ClassVar[ExitReason] = ExitReason.REGRESSION
    measures: ClassVar[str] = "best score so far minus the score"
    on_scores: ClassVar[bool] = True

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return 2 if self.threshold > 0 else 1

    def signal(self, history: History) -> float:
        score = history.now.evaluation.score
        if score is None or history.best_score is None:
            return UNKNOWN
        return round(history.sign * (history.best_score - score), 9) + 0.0
