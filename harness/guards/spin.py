"""Doing the same thing in a row."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards._base import Guard, Wider, nth
from harness.guards._orders import coarser, further
from harness.guards.oscillation import Identity, Since
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class Spin(Guard):
    """Stops when the same action (or text, or output) has come this many times in a row.

    The action of a turn is the set of its calls, compared by ``identity``; order inside a turn
    does not matter. Turns without a call do not break the run; waiting calls and transient
    failures are passed over.

    As most other frameworks count: ``on = "call"`` takes each single call and passes nothing
    over, ``thought and call`` compares the reply's text too, ``turn`` takes all calls of a turn,
    equal ones counted. It looks back to the ``start``, to where a ``person`` last spoke, or only
    at this ``turn``.
    """

    reason: ClassVar[ExitReason] = ExitReason.SPIN
    measures: ClassVar[str] = "trailing run of the same action, text or output"
    wider: ClassVar[Wider] = {"identity": coarser, "since": further}

    threshold: float = 3
    on: Literal["action", "text", "output", "call", "thought and call", "turn"] = "action"
    identity: Identity = DEFAULT_IDENTITY  # type: ignore[assignment]  # a str constant
    since: Since = "start"

    def bounds(self) -> tuple[float, float]:
        single = self.on in ("call", "thought and call")
        return (0 if single or self.on == "turn" else 1), (
            1 if self.since == "turn" and not single else inf
        )

    def earliest(self) -> float:
        return 1 if self.on in ("call", "thought and call") else nth(self.threshold)

    def unread(self) -> frozenset[str]:
        return frozenset({"identity"} if self.on in ("text", "output") else ())

    def signal(self, history: History) -> float:
        run = history.trail(self.on, self.identity, self.since).run
        return run if run and history.moved(self.on) else 0 if run else UNKNOWN
