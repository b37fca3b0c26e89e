"""A reply that loops inside itself."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLoop(Guard):
    """Stops when one passage occurs this often inside one reply.

    Code fences, tables, lists, headings, quotations and rules are regular by nature and do not
    count.
    """

    reason: ClassVar[ExitReason] = ExitReason.REPETITION
    measures: ClassVar[str] = "occurrences of one passage inside the newest reply"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def signal(self, history: History) -> float:
        turn = history.now.turn
        return UNKNOWN if "text" in turn.unseen else turn.passage_repeats
