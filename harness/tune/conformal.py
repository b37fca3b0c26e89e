"""Thresholds with a guarantee: of new good runs like these, at most a share ``alpha`` is stopped.

Split conformal calibration (Vovk, Gammerman, Shafer 2005; Lei et al. 2018): the score of a good
run is the signal nearest to firing that it reached while a stop would have been a false one. The
line is the k-th smallest score of n, k = ceil((n + 1)(1 - alpha)), and the guard fires strictly
beyond it. If a new good run is exchangeable with these, it is stopped with probability at most
``alpha``, whatever the signal measures and however its values are distributed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from harness.errors import HarnessError, choices
from harness.guards import Guard, guard_class
from harness.presetfile import MAX_THRESHOLD, guard_from
from harness.statistics import beta_quantile
from harness.tune.corpus import Corpus, Floats, Ints
from harness.tune.risk import (
    By,
    at_risk,
    clusters,
    first_reached,
    iterations_before,
    nearest,
    worst,
)
from harness.tune.value import at_iterations
from harness.verdicts import Comparison

#: With this chance over calibrations the true share of stopped good runs is below ``likely``.
CONFIDENCE = 0.95
#: The name under which the length of a run, and nothing else, is calibrated.
STEPS = "steps"
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Calibration:
    """One guard, calibrated to a limit on false stops.

    Attributes:
        guard: Name of the guard, or ``steps``.
        alpha: The limit, a share of good runs.
        by: What counts as one: a ``task`` (its worst run) or a ``run``.
        good: How many good tasks or runs there are (n).
        runs: How many good runs.
        rank: Which of the n scores in rising order is the line (k).
        comparison: How signal and threshold compare.
        line: The k-th score: the last signal that does not fire; NaN where the good runs showed
            none.
        threshold: The first one beyond the line that a preset can be given.
        usable: Whether a signal can reach that threshold and a preset file takes it; if not,
            only a guard that is off keeps the limit.
        stopped: Good ones that would have been stopped falsely.
        likely: Upper limit of the true share, right for 95 of 100 calibrations: the share given
            the calibration is at most Beta(n + 1 - k, k) (Vovk 2012).
        early: Episodes of the whole corpus, good or not, that it would have ended early.
        iterations: Iterations that then would not have run.
        saved: Their cost (pico-USD), the known part.
    """

    guard: str
    alpha: float
    by: By
    good: int
    runs: int
    rank: int
    comparison: Comparison
    line: float
    threshold: float
    usable: bool
    stopped: int
    likely: float
    early: int
    iterations: int
    saved: int


def fewest(alpha: float) -> int:
    """Fewest good runs from which a line can be told: 19 at 5 %.

    Raises:
        HarnessError: ``alpha`` is no share between 0 and 1.
    """
    share = _share(alpha)
    return math.ceil((1 - share) / share)


def line_rank(n: int, alpha: float, what: str = "good run") -> int:
    """The rank k = ceil((n + 1)(1 - alpha)) of the line among n scores.

    Raises:
        HarnessError: k is greater than n: so few runs cannot show so small a share.
    """
    k = math.ceil((n + 1) * (1 - _share(alpha)))
    if k > n:
        raise HarnessError(
            f"calibrate: {n} {what}{'s' * (n != 1)}, {fewest(alpha)} needed for a limit of "
            f"{alpha:.3g}; give more recordings or a higher --alpha"
        )
    return k


def _share(alpha: float) -> Fraction:
    if not 0 < alpha < 1:
        raise HarnessError(f"calibrate: alpha: must be between 0 and 1, found {alpha!r}")
    # As it was written: (19 + 1)(1 - 0.05) has to be 19, not a hair above.
    return Fraction(str(alpha))


def step_line(lengths: Sequence[int], alpha: float) -> int:
    """The step after which a new good run may be stopped: the k-th smallest length of n.

    Args:
        lengths: Iterations of past good runs.
        alpha: The limit on false stops.

    Returns:
        A run that goes on beyond so many iterations is longer than all but ``alpha`` of them.
    """
    return sorted(lengths)[line_rank(len(lengths), alpha) - 1]


def calibrate(corpus: Corpus, guard: str, alpha: float = 0.05, by: By = "task") -> Calibration:
    """Calibrate the threshold of one guard.

    Args:
        corpus: What was observed.
        guard: Its name in the observed preset, or ``steps`` for the length alone.
        alpha: The limit on false stops, a share of good runs.
        by: ``task``: one score a task, its worst, because runs of one task are alike; a new task
            is stopped falsely in any of its runs with probability at most ``alpha``. ``run``:
            where runs are exchangeable whatever they work on.

    Raises:
        HarnessError: Too few good runs, no such guard, a combination, or no reading to go by.
    """
    return _calibrate(corpus, guard, alpha, by, clusters(corpus, by))


def calibrate_all(corpus: Corpus, alpha: float = 0.05, by: By = "task") -> list[Calibration]:
    """Calibrate every guard that can be, the length alone first.

    Left out are combinations, guards that measured nothing or only part of a sum, and those that
    compare one way in some of the tasks and the other way in others.
    """
    cluster = clusters(corpus, by)
    found = [_calibrate(corpus, STEPS, alpha, by, cluster)]
    for name, readings in corpus.guards.items():
        if "guards" in json.loads(readings.settings) or np.isnan(readings.signals).all():
            continue
        whole = not _in_part(corpus, readings.kind)
        if whole and len(_comparisons(corpus, observed_guard(corpus, name))) < 2:
            found.append(_calibrate(corpus, name, alpha, by, cluster))
    return found


def observed_guard(corpus: Corpus, name: str) -> Guard:
    """A guard of the observed preset with its settings; its threshold means nothing.

    Raises:
        HarnessError: It is a combination, whose signal is yes or no.
    """
    readings = corpus.guards[name]
    settings = json.loads(readings.settings)
    if "guards" in settings or "guards" in guard_class(readings.kind).__dataclass_fields__:
        raise HarnessError(
            f"calibrate: {name} is a combination; calibrate its presets along a path, from loose "
            "to strict"
        )
    data = {"kind": readings.kind, "threshold": 1, **settings}
    return guard_from(Path(f"of run {corpus.run_id}"), name, data)


def _calibrate(corpus: Corpus, name: str, alpha: float, by: By, cluster: Ints) -> Calibration:
    if name == STEPS:
        guard, signals = None, (iterations_before(corpus) + 1).astype(np.float64)
    elif name in corpus.guards:
        guard, signals = observed_guard(corpus, name), corpus.guards[name].signals
        if part := _in_part(corpus, corpus.guards[name].kind):
            raise HarnessError(
                f"calibrate: {name}: only part of its sum is known in {part} of the good runs"
            )
    else:
        raise HarnessError(f"calibrate: guard: {choices(name, [STEPS, *corpus.guards])}")
    risk = at_risk(corpus)
    good = risk > 0
    comparison = _comparison(corpus, name, guard)
    sign = 1.0 if comparison == ">=" else -1.0
    scores = worst(nearest(corpus, sign * signals, risk), good, cluster)
    rank = line_rank(len(scores), alpha, f"good {by}")
    line = float(np.sort(scores)[rank - 1])
    threshold = _beyond(name, guard, sign * signals, line, comparison)
    first = first_reached(corpus, signals, comparison, threshold)
    value = at_iterations(corpus, np.minimum(first, corpus.lengths)[None, :].astype(np.int32))
    strict = comparison == "<"
    reaches = scores > sign * threshold if strict else scores >= sign * threshold
    set_to = replace(guard, threshold=threshold) if guard else None
    within = 0 <= threshold <= MAX_THRESHOLD
    return Calibration(
        guard=name,
        alpha=alpha,
        by=by,
        good=len(scores),
        runs=int(good.sum()),
        rank=rank,
        comparison=comparison,
        line=sign * line if np.isfinite(line) else math.nan,
        threshold=threshold,
        usable=within and (set_to is None or set_to.can_fire()),
        stopped=int(reaches.sum()),
        likely=beta_quantile(CONFIDENCE, len(scores) + 1 - rank, rank),
        early=int(value.early.sum()),
        iterations=int((corpus.lengths - value.iteration[0]).sum()),
        saved=int((corpus.cost[corpus.offsets[1:] - 1] - value.cost[0]).sum()),
    )


def _in_part(corpus: Corpus, kind: str) -> int:
    """In how many good runs a budget's sum is only known in part; 0 for other guards."""
    known = {
        "cost_budget": corpus.cost_known,
        "token_budget": corpus.tokens_known,
        "time_budget": corpus.elapsed >= 0,
    }.get(kind)
    good = at_risk(corpus) > 0
    return 0 if known is None else int((good & ~known[corpus.offsets[1:] - 1]).sum())


