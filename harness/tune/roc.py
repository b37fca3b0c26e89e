"""How well a score tells two classes apart: ROC, precision and recall, area under the curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from harness.statistics import proportion_interval


@dataclass(frozen=True, slots=True)
class Point:
    """What a rule says of labelled examples.

    Attributes:
        name: The rule, in words.
        threshold: Of the score, where the rule is one; NaN where it is not.
        tp: Positives that it calls positive.
        fp: Negatives that it calls positive.
        fn: Positives that it calls negative.
        tn: Negatives that it calls negative.
    """

    name: str
    threshold: float
    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def recall(self) -> float:
        """Share of the positives that are found (true positive rate); NaN without any."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def false_alarms(self) -> float:
        """Share of the negatives that are called positive (false positive rate)."""
        return _share(self.fp, self.fp + self.tn)

    @property
    def precision(self) -> float:
        """Share of those called positive that are; holds for these proportions of examples."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall_interval(self) -> tuple[float, float]:
        """Exact 95 % interval of ``recall``."""
        return proportion_interval(self.tp, self.tp + self.fn)

    @property
    def false_alarms_interval(self) -> tuple[float, float]:
        """Exact 95 % interval of ``false_alarms``."""
        return proportion_interval(self.fp, self.fp + self.tn)


def _share(part: int, of: int) -> float:
    return part / of if of else math.nan


def point(
    name: str, said: Sequence[bool], truth: Sequence[bool], threshold: float = math.nan
) -> Point:
    """Count a rule's answers against the truth."""
    pairs = list(zip(said, truth, strict=True))
    return Point(
        name,
        threshold,
        tp=pairs.count((True, True)),
        fp=pairs.count((True, False)),
        fn=pairs.count((False, True)),
        tn=pairs.count((False, False)),
    )


def points(scores: Sequence[float], truth: Sequence[bool]) -> tuple[Point, ...]:
    """One point for each distinct score as threshold (``>=``), the strictest first."""
    return tuple(
        point(f">= {at:g}", [score >= at for score in scores], truth, at)
        for at in sorted(set(scores), reverse=True)
    )


def auc(scores: Sequence[float], truth: Sequence[bool]) -> float:
    """Chance that a positive scores higher than a negative, ties counting half.

    The Mann-Whitney statistic (Bamber 1975): the area under the ROC curve with straight lines
    between its points. NaN where one of the classes is empty.
    """
    values, positive = np.asarray(scores, dtype=np.float64), np.asarray(truth, dtype=bool)
    low = np.sort(values[~positive])
    high = values[positive]
    if not len(low) or not len(high):
        return math.nan
    below = np.searchsorted(low, high, side="left") + np.searchsorted(low, high, side="right")
    return float(below.sum() / (2 * len(low) * len(high)))


def auc_interval(
    area: float, positives: int, negatives: int, level: float = 0.95
) -> tuple[float, float]:
    """Interval of an area under the ROC curve.

    All areas from which this one is less than z standard errors away, the error being that of
    Hanley and McNeil (1982) at the area in question (Newcombe 2006, method 5). Unlike the plain
    one it has a width at 1.

    Args:
        area: The area.
        positives: How many positives it rests on.
        negatives: How many negatives.
        level: Level of the interval.
    """
    if math.isnan(area):
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    half = (positives + negatives) / 2 - 1

    def beyond(other: float) -> bool:
        spread = (1 - other) / (2 - other) + other / (1 + other)
        variance = other * (1 - other) * (1 + half * spread) / (positives * negatives)
        return abs(other - area) > z * math.sqrt(max(variance, 0.0))

    return _edge(area, 0.0, beyond), _edge(area, 1.0, beyond)


def _edge(inside: float, outside: float, beyond: Callable[[float], bool]) -> float:
    """Where ``beyond`` begins to hold between two places, by halving."""
    if not beyond(outside):
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if beyond(middle) else (middle, outside)
    return outside
