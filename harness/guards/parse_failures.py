"""An evaluator that cannot be understood."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire, nth
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseFailures(Guard):
    """Pauses when this many evaluator replies running could not be parsed.

    A weak evaluator would otherwise burn the whole budget of the loop.
    """

    reason: ClassVar[ExitReason] = ExitReason.EVALUATOR_UNPARSEABLE
    measures: ClassVar[str] = "trailing evaluator replies that could not be parsed"
    default_on_fire: ClassVar[OnFire] = "pause"
    needs: ClassVar[str | None] = "judge"

    threshold: float = 3

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        return history.unparsed if history.evaluator_asked else UNKNOWN