def _comparison(corpus: Corpus, name: str, guard: Guard | None) -> Comparison:
    if guard is None:
        return ">="
    found = _comparisons(corpus, guard)
    if len(found) > 1:
        raise HarnessError(
            f"calibrate: {name} compares one way where higher scores are better and the other way "
            "where lower ones are; calibrate each kind of task by itself"
        )
    return found.pop() if found else guard.comparison


def _comparisons(corpus: Corpus, guard: Guard) -> set[Comparison]:
    """How signal and threshold compare in the good runs."""
    lower = corpus.lower[at_risk(corpus) > 0]
    return {guard.compares("lower" if one else "higher") for one in np.unique(lower).tolist()}


def _beyond(
    name: str, guard: Guard | None, signed: Floats, line: float, comparison: Comparison
) -> float:
    """The threshold next to the line at which the line itself does not fire."""
    known = signed[~np.isnan(signed)]
    if not len(known):
        raise HarnessError(f"calibrate: {name} measured nothing in this run")
    sign = 1.0 if comparison == ">=" else -1.0
    unseen = line == -np.inf
    if unseen:
        # No good run came near: the first reading of all may fire.
        line = float(known.min())
    if comparison == "<":
        return _next(sign * line) if unseen else sign * line
    if unseen:
        return sign * line
    counts = guard is None or guard.bounds()[1] > 1
    if counts and not (known % 1).any():
        return sign * (line + 1)
    return sign * _next(line)


def _next(value: float) -> float:
    """The next number that people can read: signals have nine decimals."""
    readable = round(value + 10.0**-_DIGITS, _DIGITS)
    return readable if readable > value else math.nextafter(value, math.inf)
