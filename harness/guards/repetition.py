"""Saying or producing the same again."""

from __future__ import annotations

from dataclasses import dataclass
from operator import ge
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, OnFire, Wider
from harness.history import UNKNOWN, History
from harness.trace import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition(Guard):
    """Switches strategy, then escalates, when the newest text is this similar to an earlier one.

    Equal texts (white space and case aside) have similarity 1, however long ago; near ones are
    compared with the last ``window`` texts by normalised Indel similarity. ``on`` lists what is
    compared: ``feedback``, ``output``, ``plan``, ``reply``; the greatest similarity counts.
    """

    reason: ClassVar[ExitReason] = ExitReason.REPETITION
    measures: ClassVar[str] = "greatest similarity of the newest text to an earlier one, 0 to 1"
    default_on_fire: ClassVar[OnFire] = ("switch_strategy", "escalate")
    wider: ClassVar[Wider] = {"on": lambda mine, theirs: set(mine) >= set(theirs), "window": ge}

    threshold: float = 0.95
    on: tuple[Literal["feedback", "output", "plan", "reply"], ...] = ("feedback", "output")
    window: int = 20

    def bounds(self) -> tuple[float, float]:
        return 0, 1

    def earliest(self) -> float:
        return 2

    def signal(self, history: History) -> float:
        key = (history.path, history.length, self.on, self.window)
        found = history.memo.get(key)
        if found is None:
            found = history.memo[key] = self._measured(history)
        return found

    def _measured(self, history: History) -> float:
        greatest = UNKNOWN
        for on in self.on:
            newest = getattr(history.now.turn, "text" if on == "reply" else on)
            if newest is None:
                continue
            if history.occurrences(on, newest.digest) > 1:
                return 1.0
            earlier = history.texts(on)[-self.window - 1 : -1]
            if earlier:
                similarity = _greatest(newest, earlier)
                if not greatest >= similarity:
                    greatest = similarity
        return greatest


def _greatest(newest: Text, earlier: list[Text]) -> float:
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    found = process.extractOne(
        newest.text, [text.text for text in earlier], scorer=Indel.normalized_similarity
    )
    return round(float(found[1]), 9) if found else 0.0
