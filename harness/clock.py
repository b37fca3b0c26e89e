"""Time as a small door: replays run on recorded time, live loops on the machine's."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells milliseconds since the loop began."""

    def now_ms(self) -> int:
        """Milliseconds since the start."""
        ...


class VirtualClock:
    """Moves only when told: a two-minute watchdog is tested in microseconds."""

    def __init__(self) -> None:
        self._now_ms = 0

    def now_ms(self) -> int:
        """Milliseconds that were let pass."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Let ``ms`` milliseconds pass."""
        self._now_ms += ms


class RealClock:
    """Monotonic time since it was made."""

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()

    def now_ms(self) -> int:
        """Milliseconds since it was made."""
        return (time.monotonic_ns() - self._start_ns) // 1_000_000
