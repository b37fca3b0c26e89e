"""Limit on iterations."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire, nth
from harness.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxIterations(Guard):
    """Pauses when the number of completed iterations reaches the limit.

    The hard ceiling of an agent loop. It pauses rather than stops: the work is not lost, a
    person decides whether it may go on. ``counts = "acting"`` takes only iterations that called a
    tool: frameworks that check their limit before the next turn let an agent finish in the last.
    """

    reason: ClassVar[ExitReason] = ExitReason.MAX_ITERATIONS
    measures: ClassVar[str] = "iterations completed"
    default_on_fire: ClassVar[OnFire] = "pause"

    threshold: float = 20
    counts: Literal["all", "acting"] = "all"

    def bounds(self) -> tuple[float, float]:
        return (1 if self.counts == "all" else 0), inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def latest(self) -> float:
        return nth(self.threshold) if self.counts == "all" else inf

    def signal(self, history: History) -> float:
        return history.length if self.counts == "all" else history.acting_turns
