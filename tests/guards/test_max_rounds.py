from __future__ import annotations

import pytest

from harness.guards.max_rounds import MaxRounds
from tests.examples import at, first_fire, holds, signals, step

FIRES = {
    "three rounds allow four iterations": at(4, MaxRounds(threshold=3), 6 * [step()]),
    "zero is a value: the first version only": at(1, MaxRounds(threshold=0), 2 * [step()]),
    "five rounds unless the preset says otherwise": at(6, MaxRounds(), 8 * [step()]),
}
HOLDS = {
    "the first execution is no revision": holds(MaxRounds(threshold=1), [step()]),
    "one round short": holds(MaxRounds(threshold=3), 3 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_revisions():
    assert signals(MaxRounds(), 3 * [step()]) == [0, 1, 2]
