"""An evaluator that cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.guards._base import Guard, OnFire
from harness.history import UNKNOWN, History
from harness.trace import ExitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorErrors(Guard):
    """Pauses when this many evaluator calls running have failed (transport, time-out)."""

    reason: ClassVar[ExitReason] = ExitReason.INFRASTRUCTURE
    measures: ClassVar[str] = "trailing evaluator calls that failed"
    default_on_fire: ClassVar[OnFire] = "pause"

    threshold: float = 5

    def signal(self, history: History) -> float:
        return history.unreachable if history.evaluator_asked else UNKNOWN
