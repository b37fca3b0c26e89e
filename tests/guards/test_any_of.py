"""Three-valued logic: ``T`` fires, ``F`` does not, ``U`` cannot be judged."""

from __future__ import annotations

import math

import pytest

from harness.guards.any_of import AnyOf
from harness.guards.cost_budget import CostBudget
from harness.guards.max_iterations import MaxIterations
from harness.guards.quality import Quality
from harness.guards.spin import Spin
from tests.examples import at, call, first_fire, holds, scored, signals, step

T = MaxIterations(threshold=1)
F = MaxIterations(threshold=99)
U = Quality()
UNKNOWN = math.nan

FIRES = {
    "the first of two": at(
        3, AnyOf(guards=(Quality(), MaxIterations(threshold=3))), scored(*4 * [0])
    ),
    "the other one": at(
        2, AnyOf(guards=(Quality(), MaxIterations(threshold=3))), scored(0, 0.9, 0)
    ),
    "one cannot be judged": at(1, AnyOf(guards=(U, T)), [step()]),
    "lower is better": at(
        2, AnyOf(guards=(Quality(threshold=0.1),)), scored(0.5, 0.1), direction="lower"
    ),
}
HOLDS = {
    "none of them": holds(AnyOf(guards=(F, Spin())), 2 * [step(call("read"))]),
    "nothing is known": holds(AnyOf(guards=(U, Spin())), 3 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


@pytest.mark.parametrize(
    ("expected", "guards"),
    [
        (1, (T, T)), (1, (T, F)), (1, (F, T)), (0, (F, F)),
        (1, (T, U)), (1, (U, T)), (UNKNOWN, (F, U)), (UNKNOWN, (U, F)), (UNKNOWN, (U, U)),
        (UNKNOWN, (F, CostBudget(threshold=1))),
    ],
    ids=["TT", "TF", "FT", "FF", "TU", "UT", "FU", "UF", "UU", "a lower bound is unknown"],
)  # fmt: skip
def test_one_is_enough_and_unknown_is_not_false(expected, guards):
    [signal] = signals(AnyOf(guards=guards), [step()])
    assert expected == pytest.approx(signal, nan_ok=True)


def test_its_reason_is_that_of_its_first_guard():
    assert AnyOf(guards=(Spin(), T)).exit_reason == "spin"
