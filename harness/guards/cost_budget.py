"""Limit on money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard
from harness.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBudget(Guard):
    """Stops when the cost of all roles together reaches the budget (``limit_usd``).

    Money is counted in integer pico-USD. A reply without a known price makes the sum a lower
    bound: it fires when that alone reaches the budget, and is unknown before.
    """

    reason: ClassVar[ExitReason] = ExitReason.COST_BUDGET
    measures: ClassVar[str] = "cost of all roles (pico-USD)"
    aliases: ClassVar[Mapping[str, int]] = {"limit_usd": 10**12}
    bare_number: ClassVar[bool] = False

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def signal(self, history: History) -> float:
        return history.cost_pico_usd

    @classmethod
    def shown(cls, value: float) -> str:
        dollars = value / 10**12
        return f"${dollars:,.2f}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.4f}"

    def known(self, history: History) -> bool:
        return history.cost_known
