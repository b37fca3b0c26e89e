"""Made runs whose truth is known: limits hold on fresh data, intervals cover, bounds contain.

Everything is seeded. A share over repetitions is held against the binomial tail that it would have
if the promise were kept exactly: below 0.1 % it is broken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.guards.max_iterations import MaxIterations
from harness.guards.spin import Spin
from harness.statistics import Question, judge, proportion_interval
from harness.tune.attribution import attribute
from harness.tune.classifiers import auc, auc_interval
from harness.tune.conformal import calibrate, line_rank
from harness.tune.curves import incidence
from harness.tune.paths import calibrate_path
from harness.tune.risk import at_risk
from harness.tune.sweep import exits
from harness.tune.value import at_iterations, measure
from tests.examples import preset
from tests.tune.made_corpus import corpus

BROKEN = 0.001


def kept(hits: int, trials: int, level: float) -> bool:
    """Whether ``hits`` of ``trials`` are not too few for a promise of ``level``."""
    return stats.binom.cdf(hits, trials, level) > BROKEN


def runs(rng, n, tasks=None, spread=0.0):
    """Successful runs of 3 to 30 iterations whose action repeats now and then."""
    lengths = rng.integers(3, 31, n)
    own = None if tasks is None else rng.normal(0, spread, tasks)
    of = np.arange(n) if tasks is None else rng.integers(0, tasks, n)
    signals = []
    for e, length in enumerate(lengths):
        rate = 0.35 if own is None else 1 / (1 + np.exp(0.6 - own[of[e]]))
        signal, run = [], 1
        for _ in range(length):
            run = run + 1 if rng.random() < rate else 1
            signal.append(run)
        signals.append(signal)
    steps = [list(range(1, length + 1)) for length in lengths]
    guards = {"spin": (Spin(), signals), "max_iterations": (MaxIterations(), steps)}
    return corpus(lengths, guards, tasks=[f"t{t}" for t in of])


def falsely(made, guard, found):
    """Share of fresh good runs, or tasks, that a calibrated threshold stops falsely."""
    risk = at_risk(made)
    signals = made.guards[guard].signals
    within = np.arange(len(signals)) - np.repeat(made.offsets[:-1], made.lengths)
    counted = within < np.repeat(risk, made.lengths)
    reached = np.maximum.reduceat(counted & (signals >= found.threshold), made.offsets[:-1])
    good = risk > 0
    if found.by == "run":
        return reached[good].mean()
    tasks = np.array(made.tasks)[good]
    return np.mean([reached[good][tasks == task].any() for task in set(tasks)])


# The limit on false stops


@pytest.mark.parametrize(("n", "alpha"), [(19, 0.05), (60, 0.05), (60, 0.2)])
@pytest.mark.parametrize("guard", ["spin", "max_iterations"])
def test_the_limit_holds_on_fresh_runs(n, alpha, guard):
    rng = np.random.default_rng([n, int(100 * alpha)])
    fresh = runs(rng, 3000)
    shares, likely = [], 0
    for _ in range(150):
        found = calibrate(runs(rng, n), guard, alpha, by="run")
        share = falsely(fresh, guard, found)
        shares.append(share)
        likely += share <= found.likely
    # The mean over calibrations is what is promised; three errors of that mean are chance.
    assert np.mean(shares) <= alpha + 3 * np.std(shares) / np.sqrt(len(shares))
    assert kept(likely, len(shares), 0.95)


def test_the_limit_is_not_given_away_where_there_are_no_ties():
    """With distinct scores the mean is between alpha - 1/(n + 1) and alpha (Lei et al. 2018)."""
    rng = np.random.default_rng(1)
    n, alpha = 59, 0.05
    rank = line_rank(n, alpha)
    lines = np.sort(rng.random((4000, n)), axis=1)[:, rank - 1]
    shares = 1 - lines
    error = 3 * shares.std() / np.sqrt(len(shares))
    assert alpha - 1 / (n + 1) - error <= shares.mean() <= alpha + error
    # And given the calibration the share is Beta(n + 1 - k, k) (Vovk 2012).
    assert stats.kstest(shares, stats.beta(n + 1 - rank, rank).cdf).pvalue > BROKEN


def test_the_limit_holds_on_fresh_tasks_whose_runs_are_alike():
    rng = np.random.default_rng(3)
    alpha, by_task, by_run = 0.1, [], []
    for _ in range(60):
        made, fresh = (runs(rng, 240, tasks=30, spread=1.5) for _ in range(2))
        by_task.append(falsely(fresh, "spin", calibrate(made, "spin", alpha)))
        line = calibrate(made, "spin", alpha, by="run")
        by_run.append(falsely(fresh, "spin", replace(line, by="task")))
    assert np.mean(by_task) <= alpha + 3 * np.std(by_task) / np.sqrt(60)
    # Taken run by run, far more than a tenth of the tasks see a false stop.
    assert np.mean(by_run) > 2 * alpha


def test_the_limit_holds_along_a_path():
    rng = np.random.default_rng(7)
    path = [
        preset(spin=Spin(threshold=s), max_iterations=MaxIterations(threshold=m, on_fire="stop"))
        for s, m in zip(range(16, 1, -1), range(32, 2, -2), strict=True)
    ]
    fresh = runs(rng, 2000)
    good = at_risk(fresh) > 0
    stopped = measure(fresh, exits(fresh, path)).false_stop[:, good].mean(axis=1)
    shares = [stopped[calibrate_path(runs(rng, 60), path, 0.1, "run").step] for _ in range(60)]
    assert np.mean(shares) <= 0.1 + 3 * np.std(shares) / np.sqrt(60)


# Intervals


def test_intervals_by_cluster_cover():
    """Runs of one task share an effect; the mean of a cluster is one observation."""
    rng = np.random.default_rng(11)
    inside, naive, trials = 0, 0, 200
    for _ in range(trials):
        effects = np.repeat(rng.normal(0, 1, 40), 5)
        worse = 0.3 + effects + rng.normal(0, 0.5, 200)
        tasks = tuple(f"t{t}" for t in np.repeat(np.arange(40), 5))
        question = Question("p", "cost", tuple(worse), tasks)
        (answer,) = judge([question], resamples=999)
        inside += answer.low <= 0.3 <= answer.high
        half = 1.96 * worse.std(ddof=1) / np.sqrt(len(worse))
        naive += abs(worse.mean() - 0.3) <= half
    assert kept(inside, trials, 0.93)
    assert not kept(naive, trials, 0.93)


def competing(rng, n, clusters=None):
    """Two causes at constant rates 0.10 and 0.15 an iteration, censored at 0.05, to 12."""
    own = np.ones(n) if clusters is None else np.exp(rng.normal(0, 0.5, clusters))[
        rng.integers(0, clusters, n)
    ]  # fmt: skip
    times, causes = np.full(n, 12), np.full(n, -1)
    alive = np.ones(n, dtype=bool)
    for t in range(1, 13):
        draw = rng.random(n) / own
        for cause, below in ((0, 0.10), (1, 0.25), (-1, 0.29)):
            hit = alive & (draw < below)
            times[hit], causes[hit] = t, cause
            alive &= ~hit
    return times, causes


def test_cumulative_incidence_is_unbiased_and_its_intervals_cover():
    rng = np.random.default_rng(13)
    # Events and censoring exclude each other in one draw; hazards among those at risk are these.
    survival = 0.75 ** np.arange(12)
    truth = np.cumsum(survival * 0.10), np.cumsum(survival * 0.15)
    trials, at = 400, 5
    covered, shares, errors = np.zeros(2, dtype=int), [], []
    for _ in range(trials):
        found = incidence(*competing(rng, 150), ("a", "b"))
        place = int(np.searchsorted(found.times, at + 1))
        for k in range(2):
            covered[k] += found.low[k, place] <= truth[k][at] <= found.high[k, place]
        shares.append(found.share[:, place])
        errors.append(found.se[:, place])
    mean = np.mean(shares, axis=0)
    assert mean == pytest.approx([truth[0][at], truth[1][at]], abs=0.006)
    assert np.std(shares, axis=0) == pytest.approx(np.mean(errors, axis=0), rel=0.12)
    assert all(kept(int(hits), trials, 0.94) for hits in covered)


def test_the_interval_of_an_area_covers():
    rng = np.random.default_rng(17)
    trials, inside = 400, 0
    truth = stats.norm.cdf(1 / np.sqrt(2))
    labels = [True] * 25 + [False] * 30
    for _ in range(trials):
        scores = np.concatenate([rng.normal(1, 1, 25), rng.normal(0, 1, 30)])
        low, high = auc_interval(auc(scores.tolist(), labels), 25, 30)
        inside += low <= truth <= high
    assert kept(inside, trials, 0.95)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_the_interval_of_a_share_covers(share):
    n = 40
    chance = stats.binom(n, share)
    ends = [proportion_interval(hits, n) for hits in range(n + 1)]
    covered = sum(chance.pmf(h) for h, (low, high) in enumerate(ends) if low <= share <= high)
    assert covered >= 0.95


# Bounds and attribution


def test_bounds_of_success_contain_the_truth():
    """A run that is stopped early would have succeeded or not; both are within the bounds."""
    rng = np.random.default_rng(19)
    for _ in range(40):
        n = 50
        lengths = rng.integers(2, 20, n)
        wins = rng.random(n) < 0.6
        # Where an early stop leaves a success a success: known here, to nobody in a recording.
        done = np.where(wins, rng.integers(1, lengths + 1), 99)
        made = corpus(lengths, succeeded=wins)
        stop = np.minimum(rng.integers(1, 20, n), lengths)
        value = at_iterations(made, stop[None, :].astype(np.int32))
        truth = (done <= stop).sum()
        assert value.success_low.sum() <= truth <= value.success_high.sum()


def test_attribution_finds_who_did_it():
    """Spin does the work, the limit adds a tenth of it on runs that spin leaves alone."""
    rng = np.random.default_rng(23)
    n, length = 300, 20
    stuck = rng.random(n) < 0.5
    spin = [[min(t, 9) if s else 1 for t in range(1, length + 1)] for s in stuck]
    steps = [list(range(1, length + 1))] * n
    costs = rng.integers(1, 100, (n, length)).tolist()
    guards = {"spin": (Spin(), spin), "max_iterations": (MaxIterations(), steps)}
    made = corpus([length] * n, guards, costs=costs, succeeded=[False] * n)
    under = preset(
        spin=Spin(threshold=3), max_iterations=MaxIterations(threshold=19, on_fire="stop")
    )
    found = attribute(made, under)
    worth = {one.guard: one for one in found.worth["iterations"]}
    # 17 iterations on each stuck run, of which the limit would save one: half a one each.
    runs_stuck = int(stuck.sum())
    assert worth["spin"].shapley * 2 == runs_stuck * (17 + 16)
    assert worth["max_iterations"].shapley * 2 == runs_stuck + 2 * (n - runs_stuck)
    assert sum(w.share for w in found.worth["saved"]) == found.whole["saved"]
