"""What imported recordings leave unknown, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: What a recording can lack, in the order in which it is told.
PARTS = ("usage", "times", "scores", "outcome", "exit_reason", "tools")


@dataclass(slots=True)
class Missing:
    """Counts over recordings, one ``add`` each.

    Attributes:
        recordings: How many there were.
        all: By part, recordings that do not have it at all.
        some: By part, recordings that have it for some of their steps only.
    """

    recordings: int = 0
    all: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    some: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))

    def add(self, recording: Mapping[str, Any]) -> None:
        """Count one recording."""
        self.recordings += 1
        steps = recording["steps"]
        recorded = recording.get("recorded", {})
        replies = [step.get("reply", {}) for step in steps]
        known = {
            "usage": sum("usage" in reply for reply in replies),
            "times": sum("ms" in reply for reply in replies),
            "scores": sum("score" in step for step in steps),
            "outcome": len(steps) * ("outcome" in recorded),
            "exit_reason": len(steps) * ("exit_reason" in recorded),
            "tools": len(steps) * ("tools" in recording),
        }
        for part, count in known.items():
            self.all[part] += count == 0
            self.some[part] += 0 < count < len(steps)

    def words(self) -> str:
        """One line, such as ``of 10: usage in 3 (in part: 2); outcome in 1``."""
        parts = [
            f"{part.replace('_', ' ')} in {self.all[part]}"
            + (f" (in part: {self.some[part]})" if self.some[part] else "")
            for part in PARTS
            if self.all[part] or self.some[part]
        ]
        return f"of {self.recordings}: " + "; ".join(parts) if parts else "nothing"
