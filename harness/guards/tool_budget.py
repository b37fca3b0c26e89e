"""Limit on tool calls."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard
from harness.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBudget(Guard):
    """Stops when the number of tool calls reaches the budget.

    Calls count, not turns: thirty calls in one reply exceed a budget of twenty.
    """

    reason: ClassVar[ExitReason] = ExitReason.TOOL_BUDGET
    measures: ClassVar[str] = "tool calls made"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def signal(self, history: History) -> float:
        return history.calls
