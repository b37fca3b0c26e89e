from __future__ import annotations

import pytest

from harness.guards.cost_budget import CostBudget
from tests.examples import PRICED, at, first_fire, holds, known, signals, step

USAGE = {"input": 1000, "output": 100}
PAID = step(model=PRICED, usage=USAGE)
COST = 1000 * 150_000 + 100 * 600_000
NO_PRICE = step(model="house-model-7b", usage=USAGE)

FIRES = {
    "on equality, to the pico-dollar": at(2, CostBudget(threshold=2 * COST), 3 * [PAID]),
    "zero fires at once": at(1, CostBudget(threshold=0), [PAID]),
    "a lower bound that reaches the budget alone": at(
        2, CostBudget(threshold=COST), [NO_PRICE, PAID]
    ),
}
HOLDS = {
    "one pico-dollar short": holds(CostBudget(threshold=2 * COST + 1), 2 * [PAID]),
    "an unknown price is not above a limit": holds(CostBudget(threshold=1), 3 * [NO_PRICE]),
    "tokens without a model have no price": holds(CostBudget(threshold=1), 3 * [step(usage=USAGE)]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_money_is_counted_in_whole_pico_dollars():
    expected = [COST, 2 * COST]
    assert expected == signals(CostBudget(threshold=1), 2 * [PAID])


@pytest.mark.parametrize(
    ("expected", "steps"),
    [
        pytest.param(True, [PAID, PAID], id="everything priced"),
        pytest.param(False, [PAID, NO_PRICE], id="a model without a price"),
        pytest.param(False, [PAID, step(model=PRICED)], id="a reply without usage"),
    ],
)
def test_an_unknown_price_leaves_a_lower_bound(expected, steps):
    assert expected == known(CostBudget(threshold=1), steps)
