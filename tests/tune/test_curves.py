"""Cumulative incidence against a reference library, by hand, and its laws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.guards.max_iterations import MaxIterations
from harness.guards.spin import Spin
from harness.tune.curves import FINISHED, curves, incidence
from harness.tune.sweep import exits
from tests.examples import preset
from tests.tune.made_corpus import corpus

NAMES = ("limit", "stuck")


def arrays(pairs):
    times, causes = zip(*pairs, strict=True)
    return np.array(times, dtype=np.int64), np.array(causes, dtype=np.int64)


def test_by_hand():
    """Six loops: 1 limit, 2 stuck and censored, 3 limit, 4 stuck and censored."""
    times, causes = arrays([(1, 0), (2, 1), (2, -1), (3, 0), (4, 1), (4, -1)])
    found = incidence(times, causes, NAMES)
    assert found.at_risk.tolist() == [6, 5, 3, 2]
    assert found.events.tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    # S(1-) = 1, S(2-) = 5/6, S(3-) = 5/6 * 4/5 = 2/3, S(4-) = 2/3 * 2/3 = 4/9
    limit = [1 / 6, 1 / 6, 1 / 6 + 2 / 9, 1 / 6 + 2 / 9]
    stuck = [0, 1 / 6, 1 / 6, 1 / 6 + 2 / 9]
    assert found.share == pytest.approx(np.array([limit, stuck]))
    assert found.running == pytest.approx([5 / 6, 2 / 3, 4 / 9, 2 / 9])


def test_without_competition_or_censoring_it_is_the_share_that_has_ended():
    times, causes = arrays([(t, 0) for t in (1, 1, 2, 3, 5, 5, 5, 8)])
    found = incidence(times, causes, ("stuck",))
    share = np.array([2, 3, 4, 7, 8]) / 8
    assert found.share[0] == pytest.approx(share)
    # The variance is then that of a share.
    assert found.se[0] == pytest.approx(np.sqrt(share * (1 - share) / 8))


EPISODES = st.lists(
    st.tuples(st.integers(1, 9), st.sampled_from([-1, 0, 1])), min_size=1, max_size=40
)


@given(EPISODES)
def test_shares_and_those_still_running_sum_to_one(pairs):
    found = incidence(*arrays(pairs), NAMES)
    assert found.share.sum(axis=0) + found.running == pytest.approx(np.ones(len(found.times)))
    assert (np.diff(found.share, axis=1) >= -1e-12).all()
    assert (found.low <= found.share + 1e-12).all()
    assert (found.share <= found.high + 1e-12).all()
    assert ((found.low >= 0) & (found.high <= 1)).all()


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([-1, 0, 1])), min_size=2, max_size=40))
def test_it_is_what_statsmodels_says(pairs):
    reference = pytest.importorskip("statsmodels.duration.survfunc")
    # One censored at the end, because the reference divides by nobody otherwise; both causes.
    pairs = [*pairs, (1, 0), (2, 1), (10, -1)]
    times, causes = arrays(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs = reference.CumIncidenceRight(times.astype(float), causes + 1)
    ours = incidence(times, causes, NAMES)
    place = np.searchsorted(ours.times, theirs.times)
    for k in range(2):
        assert ours.share[k][place] == pytest.approx(theirs.cinc[k], abs=1e-12)
        known = np.nan_to_num(theirs.cinc_se[k])
        assert ours.se[k][place] == pytest.approx(known, abs=1e-7)


def test_clusters_of_one_resample_to_the_plain_errors():
    rng = np.random.default_rng(4)
    times = rng.integers(1, 12, 300)
    causes = rng.integers(-1, 2, 300)
    plain = incidence(times, causes, NAMES)
    drawn = incidence(times, causes, NAMES, clusters=np.arange(300))
    assert drawn.share == pytest.approx(plain.share)
    assert drawn.resampled
    assert not plain.resampled
    assert drawn.se == pytest.approx(plain.se, rel=0.15, abs=0.004)


def test_copies_of_episodes_add_no_certainty():
    rng = np.random.default_rng(4)
    times, causes = rng.integers(1, 12, 60), rng.integers(-1, 2, 60)
    once = incidence(times, causes, NAMES)
    five = incidence(
        np.repeat(times, 5), np.repeat(causes, 5), NAMES, clusters=np.repeat(np.arange(60), 5)
    )
    assert five.share == pytest.approx(once.share)
    assert five.se == pytest.approx(once.se, rel=0.25, abs=0.01)


# Under a preset

SIGNALS = [[1, 3, 4], [1, 1, 1], [1, 1, 1], [1, 1, 1, 1]]
GUARDS = {
    "spin": (Spin(), SIGNALS),
    "max_iterations": (MaxIterations(), [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4]]),
}
ENDS = (
    ExitReason.AGENT_FINISHED, ExitReason.AGENT_FINISHED, ExitReason.RECORDING_EXHAUSTED,
    ExitReason.AGENT_FINISHED,
)  # fmt: skip


def test_groups_of_exits_compete_and_recordings_that_run_out_are_censored():
    made = corpus([3, 3, 3, 4], GUARDS, end=ENDS)
    under = preset(spin=Spin(threshold=3), max_iterations=MaxIterations(threshold=4))
    found = curves(made, exits(made, [under]))
    assert found.causes == (FINISHED, "limit", "stuck")
    last = dict(zip(found.causes, found.share[:, -1], strict=True))
    # At 2 one of four is stuck; at 3 one of three finishes and one runs out; the last hits 4.
    assert last == pytest.approx({"stuck": 1 / 4, FINISHED: 1 / 4, "limit": 1 / 2})
    frame = found.frame()
    assert list(frame["cause"].unique()) == [*found.causes]
    assert frame["iteration"].tolist() == [2, 3, 4] * 3


def test_tasks_that_recur_are_resampled():
    made = corpus([3, 3, 3, 4], GUARDS, end=ENDS, tasks=["a", "a", "b", "c"])
    under = preset(spin=Spin(threshold=3))
    assert curves(made, exits(made, [under])).resampled


def test_nothing_to_draw_is_said():
    made = corpus([3, 3, 3, 4], GUARDS, phased=np.ones(4, dtype=bool))
    with pytest.raises(HarnessError, match="no episode of run made"):
        curves(made, exits(made, [preset(spin=Spin(threshold=3))]))
