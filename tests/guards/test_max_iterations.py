from __future__ import annotations

import pytest

from harness.guards.max_iterations import MaxIterations
from tests.examples import at, call, first_fire, holds, step

ACT = call("read", {}, "text")
ACTING = MaxIterations(threshold=3, counts="acting")

FIRES = {
    "the limit's iteration is the last one": at(3, MaxIterations(threshold=3), 5 * [step()]),
    "twenty unless the preset says otherwise": at(20, MaxIterations(), 25 * [step()]),
    "turns that call a tool": at(5, ACTING, [step(ACT), step(), step(ACT), step(), step(ACT)]),
    "zero fires at once": at(1, MaxIterations(threshold=0), [step()]),
}
HOLDS = {
    "finished by itself in the last turn": holds(
        ACTING, [step(ACT), step(ACT), step(text="Done.")]
    ),
    "one iteration short": holds(MaxIterations(threshold=4), 3 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_pauses_because_the_work_is_not_lost():
    assert MaxIterations().action == "pause"
