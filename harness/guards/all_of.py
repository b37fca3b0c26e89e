"""Guards joined by and."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard
from harness.guards.any_of import judge
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf(Guard):
    """Stops when all of its guards fire in this same iteration; nothing is latched.

    ``guards`` names other guards of the preset. Three-valued: false if one does not fire,
    otherwise unknown if one is unknown. It has the reason of the first guard that it names.
    """

    reason: ClassVar[ExitReason] = ExitReason.ERROR
    measures: ClassVar[str] = "1 if all of its guards fire, 0 if one does not"
    bare_number: ClassVar[bool] = False

    guards: tuple[Guard, ...]
    threshold: float = 1

    @property
    def exit_reason(self) -> ExitReason:
        return self.guards[0].exit_reason

    def bounds(self) -> tuple[float, float]:
        return 0, (1 if all(guard.can_fire() for guard in self.guards) else 0)

    def earliest(self) -> float:
        return max(guard.earliest() for guard in self.guards) if self.threshold > 0 else 1

    def latest(self) -> float:
        return max(guard.latest() for guard in self.guards) if self.threshold <= 1 else inf

    def signal(self, history: History) -> float:
        verdicts = [judge(guard, history) for guard in self.guards]
        if any(verdict is False for verdict in verdicts):
            return 0
        return UNKNOWN if None in verdicts else 1
