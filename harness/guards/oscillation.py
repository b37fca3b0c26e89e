"""Swinging between two states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards._base import Guard
from harness.history import UNKNOWN, History
from harness.trace import ExitReason

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

    threshold: float = 4
    on: Literal["output", "action", "text", "score direction", "call", "thought and call"] = (
        "output"
    )
    identity: Identity = DEFAULT_IDENTITY  # type: ignore[assignment]  # a str constant
    since: Since = "start"

    def signal(self, history: History) -> float:
        trail = history.trail(self.on, self.identity, self.since)
        if not trail.items:
            return UNKNOWN
        return trail.alternation if history.moved(self.on) else 0
