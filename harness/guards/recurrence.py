"""Coming back to the same call, with others in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import ge
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, Wider, nth
from harness.guards._orders import coarser
from harness.guards.oscillation import Identity
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence(Guard):
    """Stops when the newest call occurs this often among the last ``window`` calls.

    Calls count singly, compared by ``identity``; equal calls of one turn count once. Waiting
    calls and transient failures are passed over. ``on = "call"`` takes every single call.
    """

    reason: ClassVar[ExitReason] = ExitReason.REPETITION
    measures: ClassVar[str] = "occurrences of the newest call among the last `window` calls"
    wider: ClassVar[Wider] = {"window": ge, "identity": coarser}
    exempt: ClassVar[Mapping[str, str]] = {
        "shuffle_parallel_calls": "its window counts calls and may begin inside a turn"
    }

    threshold: float = 3
    window: int = 8
    on: Literal["action", "call"] = "action"
    identity: Identity = "args+result"

    def bounds(self) -> tuple[float, float]:
        return (0 if self.on == "call" else 1), self.window

    def earliest(self) -> float:
        return 1 if self.on == "call" else nth(self.threshold)

    def signal(self, history: History) -> float:
        if self.on == "call":
            return self._literal(history)
        recent = history.recent_calls(self.identity, self.window)
        if not recent:
            return UNKNOWN
        return max(recent.count(call) for call in history.newest_calls(self.identity))

    def _literal(self, history: History) -> float:
        recent = history.trail("call", self.identity).items[-self.window :]
        if not recent:
            return UNKNOWN
        newest = {call.prints.get(self.identity) for call in history.now.turn.calls}
        return max((recent.count(call) for call in newest if call), default=0)
