"""The other side is down."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire, nth
from harness.history import UNKNOWN, History


@dataclass(frozen=True, slots=True, kw_only=True)
class TransientErrors(Guard):
    """Pauses when this many turns with calls running have failed for reasons that may pass.

    HTTP 408, 429 and 5xx, time-outs, exit code 124 and the like (``transient.toml``): an outage
    to wait out, never to be reported as a stuck agent.
    """

    reason: ClassVar[ExitReason] = ExitReason.INFRASTRUCTURE
    measures: ClassVar[str] = "trailing turns with calls whose failures were all transient"
    default_on_fire: ClassVar[OnFire] = "pause"

    threshold: float = 3

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def earliest(self) -> float:
        return nth(self.threshold)

    def signal(self, history: History) -> float:
        return history.transient_turns if history.calls else UNKNOWN
