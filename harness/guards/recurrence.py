"""Coming back to the same call, with others in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.guards._base import Guard
from harness.guards.oscillation import Identity
from harness.history import UNKNOWN, History
from harness.trace import ExitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence(Guard):
    """Stops when the newest call occurs this often among the last ``window`` calls.

    Calls count singly, compared by ``identity``; equal calls of one turn count once. Waiting
    calls and transient failures are passed over. ``on = "call"`` takes every single call.
    """

    reason: ClassVar[ExitReason] = ExitReason.REPETITION
    measures: ClassVar[str] = "occurrences of the newest call among the last `window` calls"

    threshold: float = 3
    window: int = 8
    on: Literal["action", "call"] = "action"
    identity: Identity = "args+result"

    def signal(self, history: History) -> float:
        if self.on == "call":
            return self._literal(history)
        recent = history.recent_calls(self.identity, self.window)
        if not recent:
            return UNKNOWN
        newest = history.now.turn.call_prints.get(self.identity) or recent[-1:]
        return max(recent.count(call) for call in newest)

    def _literal(self, history: History) -> float:
        recent = history.trail("call", self.identity).items[-self.window :]
        if not recent:
            return UNKNOWN
        newest = {call.prints.get(self.identity) for call in history.now.turn.calls}
        return max((recent.count(call) for call in newest if call), default=0)
