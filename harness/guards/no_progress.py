"""Busy, but nothing moves."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire, Wider, nth
from harness.guards._orders import ranked
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProgress(Guard):
    """Switches strategy, delegates, then stops after iterations without observable progress.

    Progress is a successful call whose result is new (``progress_counts = "any_success"``: any
    call), new evidence, or an evaluator that saw some. Where the workspace is
    recorded it decides alone: a new or changed file is progress; ``writes`` takes nothing else.
    Waiting calls and transient failures are passed over; without anything to tell by it is
    unknown.
    """

    reason: ClassVar[ExitReason] = ExitReason.NO_PROGRESS
    measures: ClassVar[str] = "trailing iterations without observable progress"
    default_on_fire: ClassVar[OnFire] = {"2": "switch_strategy", "4": "delegate", "6": "stop"}
    wider: ClassVar[Wider] = {"progress_counts": ranked("any_success", "new_result")}

    threshold: float = 2
    progress_counts: Literal["new_result", "any_success", "writes"] = "new_result"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        if self.progress_counts == "writes" and history.now.turn.writes is None:
            return UNKNOWN
        return history.stalled[self.progress_counts] if history.progress_sensed else UNKNOWN
