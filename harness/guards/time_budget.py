"""Limit on elapsed time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard
from harness.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBudget(Guard):
    """Stops when the elapsed time reaches the budget (``limit_s`` in seconds).

    Time is the loop's own clock: replies, the longest of parallel calls, role calls in series
    and idle time. Where a part was not recorded the known sum is a lower bound: it fires when
    that alone reaches the budget, and is unknown before.
    """

    reason: ClassVar[ExitReason] = ExitReason.TIME_BUDGET
    measures: ClassVar[str] = "elapsed time (ms)"
    aliases: ClassVar[Mapping[str, int]] = {"limit_s": 1000}
    bare_number: ClassVar[bool] = False

    threshold: float = 120_000

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def signal(self, history: History) -> float:
        return history.elapsed_ms

    @classmethod
    def shown(cls, value: float) -> str:
        return f"{value / 1000:,.1f}s"

    def known(self, history: History) -> bool:
        return history.elapsed_known
