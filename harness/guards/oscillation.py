"""Swinging between two states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards._base import Guard
from harness.history import UNKNOWN, History
from harness.trace import ExitReason

Identity = Literal["action", "args", "args+result", "args+normalised result", "error", "batch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Oscillation(Guard):
    """Stops when the trailing A-B-A-B reaches this length.

    ``on``: ``output`` (the artefact), ``action`` (the turn's calls, compared by ``identity``),
    ``text`` (the reply), or ``score direction`` (up, down, up, down).
    """

    reason: ClassVar[ExitReason] = ExitReason.OSCILLATION
    measures: ClassVar[str] = "length of the trailing A-B-A-B"

    threshold: float = 4
    on: Literal["output", "action", "text", "score direction"] = "output"
    identity: Identity = DEFAULT_IDENTITY  # type: ignore[assignment]  # a str constant

    def signal(self, history: History) -> float:
        trail = history.trail(self.on, self.identity)
        return trail.alternation if trail.items else UNKNOWN
