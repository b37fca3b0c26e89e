"""Going round in a circle."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from operator import ge
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards._base import Guard, Wider, nth
from harness.guards._orders import further
from harness.guards.oscillation import Identity, Since
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle(Guard):
    """Stops when the turns' actions have gone round a cycle this many laps.

    A cycle has a period of 2 to ``max_period`` actions, compared by ``identity``; the same
    action in a row is a spin and no cycle. ``on = "call"`` takes each single call, nothing passed
    over; it looks back to the ``start``, or only to where a ``person`` last spoke.
    """

    reason: ClassVar[ExitReason] = ExitReason.CYCLE
    measures: ClassVar[str] = "laps of the trailing cycle"
    wider: ClassVar[Wider] = {"max_period": ge, "since": further}

    threshold: float = 3
    max_period: int = 5
    on: Literal["action", "call"] = "action"
    identity: Identity = DEFAULT_IDENTITY  # type: ignore[assignment]  # a str constant
    since: Since = "start"

    def __post_init__(self) -> None:
        # Not super(): with slots the class that it looks for is another one.
        Guard.__post_init__(self)
        if self.max_period < 2:
            raise ValueError("max_period must be 2 or more: a run of one action is a spin")

    def bounds(self) -> tuple[float, float]:
        low = 0 if self.on == "call" else 1
        return low, (1 if self.since == "turn" and self.on == "action" else inf)

    def earliest(self) -> float:
        # The shortest cycle takes two turns a lap; one lap is where there is any action.
        return 1 if self.on == "call" or self.threshold <= 1 else 2 * nth(self.threshold)

    def signal(self, history: History) -> float:
        laps = history.trail(self.on, self.identity, self.since).laps(self.max_period)
        return laps if laps and history.moved(self.on) else 0 if laps else UNKNOWN
