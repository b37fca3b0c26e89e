"""No improvement worth a further round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from operator import le
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, Wider
from harness.guards._orders import ranked
from harness.guards.patience import Patience
from harness.history import UNKNOWN, History
from harness.verdicts import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Stagnation(Guard):
    """Stops when the largest of the last ``window`` improvements is less than ``min_delta``.

    An improvement is a score minus the one before it (``against = "best"``: minus the best so
    far), rounded to nine decimals: 0.14, 0.16, 0.18 improves by 0.02 twice. A fall is no
    improvement; ``counts = "change"`` takes it as one. Needs window + 1 scores; iterations without
    a score are passed over.
    """

    reason: ClassVar[ExitReason] = ExitReason.STAGNATION
    measures: ClassVar[str] = "largest of the last `window` improvements of the score"
    comparison: ClassVar[Comparison] = "<"
    aliases: ClassVar[Mapping[str, int]] = {"min_delta": 1}
    bare_number: ClassVar[bool] = False
    on_scores: ClassVar[bool] = True
    wider: ClassVar[Wider] = {
        "window": le,
        "against": ranked("previous", "best"),
        "counts": ranked("change", "gain"),
    }

    threshold: float = 0.02
    window: int = 2
    against: Literal["previous", "best"] = "previous"
    counts: Literal["gain", "change"] = "gain"

    def bounds(self) -> tuple[float, float]:
        return (0 if self.counts == "change" else -inf), inf

    def earliest(self) -> float:
        return self.window + 1

    def covers(self, other: Guard) -> bool:
        if isinstance(other, Patience):
            # No new best is no improvement over the best; over the score before it may be one.
            best = self.against == "best" and self.counts == "gain" and self.threshold > 0
            return best and self.window <= other.threshold
        # A fall may be the larger change against the best than against the score before it.
        return Guard.covers(self, other) and (
            self.counts == "gain" or getattr(other, "against", None) == self.against
        )

    def signal(self, history: History) -> float:
        gains = history.gains if self.against == "previous" else history.gains_over_best
        if len(gains) < self.window:
            return UNKNOWN
        last = gains[-self.window :]
        return max(last) if self.counts == "gain" else max(abs(gain) for gain in last)
