"""An evaluator that cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire, nth
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorErrors(Guard):
    """Pauses when this many evaluator calls running have failed (transport, time-out)."""

    reason: ClassVar[ExitReason] = ExitReason.INFRASTRUCTURE
    measures: ClassVar[str] = "trailing evaluator calls that failed"
    default_on_fire: ClassVar[OnFire] = "pause"
    needs: ClassVar[str | None] = "judge"

    threshold: float = 5

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        return history.unreachable if history.evaluator_asked else UNKNOWN
