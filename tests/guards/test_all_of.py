"""Three-valued logic: ``T`` fires, ``F`` does not, ``U`` cannot be judged."""

from __future__ import annotations

import math

import pytest

from harness.guards.all_of import AllOf
from harness.guards.cost_budget import CostBudget
from harness.guards.max_iterations import MaxIterations
from harness.guards.quality import Quality
from harness.guards.spin import Spin
from tests.examples import at, call, first_fire, holds, scored, signals, step

T = MaxIterations(threshold=1)
F = MaxIterations(threshold=99)
U = Quality()
UNKNOWN = math.nan

BOTH = AllOf(guards=(Quality(), MaxIterations(threshold=3)))

FIRES = {
    "both in the same iteration": at(3, BOTH, scored(0, 0, 0.9, 0)),
    "later, when both hold at last": at(5, BOTH, scored(0.9, 0.9, 0, 0, 0.9)),
    "lower is better": at(
        2, AllOf(guards=(Quality(threshold=0.1), T)), scored(0.5, 0.1), direction="lower"
    ),
}
HOLDS = {
    "nothing is latched: one then, the other now": holds(BOTH, scored(0.9, 0.9, 0, 0)),
    "one cannot be judged": holds(AllOf(guards=(T, U)), 3 * [step()]),
    "one is never true": holds(AllOf(guards=(T, Spin())), 2 * [step(call("read"))]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


@pytest.mark.parametrize(
    ("expected", "guards"),
    [
        (1, (T, T)), (0, (T, F)), (0, (F, T)), (0, (F, F)),
        (UNKNOWN, (T, U)), (UNKNOWN, (U, T)), (0, (F, U)), (0, (U, F)), (UNKNOWN, (U, U)),
        (UNKNOWN, (T, CostBudget(threshold=1))),
    ],
    ids=["TT", "TF", "FT", "FF", "TU", "UT", "FU", "UF", "UU", "a lower bound is unknown"],
)  # fmt: skip
def test_one_that_holds_is_enough_to_hold_and_unknown_is_not_false(expected, guards):
    [signal] = signals(AllOf(guards=guards), [step()])
    assert expected == pytest.approx(signal, nan_ok=True)


def test_its_reason_is_that_of_its_first_guard():
    assert AllOf(guards=(Spin(), T)).exit_reason == "spin"
