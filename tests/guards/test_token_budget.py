from __future__ import annotations

import pytest

from harness.guards.token_budget import TokenBudget
from tests.examples import at, first_fire, holds, known, signals, step

ALL_FIVE = {"input": 100, "cache_read": 40, "cache_write": 20, "output": 30, "reasoning": 10}
SPENT = step(usage=ALL_FIVE)

FIRES = {
    "on equality": at(2, TokenBudget(threshold=400), 3 * [SPENT]),
    "output counts reasoning": at(1, TokenBudget(threshold=40, measure="output"), [SPENT]),
    "uncached leaves out cache reads only": at(
        1, TokenBudget(threshold=160, measure="uncached"), [SPENT]
    ),
    "zero fires at once": at(1, TokenBudget(threshold=0), [step(usage={})]),
    "a lower bound that reaches the budget alone": at(
        2, TokenBudget(threshold=200), [step(), SPENT]
    ),
}
HOLDS = {
    "one token short": holds(TokenBudget(threshold=401), 2 * [SPENT]),
    "output alone stays below": holds(TokenBudget(threshold=81, measure="output"), 2 * [SPENT]),
    "uncached alone stays below": holds(TokenBudget(threshold=161, measure="uncached"), [SPENT]),
    "unknown usage never fires": holds(TokenBudget(threshold=1), 3 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


@pytest.mark.parametrize(
    ("expected", "measure"),
    [([200, 400], "total"), ([40, 80], "output"), ([160, 320], "uncached")],
)
def test_it_keeps_a_running_total(expected, measure):
    assert expected == signals(TokenBudget(threshold=1, measure=measure), 2 * [SPENT])


@pytest.mark.parametrize(("expected", "steps"), [(True, [SPENT]), (False, [SPENT, step()])])
def test_a_reply_without_usage_leaves_a_lower_bound(expected, steps):
    assert expected == known(TokenBudget(threshold=1), steps)
