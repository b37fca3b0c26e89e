from __future__ import annotations

import pytest

from harness.guards.regression import Regression
from tests.examples import at, first_fire, holds, scored, signals

TENTH = Regression(threshold=0.1)

FIRES = {
    "on equality, rounded: 0.8 - 0.7": at(2, TENTH, scored(0.8, 0.7)),
    "behind the best, not the previous score": at(4, TENTH, scored(0.8, 0.75, 0.72, 0.69)),
    "lower is better": at(2, TENTH, scored(0.2, 0.35), direction="lower"),
    "zero fires at the first score": at(1, Regression(threshold=0), scored(0.5)),
}
HOLDS = {
    "a small fall": holds(TENTH, scored(0.8, 0.71, 0.79)),
    "a crash has no score": holds(TENTH, scored(0.8, None, 0.8)),
    "rising": holds(TENTH, scored(0.1, 0.5, 0.9)),
    "lower is better and it falls": holds(TENTH, scored(0.9, 0.5, 0.1), direction="lower"),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_a_new_best_is_a_plain_zero(direction):
    assert [str(s) for s in signals(TENTH, scored(0.5, 0.5), direction=direction)] == ["0.0", "0.0"]
