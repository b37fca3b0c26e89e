from __future__ import annotations

import pytest

from harness.guards.max_iterations import MaxIterations
from tests.examples import at, first_fire, holds, step

FIRES = {
    "the limit's iteration is the last one": at(3, MaxIterations(threshold=3), 5 * [step()]),
    "twenty unless the preset says otherwise": at(20, MaxIterations(), 25 * [step()]),
    "zero fires at once": at(1, MaxIterations(threshold=0), [step()]),
}
HOLDS = {
    "one iteration short": holds(MaxIterations(threshold=4), 3 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_pauses_because_the_work_is_not_lost():
    assert MaxIterations().action == "pause"
