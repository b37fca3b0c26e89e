"""The feedback log: the last lessons, so that a later round does not repeat a mistake."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from harness.trace import Lesson


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded lesson with the iteration that taught it."""

    iteration: int
    reason: str | None
    progress: str | None
    lesson: Lesson


class FeedbackLog:
    """Keeps the last ``keep`` lessons.

    Args:
        keep: How many; 0 keeps none.
    """

    def __init__(self, keep: int) -> None:
        self.entries: deque[Entry] = deque(maxlen=keep)

    def record(self, entry: Entry) -> None:
        """Add a lesson; the oldest one falls out."""
        self.entries.append(entry)
