"""Whose the time between two observations of a live loop was: its own, or a wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.clock import Clock


class Stopwatch:
    """Splits the time since the last observation into the loop's own and idle time.

    Args:
        clock: Tells time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now_ms()
        self.worked_ms = 0
        self.idle_ms = 0

    def saved(self) -> dict[str, int | None]:
        """The times of the turn that is open, where there are any."""
        return {"idle_ms": self.idle_ms or None, "worked_ms": self.worked_ms or None}

    def worked(self) -> None:
        """The time until now was the loop's own."""
        self.worked_ms += self._lap()

    def waited(self) -> None:
        """The time until now was idle: the loop waited for a person, or for its next run."""
        self.idle_ms += self._lap()

    def timed(
        self, ms: Any, calls: Sequence[Mapping[str, Any]], idle_ms: Any
    ) -> tuple[Any, list[dict[str, Any]], dict[str, int]]:
        """The times of an iteration; measuring starts anew.

        Args:
            ms: Of its reply, as it was handed in; what was measured, if nothing was. Idle time is
                measured in any case.
            calls: Its calls.
            idle_ms: As it was handed in; then it is part of what was measured.

        Returns:
            The reply's time, the calls with theirs, and what idle time was measured.
        """
        self.worked()
        own, idle = self.worked_ms, self.idle_ms
        self.worked_ms = self.idle_ms = 0
        if isinstance(idle_ms, int):
            own, idle = max(0, own + idle - idle_ms), 0
        waited = {"idle_ms": idle} if idle else {}
        if ms is not None:
            return ms, [dict(call) for call in calls], waited
        # One measured span holds the reply and its calls.
        return own, [{**call, "ms": call.get("ms", 0)} for call in calls], waited

    def _lap(self) -> int:
        now = self._clock.now_ms()
        lap, self._since = now - self._since, now
        return lap
