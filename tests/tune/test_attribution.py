"""What guards are worth: the axioms of the Shapley value, published games, and hand-made loops."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.guards.max_iterations import MaxIterations
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.guards.tool_spin import ToolSpin
from harness.tune import attribution
from harness.tune.attribution import MEASURES, attribute, runners_up, shapley, whole_units
from harness.tune.sweep import exits
from harness.tune.value import measure as measured
from tests.examples import preset
from tests.tune.made_corpus import corpus

VALUES = st.integers(0, 4).flatmap(
    lambda n: st.lists(st.integers(-(10**18), 10**18), min_size=2**n, max_size=2**n)
)


def by_orders(values: list[int]) -> list[Fraction]:
    """The definition: the mean over all orders of what each player adds."""
    n = len(values).bit_length() - 1
    total = [Fraction(0)] * n
    orders = list(permutations(range(n)))
    for order in orders:
        there = 0
        for player in order:
            total[player] += values[there | 1 << player] - values[there]
            there |= 1 << player
    return [part / len(orders) for part in total]


@given(VALUES)
def test_shapley_is_the_mean_over_orders(values):
    assert by_orders(values) == shapley(values)


@given(VALUES)
def test_parts_sum_to_the_whole_exactly(values):
    exact = shapley(values)
    assert sum(exact) == values[-1] - values[0]
    rounded = whole_units(exact)
    assert sum(rounded) == values[-1] - values[0]
    assert all(abs(whole - part) < 1 for whole, part in zip(rounded, exact, strict=True))


@pytest.mark.parametrize(
    ("game", "worth"),
    [
        # Gloves: one left, two right; a pair is worth 1 (Shapley and Shubik 1969).
        ([0, 0, 0, 1, 0, 1, 0, 1], [Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)]),
        # Runways of length 1, 2, 3 (Littlechild and Owen 1973).
        ([0, 1, 2, 2, 3, 3, 3, 3], [Fraction(1, 3), Fraction(5, 6), Fraction(11, 6)]),
        # Unanimity
        ([0, 0, 0, 1], [Fraction(1, 2), Fraction(1, 2)]),
    ],
    ids=["gloves", "runways", "unanimity"],
)
def test_published_games(game, worth):
    assert worth == shapley(game)


# Two episodes of four iterations at 10 each. Spin would end the first after 2, the limit after 3;
# repetition repeats what spin says.
SPIN = [[1, 3, 4, 5], [1, 1, 1, 1]]
SAME = [[0, 1.0, 0, 0], [0, 0, 0, 0]]
STEPS = [[1, 2, 3, 4], [1, 2, 3, 4]]
GUARDS = {
    "spin": (Spin(), SPIN),
    "repetition": (Repetition(), SAME),
    "max_iterations": (MaxIterations(), STEPS),
}
COSTS = [[10, 10, 10, 10], [10, 10, 10, 11]]
BOTH = preset(
    spin=Spin(threshold=3),
    repetition=Repetition(threshold=0.9, on_fire="stop"),
    max_iterations=MaxIterations(threshold=3, on_fire="stop"),
)


def two(**more):
    return corpus([4, 4], GUARDS, costs=COSTS, succeeded=[False, True], **more)


def test_overlapping_guards_share_what_both_would_save():
    found = attribute(two(), BOTH)
    assert found.whole["saved"] == 20 + 11
    worth = {one.guard: one for one in found.worth["saved"]}
    assert {n: (w.alone, w.left_out) for n, w in worth.items()} == {
        # Either of the twins can go: the other does the same.
        "spin": (20, 0),
        "repetition": (20, 0),
        "max_iterations": (21, 11),
    }
    # 10 that all three save is shared by three, the next 10 by the twins, 11 is the limit's.
    assert [w.shapley for w in worth.values()] == [
        Fraction(10, 3) + 5, Fraction(10, 3) + 5, Fraction(10, 3) + 11,
    ]  # fmt: skip
    assert sum(w.share for w in worth.values()) == 31
    stops = {one.guard: one.share for one in found.worth["false_stops"]}
    assert stops == {"spin": 0, "repetition": 0, "max_iterations": 1}


def test_scores_missed_are_attributed():
    scores = [[0.1, 0.4, 0.7, 0.7], [0.1, 0.1, 0.1, 0.2]]
    found = attribute(two(scores=scores), BOTH)
    lost = {one.guard: one.shapley / attribution.SCORE_UNIT for one in found.worth["lost"]}
    # After 2 the first lacks 0.3, after 3 nothing; after 3 the second lacks 0.1.
    assert lost == {
        "spin": Fraction(15, 100), "repetition": Fraction(15, 100),
        "max_iterations": Fraction(1, 10),
    }  # fmt: skip


def test_a_guard_that_never_fires_is_worth_nothing_and_costs_nothing():
    more = {f"spin{n}": Spin(threshold=90 + n) for n in range(20)}
    signals = {name: (guard, SPIN) for name, guard in more.items()}
    made = corpus([4, 4], GUARDS | signals, costs=COSTS)
    found = attribute(made, preset(**more, **BOTH.guards))
    assert not found.grouped
    assert [w.guard for w in found.worth["saved"]] == [*more, *BOTH.guards]
    assert all(w.share == 0 for w in found.worth["saved"][:20])


def test_too_many_guards_are_taken_together_by_kind():
    many = {f"spin{n}": Spin(threshold=2 + n % 3) for n in range(attribution.MOST)}
    made = corpus([4, 4], GUARDS | {n: (g, SPIN) for n, g in many.items()}, costs=COSTS)
    found = attribute(made, preset(**many, **BOTH.guards))
    assert found.grouped
    assert [w.guard for w in found.worth["saved"]] == ["spin", "repetition", "max_iterations"]
    assert sum(w.share for w in found.worth["saved"]) == found.whole["saved"]


def test_too_many_kinds_are_refused(monkeypatch):
    monkeypatch.setattr(attribution, "MOST", 2)
    with pytest.raises(HarnessError, match="3 kinds of guards fire; at most 2"):
        attribute(two(), BOTH)


def test_what_cannot_be_swept_is_left_out_and_counted():
    made = two(phased=np.array([True, False]))
    found = attribute(made, BOTH)
    assert (found.episodes, found.left_out, found.whole["saved"]) == (1, 1, 11)


def test_a_mechanism_ends_whatever_the_guards_do():
    made = two(
        fixed_at=np.array([2, 0]),
        fixed_rank=np.array([3000.0, np.inf]),
        fixed_reason=(ExitReason.BLOCKED, None),
    )
    # Its place in the chain is before the guards, so they save nothing more there.
    assert attribute(made, BOTH).whole["saved"] == 11


@given(st.data())
def test_every_measure_sums_to_the_whole(data):
    n = 4
    signals = st.lists(st.sampled_from([0, 1, 2, 3]), min_size=3, max_size=3)
    guards = {
        name: (guard, data.draw(st.lists(signals, min_size=n, max_size=n)))
        for name, guard in {"spin": Spin(), "tool_spin": ToolSpin(threshold=2)}.items()
    }
    scores = data.draw(st.lists(signals, min_size=n, max_size=n))
    costs = [[7 * e + 1, 3, 10**17 + e] for e in range(n)]
    made = corpus([3] * n, guards, scores=scores, costs=costs)
    both = preset(spin=Spin(threshold=2), tool_spin=ToolSpin(threshold=3))
    found = attribute(made, both)
    every = [
        preset(),
        preset(spin=Spin(threshold=2)),
        preset(tool_spin=ToolSpin(threshold=3)),
        both,
    ]
    value = measured(made, exits(made, every))
    saved = [int((made.cost[made.offsets[1:] - 1] - row).sum()) for row in value.cost]
    assert [w.shapley for w in found.worth["saved"]] == shapley([v - saved[0] for v in saved])
    for measure in MEASURES:
        worth = found.worth[measure]
        assert sum(w.shapley for w in worth) == found.whole[measure]
        assert sum(w.share for w in worth) == found.whole[measure]
        # With two players: half of what it does alone, half of what nobody else would do.
        assert [w.shapley for w in worth] == [Fraction(w.alone + w.left_out, 2) for w in worth]


def test_parts_of_the_subsets_are_worked_on_one_by_one(monkeypatch):
    """However few fit into memory, the values are the same, and those of sweeping each subset."""
    rng = np.random.default_rng(2)
    kinds = [Spin(identity=i) for i in ("action", "args", "args+result", "normalised")]
    signals = {
        f"g{j}": (kind, rng.integers(1, 6, (30, 6)).tolist()) for j, kind in enumerate(kinds)
    }
    made = corpus([6] * 30, signals, costs=rng.integers(1, 9, (30, 6)).tolist())
    guards = {name: replace(guard, threshold=5) for name, (guard, _) in signals.items()}
    subsets = [
        preset(**{name: g for j, (name, g) in enumerate(guards.items()) if s >> j & 1})
        for s in range(16)
    ]
    swept = measured(made, exits(made, subsets))
    expected = shapley([-int(row.sum()) for row in swept.cost])
    for cells in (1, 70, 2_000_000):
        monkeypatch.setattr(attribution, "_CELLS", cells)
        found = attribute(made, subsets[-1])
        assert [w.shapley for w in found.worth["saved"]] == expected


def test_who_would_have_fired_next():
    frame = runners_up(two(), preset(**{k: BOTH.guards[k] for k in ("spin", "max_iterations")}))
    assert frame.to_dict("records") == [
        {"scenario": "s0", "task": "t0", "guard": "spin", "reason": "spin", "iteration": 2,
         "next_guard": "max_iterations", "next_reason": "max_iterations", "next_iteration": 3,
         "cost_between": 10},
        {"scenario": "s1", "task": "t1", "guard": "max_iterations", "reason": "max_iterations",
         "iteration": 3, "next_guard": "", "next_reason": "", "next_iteration": 4,
         "cost_between": 11},
    ]  # fmt: skip


def test_frames():
    frame = attribute(two(), BOTH).frame()
    assert list(frame["measure"].unique()) == list(MEASURES)
    assert frame.groupby("measure")["share"].sum()["saved"] == 31
