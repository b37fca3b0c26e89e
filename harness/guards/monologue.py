"""Talking instead of acting."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, nth
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class Monologue(Guard):
    """Stops when an agent that has tools has used none for this many turns running.

    A person's message restarts the count; an agent without tools cannot be judged.
    """

    reason: ClassVar[ExitReason] = ExitReason.MONOLOGUE
    measures: ClassVar[str] = "trailing turns without a tool call"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        return history.idle_turns if history.has_tools else UNKNOWN
