"""Limit on tokens."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, Wider
from harness.guards._orders import ranked
from harness.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget(Guard):
    """Stops when the tokens of all roles together reach the budget.

    ``measure``: ``total``, ``output`` (with reasoning), or ``uncached`` (all but cache reads).
    A reply without usage makes the sum a lower bound: it fires when that alone reaches the
    budget, and is unknown before.
    """

    reason: ClassVar[ExitReason] = ExitReason.TOKEN_BUDGET
    measures: ClassVar[str] = "tokens used by all roles"
    wider: ClassVar[Wider] = {"measure": ranked("output", "uncached", "total")}

    measure: Literal["total", "output", "uncached"] = "total"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def signal(self, history: History) -> float:
        if self.measure == "total":
            return history.tokens_total
        return history.tokens_output if self.measure == "output" else history.tokens_uncached

    def known(self, history: History) -> bool:
        return history.tokens_known
