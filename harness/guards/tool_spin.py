"""One tool going round on the spot, whatever other tools do in between."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, Wider, nth
from harness.guards._orders import coarser
from harness.history import UNKNOWN, History
from harness.tallies import Rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpin(Guard):
    """Stops when a tool was called with the same set of calls this many rounds running.

    A round of a tool is a turn that calls it; equal calls of one turn count once, and other tools
    do not break the streak. Nothing is passed over.
    """

    reason: ClassVar[ExitReason] = ExitReason.SPIN
    measures: ClassVar[str] = "longest streak of equal rounds among this turn's tools"
    wider: ClassVar[Wider] = {"identity": coarser}

    identity: Literal["args", "args+result", "args+normalised result"] = "args"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        rounds = history.tally(Rounds, self.identity)
        return rounds.longest if rounds.seen else UNKNOWN
