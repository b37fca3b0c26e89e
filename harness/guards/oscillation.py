"""Swinging between two states."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards._base import Guard, Wider, nth
from harness.guards._orders import further
from harness.history import UNKNOWN, History

Identity = Literal[
    "action",
    "args",
    "args+result",
    "args+normalised result",
    "normalised",
    "result",
    "error",
    "batch",
]
Since = Literal["start", "person", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Oscillation(Guard):
    """Stops when the trailing A-B-A-B reaches this length.

    ``on``: ``output`` (the artefact), ``action`` (the turn's calls, compared by ``identity``),
    ``text`` (the reply), ``score direction`` (up, down, up, down), ``call`` (each single call,
    nothing passed over), or ``thought and call`` (with the reply's text). It looks back to the
    ``start``, or, scores aside, only to where a ``person`` last spoke.
    """

    reason: ClassVar[ExitReason] = ExitReason.OSCILLATION
    measures: ClassVar[str] = "length of the trailing A-B-A-B"
    wider: ClassVar[Wider] = {"since": further}

    threshold: float = 4
    on: Literal["output", "action", "text", "score direction", "call", "thought and call"] = (
        "output"
    )
    identity: Identity = DEFAULT_IDENTITY  # type: ignore[assignment]  # a str constant
    since: Since = "start"

    def bounds(self) -> tuple[float, float]:
        single = self.on in ("call", "thought and call")
        alone = self.since == "turn" and not single and self.on != "score direction"
        return (0 if single else 1), (1 if alone else inf)

    def earliest(self) -> float:
        if self.on in ("call", "thought and call"):
            return 1
        # A direction takes two scores.
        return nth(max(1, self.threshold), after=1 if self.on == "score direction" else 0)

    def unread(self) -> frozenset[str]:
        if self.on == "score direction":
            return frozenset({"identity", "since"})
        return frozenset({"identity"} if self.on in ("text", "output") else ())

    def signal(self, history: History) -> float:
        trail = history.trail(self.on, self.identity, self.since)
        if not trail.items:
            return UNKNOWN
        return trail.alternation if history.moved(self.on) else 0
