"""Calibration to a limit on false stops: ranks, ties, clusters, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.guards.cost_budget import CostBudget
from harness.guards.cycle import Cycle
from harness.guards.max_iterations import MaxIterations
from harness.guards.quality import Quality
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.guards.stagnation import Stagnation
from harness.guards.time_budget import TimeBudget
from harness.guards.token_budget import TokenBudget
from harness.tune.conformal import (
    calibrate,
    calibrate_all,
    fewest,
    line_rank,
    step_line,
)
from harness.tune.paths import LOOSER, calibrate_path, direction_of, loosened
from harness.tune.risk import at_risk
from harness.tune.value import at_iterations
from tests.examples import preset
from tests.tune.made_corpus import NAN, corpus

SPIN = Spin(threshold=3)


def spinning(*highest: float, **more):
    """Successful runs of four iterations whose highest signal before the last is given."""
    signals = [[1, high, 1, 9] for high in highest]
    return corpus([4] * len(highest), {"spin": (SPIN, signals)}, **more)


@pytest.mark.parametrize(
    ("alpha", "needed"), [(0.5, 1), (0.1, 9), (0.05, 19), (0.01, 99), (0.3, 3), (0.07, 14)]
)
def test_so_many_good_runs_are_needed(alpha, needed):
    assert fewest(alpha) == needed
    assert line_rank(needed, alpha) == needed
    if needed > 1:
        with pytest.raises(HarnessError, match=f"{needed - 1} good runs?, {needed} needed"):
            line_rank(needed - 1, alpha)


@pytest.mark.parametrize(
    ("n", "alpha", "rank"), [(19, 0.05, 19), (39, 0.05, 38), (40, 0.05, 39), (100, 0.1, 91)]
)
def test_the_rank(n, alpha, rank):
    assert rank == line_rank(n, alpha)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, NAN])
def test_a_limit_is_a_share(alpha):
    with pytest.raises(HarnessError, match="between 0 and 1"):
        fewest(alpha)


def test_the_step_line_is_the_kth_smallest_length():
    assert step_line(range(1, 20), 0.05) == 19
    assert step_line([*range(1, 39), 500], 0.05) == 38
    with pytest.raises(HarnessError, match="18 good runs, 19 needed"):
        step_line(range(1, 19), 0.05)


def test_the_step_line_of_a_corpus_is_that_of_its_lengths():
    lengths = [*range(2, 40), 60]
    found = calibrate(corpus(lengths), "steps", 0.05)
    assert found.threshold == step_line(lengths, 0.05) == 39
    assert (found.good, found.rank, found.stopped, found.early) == (39, 38, 1, 1)


def test_a_guard_fires_strictly_beyond_the_line():
    found = calibrate(spinning(*range(1, 20)), "spin", 0.05)
    assert (found.line, found.threshold, found.stopped, found.usable) == (19, 20, 0, True)
    found = calibrate(spinning(*range(1, 20)), "spin", 0.5)
    assert (found.rank, found.line, found.threshold, found.stopped) == (10, 10, 11, 9)


def test_ties_are_not_stopped():
    found = calibrate(spinning(*[2] * 15, *[5] * 5), "spin", 0.2)
    assert (found.rank, found.line, found.threshold, found.stopped) == (17, 5, 6, 0)


def test_signals_after_the_danger_do_not_count():
    """The last iteration is no early stop; nor is one after the best score a false stop."""
    assert calibrate(spinning(*[2] * 19), "spin", 0.05).threshold == 3
    scores = [[0.1, 0.9, 0.9, 0.9]] * 19
    scored = spinning(*[7] * 19, scores=scores, succeeded=[False] * 19)
    assert at_risk(scored).tolist() == [1] * 19
    assert calibrate(scored, "spin", 0.05).threshold == 2


def test_near_ones_get_the_next_number_that_people_can_read():
    close = [[0.1, round(0.5 + n / 100, 2), 1.0] for n in range(19)]
    made = corpus([3] * 19, {"repetition": (Repetition(), close)})
    found = calibrate(made, "repetition", 0.05)
    assert (found.line, found.threshold, found.usable) == (0.68, 0.680000001, True)


def test_where_the_line_is_the_highest_signal_only_off_keeps_the_limit():
    made = corpus([3] * 19, {"repetition": (Repetition(), [[NAN, 1.0, 0.2]] * 19)})
    found = calibrate(made, "repetition", 0.05)
    assert (found.line, found.usable, found.early) == (1.0, False, 0)


def test_less_than_fires_strictly_below_the_line():
    falling = [[NAN, NAN, n / 100, 0.0] for n in range(1, 20)]
    scores = [[0.1, 0.2, 0.3, 0.4]] * 19
    made = corpus([4] * 19, {"stagnation": (Stagnation(), falling)}, scores=scores)
    found = calibrate(made, "stagnation", 0.5)
    assert (found.comparison, found.line, found.threshold, found.stopped) == ("<", 0.1, 0.1, 9)


def test_a_quality_threshold_where_lower_is_better():
    scores = [[0.9, 0.5 + n / 100, 0.1] for n in range(19)]
    made = corpus([3] * 19, {"quality": (Quality(), scores)}, scores=scores, lower=True)
    found = calibrate(made, "quality", 0.05)
    assert (found.comparison, found.line, found.threshold) == ("<=", 0.5, 0.499999999)
    scores = [[0.5, 0.2, 0.8, 0.1]] * 38
    down = [n % 2 == 0 for n in range(38)]
    mixed = corpus([4] * 38, {"quality": (Quality(), scores)}, scores=scores, lower=down)
    with pytest.raises(HarnessError, match="compares one way"):
        calibrate(mixed, "quality", 0.05)


def test_where_good_runs_show_nothing_the_first_reading_may_fire():
    signals = [[NAN, NAN, NAN]] * 19 + [[3, 4, 5]]
    made = corpus([3] * 20, {"spin": (SPIN, signals)}, succeeded=[True] * 19 + [False])
    found = calibrate(made, "spin", 0.05)
    assert (found.line != found.line, found.threshold, found.early) == (True, 3, 1)


def test_a_task_counts_by_its_worst_run():
    tasks = [f"t{n // 2}" for n in range(40)]
    made = spinning(*range(1, 41), tasks=tasks)
    by_task, by_run = (calibrate(made, "spin", 0.05, by) for by in ("task", "run"))
    assert (by_task.good, by_task.runs, by_task.line, by_task.threshold) == (20, 40, 40, 41)
    assert (by_run.good, by_run.runs, by_run.line, by_run.threshold) == (40, 40, 39, 40)
    with pytest.raises(HarnessError, match="18 good tasks, 19 needed"):
        calibrate(made.only(np.arange(36)), "spin", 0.05)


@pytest.mark.parametrize("lower", [False, True])
def test_at_risk_is_where_a_stop_is_false(lower):
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 7, 60)
    scores = [
        np.where(rng.random(k) < 0.4, np.nan, rng.integers(0, 4, k) / 4)
        if rng.random() < 0.7
        else np.full(k, np.nan)
        for k in lengths
    ]
    made = corpus(lengths, scores=scores, succeeded=rng.random(60) < 0.5, lower=lower)
    risk = at_risk(made)
    for stop in range(1, 7):
        ends = np.minimum(stop, made.lengths)[None, :].astype(np.int32)
        assert ((stop <= risk) == at_iterations(made, ends).false_stop[0]).all()


def test_refusals():
    made = spinning(*range(1, 20))
    with pytest.raises(HarnessError, match="did you mean 'spin'"):
        calibrate(made, "spim")
    with pytest.raises(HarnessError, match="0 good tasks"):
        calibrate(spinning(*range(1, 20), succeeded=[False] * 19), "spin")
    nothing = corpus([4] * 19, {"spin": (SPIN, [[NAN] * 4] * 19)})
    with pytest.raises(HarnessError, match="measured nothing"):
        calibrate(nothing, "spin")
    assert [one.guard for one in calibrate_all(nothing)] == ["steps"]


@pytest.mark.parametrize(
    ("guard", "missing"),
    [
        (CostBudget(threshold=1), {"cost_known": np.array([True, False] * 20)}),
        (TokenBudget(threshold=1), {"tokens_known": np.array([True, False] * 20)}),
        (TimeBudget(), {"elapsed": np.array([5, -1] * 20)}),
    ],
)
def test_a_budget_whose_sum_is_known_in_part_has_no_line(guard, missing):
    made = corpus([2] * 20, {"budget": (guard, [[0, 0]] * 20)}, **missing)
    with pytest.raises(HarnessError, match="known in 20 of the good runs"):
        calibrate(made, "budget")
    assert [one.guard for one in calibrate_all(made)] == ["steps"]


# Paths


@pytest.mark.parametrize(
    ("guard", "thresholds"),
    [
        (Spin(threshold=3), [12, 6, 3]),
        (Repetition(threshold=0.9), [0.975, 0.95, 0.9]),
        (Stagnation(threshold=0.02), [0.005, 0.01, 0.02]),
        (MaxIterations(threshold=10), [40, 20, 10]),
    ],
)
def test_a_path_loosens_each_guard(guard, thresholds):
    found = loosened(preset(one=replace(guard, on_fire="stop")), (4, 2, 1))
    assert [p.guards["one"].threshold for p in found] == pytest.approx(thresholds)


def test_a_path_knows_which_scores_are_better():
    under = preset(quality=Quality(threshold=0.8))
    for direction, thresholds in (("higher", [1.6, 0.8]), ("lower", [0.4, 0.8]), (None, [0.8] * 2)):
        found = loosened(under, (2, 1), direction)
        assert [p.guards["quality"].threshold for p in found] == thresholds
    two = [[0.1, 0.2], [0.2, 0.1]]
    for lower, direction in ((False, "higher"), (True, "lower"), ([True, False], None)):
        assert direction_of(corpus([2, 2], scores=two, lower=lower)) == direction


@pytest.mark.parametrize("factors", [(), (1, 2), (0.5,)])
def test_factors_fall_to_one(factors):
    with pytest.raises(HarnessError, match="factors must fall"):
        loosened(preset(spin=SPIN), factors)


def test_a_path_is_followed_as_far_as_the_limit_allows():
    made = spinning(*range(1, 20), costs=[[n, 10, 10, 10] for n in range(1, 20)])
    path = [preset(spin=Spin(threshold=t)) for t in (25, 20, 15, 12, 11, 8)]
    found = calibrate_path(made, path, 0.05)
    assert (found.step, found.stopped, found.rank) == (1, 0, 19)
    found = calibrate_path(made, path, 0.5)
    assert (found.step, found.preset.guards["spin"].threshold, found.stopped) == (4, 11, 9)
    assert (found.early, found.saved) == (9, 9 * 20)


def test_a_path_of_one_guard_says_what_the_guard_says():
    rng = np.random.default_rng(8)
    made = spinning(*rng.integers(1, 9, 60))
    path = [preset(spin=Spin(threshold=t)) for t in range(12, 0, -1)]
    for alpha in (0.02, 0.05, 0.1, 0.3, 0.6):
        line = calibrate(made, "spin", alpha)
        along = calibrate_path(made, path, alpha)
        assert along.preset.guards["spin"].threshold == line.threshold
        assert along.stopped == line.stopped


def test_a_path_that_begins_too_strict_is_refused():
    with pytest.raises(HarnessError, match="begin with a looser preset"):
        calibrate_path(spinning(*range(5, 24)), [preset(spin=Spin(threshold=4))])


@pytest.mark.parametrize(
    ("under", "words"),
    [
        (preset(spin=Spin(threshold=3, on_fire="nudge")), "intervenes"),
        (preset(cycle=Cycle(threshold=3)), "not observed"),
        (preset(spin=Spin(threshold=3, identity="args")), "with these settings"),
    ],
)
def test_presets_that_cannot_be_swept_are_refused(under, words):
    with pytest.raises(HarnessError, match=words):
        calibrate_path(spinning(*range(1, 20)), loosened(under, LOOSER))
