"""Guards joined by or."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, fires
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf(Guard):
    """Stops when at least one of its guards fires in this iteration.

    ``guards`` names other guards of the preset. Three-valued: true if one fires, otherwise
    unknown if one is unknown. It has the reason of the first guard that it names, of those that
    mean no success if there are any: a limit must never read as a success.
    """

    reason: ClassVar[ExitReason] = ExitReason.ERROR
    measures: ClassVar[str] = "1 if any of its guards fires, 0 if none does"
    bare_number: ClassVar[bool] = False

    guards: tuple[Guard, ...]
    threshold: float = 1

    @property
    def exit_reason(self) -> ExitReason:
        reasons = [guard.exit_reason for guard in self.guards]
        return next((reason for reason in reasons if reason.group != "success"), reasons[0])

    def bounds(self) -> tuple[float, float]:
        return 0, (1 if any(guard.can_fire() for guard in self.guards) else 0)

    def earliest(self) -> float:
        return min(guard.earliest() for guard in self.guards) if self.threshold > 0 else 1

    def latest(self) -> float:
        return min(guard.latest() for guard in self.guards) if self.threshold <= 1 else inf

    def signal(self, history: History) -> float:
        verdicts = [judge(guard, history) for guard in self.guards]
        if any(verdicts):
            return 1
        return UNKNOWN if None in verdicts else 0


def judge(guard: Guard, history: History) -> bool | None:
    """One guard now: fired, not fired, or ``None`` for unknown."""
    signal = guard.signal(history)
    if fires(signal, guard.compares(history.direction), guard.threshold):
        return True
    return None if signal != signal or not guard.known(history) else False
