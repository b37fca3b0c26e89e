"""A person who wants something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire
from harness.history import UNKNOWN, History
from harness.verdicts import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOverlap(Guard):
    """Records how much of a person's message occurs in the goal; low is likely another goal.

    The share of the message's distinct content tokens that the goal has too. The mechanism
    ``continuity`` decides by seven rules; this is its signal, so that its thresholds can be tuned
    like any other. Unknown where nobody spoke or continuity is off.
    """

    reason: ClassVar[ExitReason] = ExitReason.GOAL_CHANGED
    measures: ClassVar[str] = "share of a message's content tokens that occur in the goal"
    comparison: ClassVar[Comparison] = "<"
    default_on_fire: ClassVar[OnFire] = "observe"
    needs: ClassVar[str | None] = "continuity"

    threshold: float = 0.08

    def bounds(self) -> tuple[float, float]:
        return 0, 1

    def signal(self, history: History) -> float:
        overlap = history.now.overlap
        return UNKNOWN if overlap is None else overlap
