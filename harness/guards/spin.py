"""Doing the same thing in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards._base import Guard
from harness.guards.oscillation import Identity
from harness.history import UNKNOWN, History
from harness.trace import ExitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Spin(Guard):
    """Stops when the same action (or text) has come this many times in a row.

    The action of a turn is the set of its calls, compared by ``identity``; order inside a turn
    does not matter. Turns without a call do not break the run; waiting calls and transient
    failures are passed over.
    """

    reason: ClassVar[ExitReason] = ExitReason.SPIN
    measures: ClassVar[str] = "trailing run of the same action or text"

    threshold: float = 3
    on: Literal["action", "text"] = "action"
    identity: Identity = DEFAULT_IDENTITY  # type: ignore[assignment]  # a str constant

    def signal(self, history: History) -> float:
        return history.trail(self.on, self.identity).run or UNKNOWN
