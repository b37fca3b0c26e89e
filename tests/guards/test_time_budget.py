from __future__ import annotations

import pytest

from harness.guards.time_budget import TimeBudget
from tests.examples import at, call, first_fire, holds, known, signals, step

FIRES = {
    "on equality": at(2, TimeBudget(threshold=2000), 3 * [step(ms=1000)]),
    "two minutes unless the preset says otherwise": at(2, TimeBudget(), 2 * [step(ms=60_000)]),
    "idle time counts": at(1, TimeBudget(threshold=500), [step(ms=100, idle_ms=400)]),
    "the longest of parallel calls counts": at(
        1, TimeBudget(threshold=1500), [step(call("a", ms=200), call("b", ms=500), ms=1000)]
    ),
    "waiting takes time too": at(1, TimeBudget(), [step(call("build_status", ms=130_000), ms=10)]),
    "zero fires at once": at(1, TimeBudget(threshold=0), [step(ms=0)]),
    "a lower bound that reaches the budget alone": at(
        3, TimeBudget(threshold=2000), [step(ms=1000), step(), step(ms=1000)]
    ),
}
HOLDS = {
    "one millisecond short": holds(TimeBudget(threshold=2001), 2 * [step(ms=1000)]),
    "parallel calls do not add up": holds(
        TimeBudget(threshold=1700), [step(call("a", ms=500), call("b", ms=500), ms=1000)]
    ),
    "unrecorded time never fires": holds(TimeBudget(threshold=1), 3 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_an_iteration_is_its_reply_its_longest_call_and_its_idle_time():
    steps = [step(call("a", ms=7), call("b", ms=40), ms=100, idle_ms=5), step(ms=20)]
    assert signals(TimeBudget(), steps) == [145, 165]


@pytest.mark.parametrize(
    ("expected", "steps"),
    [
        pytest.param(True, [step(ms=1000)], id="everything recorded"),
        pytest.param(False, [step(ms=1000), step()], id="a reply without a time"),
        pytest.param(False, [step(call("a"), ms=1000)], id="a call without a time"),
        pytest.param(False, [step(), step(ms=1000)], id="it stays a lower bound"),
    ],
)
def test_unrecorded_time_is_unknown(expected, steps):
    assert expected == known(TimeBudget(), steps)
