from __future__ import annotations

import pytest

from harness.guards.patience import Patience
from tests.examples import at, first_fire, holds, scored, signals

FIRES = {
    "two scored iterations without a new best": at(
        4, Patience(threshold=2), scored(0.5, 0.7, 0.6, 0.65)
    ),
    "an equal score is no new best": at(3, Patience(threshold=2), scored(0.5, 0.5, 0.5)),
    "unscored iterations count neither way": at(
        4, Patience(threshold=2), scored(0.5, 0.4, None, 0.4)
    ),
    "lower is better": at(3, Patience(threshold=2), scored(0.5, 0.6, 0.5), direction="lower"),
    "zero fires at the first score": at(2, Patience(threshold=0), scored(None, 0.5)),
}
HOLDS = {
    "each score a little better": holds(Patience(threshold=1), scored(0.5, 0.501, 0.502)),
    "a new best starts the count anew": holds(
        Patience(threshold=2), scored(0.5, 0.4, 0.6, 0.5, 0.7)
    ),
    "nothing scored": holds(Patience(threshold=0), scored(None, None)),
    "lower is better and it falls": holds(
        Patience(threshold=1), scored(0.5, 0.4, 0.3), direction="lower"
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_scored_iterations_since_the_best():
    assert signals(Patience(threshold=9), scored(0.5, 0.5, None, 0.6)) == [0, 1, 1, 0]
