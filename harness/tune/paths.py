"""Families of presets from loose to strict, and how far along one a limit on false stops allows.

Conformal risk control (Angelopoulos, Bates, Fisch, Lei, Schuster 2022) with a loss of yes or no:
a good run's score is the first step of the path that stops it falsely, and the rank is that of
``conformal.line_rank``. The path has to be chosen without looking at the runs that calibrate it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import HarnessError
from harness.guards import ENDING, Guard
from harness.preset import Preset
from harness.statistics import beta_quantile
from harness.trace import Direction
from harness.tune.conformal import CONFIDENCE, line_rank
from harness.tune.corpus import Corpus
from harness.tune.readings import structure
from harness.tune.risk import By, at_risk, clusters, worst
from harness.tune.sweep import exits, why_intervenes
from harness.tune.value import measure

#: How much looser than written a preset is at each step, the last step being the preset itself.
LOOSER = (16.0, 8.0, 6.0, 4.0, 3.0, 2.5, 2.0, 1.75, 1.5, 1.25, 1.0)


@dataclass(frozen=True, slots=True)
class PathLimit:
    """How strict a family of presets may be.

    Attributes:
        alpha: The limit, a share of good runs.
        by: What counts as one: a ``task`` (its worst run) or a ``run``.
        good: How many good tasks or runs there are (n).
        rank: The rank k of the line among them.
        step: The strictest step of the path within the limit, from 0.
        preset: The preset at that step.
        stopped: Good ones that it, or a looser step, stops falsely.
        likely: As in ``Calibration``.
        early: Episodes, good or not, that it would have ended early.
        iterations: Iterations that then would not have run.
        saved: Their cost (pico-USD), the known part.
        left_out: Episodes that a sweep cannot judge (phases, answered pauses).
    """

    alpha: float
    by: By
    good: int
    rank: int
    step: int
    preset: Preset
    stopped: int
    likely: float
    early: int
    iterations: int
    saved: int
    left_out: int


def sweepable(corpus: Corpus, preset: Preset) -> None:
    """Refuse a preset whose exits cannot be read off what was observed.

    Raises:
        HarnessError: A guard intervenes, was not observed, or was observed with other settings.
    """
    reason = why_intervenes(preset)
    if reason is not None:
        raise HarnessError(
            f'tune: preset {preset.name}: {reason}; give it on_fire = "stop" to sweep it'
        )
    for name, guard in preset.guards.items():
        if guard.action in ENDING and structure(guard) not in corpus.signals:
            raise HarnessError(
                f"tune: preset {preset.name}: guard {name} was not observed with these settings; "
                f"observe the run under it (harness run PATHS -p {preset.source or 'FILE'} "
                "--observe)"
            )


def loosened(
    preset: Preset,
    factors: Sequence[float] = LOOSER,
    direction: Direction | None = "higher",
) -> list[Preset]:
    """A path to a preset: every ending guard at thresholds that are harder to reach.

    A count or budget is multiplied by the factor (``>=``) or divided by it (``<``); where signals
    have an end, as similarity ends at 1, the distance to that end is divided.

    Args:
        preset: The strict end of the path.
        factors: 1 or more, falling.
        direction: Which scores are better, for guards that compare by it; where ``None`` (both
            occur) those stay as they are.

    Raises:
        HarnessError: Factors that do not fall or are below 1.
    """
    if not factors or list(factors) != sorted(factors, reverse=True) or factors[-1] < 1:
        raise HarnessError(f"path: factors must fall and be 1 or more, found {list(factors)}")
    found = []
    for factor in factors:
        guards = {
            name: replace(guard, threshold=_looser(guard, factor, direction or "higher"))
            if guard.action in ENDING and (direction or not _by_direction(guard))
            else guard
            for name, guard in preset.guards.items()
        }
        name = preset.name if factor == 1 else f"{preset.name} / {factor:g}"
        found.append(replace(preset, name=name, guards=guards))
    return found


def direction_of(corpus: Corpus) -> Direction | None:
    """Which scores are better in a corpus; ``None`` where both kinds of task occur."""
    lower = bool(corpus.lower.any())
    return None if lower and not corpus.lower.all() else "lower" if lower else "higher"


def _by_direction(guard: Guard) -> bool:
    return guard.compares("higher") != guard.compares("lower")


def _looser(guard: Guard, factor: float, direction: Direction) -> float:
    low, high = guard.bounds()
    rising = guard.compares(direction) == ">="
    threshold, end = guard.threshold, high if rising else low
    if factor == 1 or not math.isfinite(threshold):
        return threshold
    if math.isfinite(end):
        return end + (threshold - end) / factor
    away = (threshold > 0) == rising
    moved = threshold * factor if away else threshold / factor
    whole = rising and float(threshold).is_integer()
    return math.ceil(moved) if whole else moved


def calibrate_path(
    corpus: Corpus, presets: Sequence[Preset], alpha: float = 0.05, by: By = "task"
) -> PathLimit:
    """The strictest of a path of presets that keeps the limit on false stops.

    A run counts as stopped at a step if that step or a looser one stops it falsely, so the path
    need not be nested; where it is, nothing is given away.

    Args:
        corpus: What was observed.
        presets: Passive presets over observed guards, from loose to strict.
        alpha: The limit on false stops, a share of good runs.
        by: As in ``conformal.calibrate``.

    Raises:
        HarnessError: Too few good runs, a preset that cannot be swept, or a path whose loosest
            step already stops too many.
    """
    for preset in presets:
        sweepable(corpus, preset)
    found = exits(corpus, presets)
    known = found.swept.all(axis=0)
    good = (at_risk(corpus) > 0) & known
    value = measure(corpus, found)
    stopped = np.logical_or.accumulate(value.false_stop, axis=0)
    first = np.where(stopped.any(axis=0), stopped.argmax(axis=0), len(presets))
    # The earlier on the path, the higher the score: as with signals, the highest is the worst.
    scores = worst(-first.astype(np.float64), good, clusters(corpus, by))
    rank = line_rank(len(scores), alpha, f"good {by}")
    step = int(-np.sort(scores)[rank - 1]) - 1
    if step < 0:
        raise HarnessError(
            f"calibrate: {presets[0].name}, the loosest step, stops {int((scores == 0).sum())} of "
            f"{len(scores)} good {by}s falsely; begin with a looser preset, such as "
            "one with wider windows"
        )
    whole = corpus.cost[corpus.offsets[1:] - 1]
    return PathLimit(
        alpha=alpha,
        by=by,
        good=len(scores),
        rank=rank,
        step=step,
        preset=presets[step],
        stopped=int((scores >= -step).sum()),
        likely=beta_quantile(CONFIDENCE, len(scores) + 1 - rank, rank),
        early=int(value.early[step, known].sum()),
        iterations=int((corpus.lengths - value.iteration[step])[known].sum()),
        saved=int((whole - value.cost[step])[known].sum()),
        left_out=int((~known).sum()),
    )
