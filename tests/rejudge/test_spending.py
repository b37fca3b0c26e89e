"""A budget is an integer, and a call counts before it is made."""

from __future__ import annotations

import pytest

from harness.errors import HarnessError
from harness.spending import Allowance, pico, require_price
from harness.trace import Reply, Usage
from tests.examples import PRICED

USAGE = Usage(input=10, output=1)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("1", 10**12), ("0.1", 10**11), ("0.000000000001", 1), ("1e-13", 1), ("1000000", 10**18)],
)
def test_money_is_read_without_a_float(written: str, expected: int) -> None:
    assert pico(written, "--budget-usd") == expected


@pytest.mark.parametrize("written", ["0", "-1", "nan", "inf", "one", "", "1000001"])
def test_what_is_no_budget(written: str) -> None:
    with pytest.raises(HarnessError, match="--budget-usd: must be a number of USD above 0"):
        pico(written, "--budget-usd")


def test_a_budget_needs_a_price() -> None:
    require_price(PRICED, "--budget-usd")
    with pytest.raises(HarnessError, match="the price of model 'house-7b' is unknown"):
        require_price("house-7b", "--budget-usd")


@pytest.mark.parametrize(
    ("reply", "spent", "unpriced"),
    [
        (Reply("judge", "", usage=USAGE, cost=7), 7, 0),
        # The name that the server gives has no price; the one that was asked for has.
        (Reply("judge", "", model="gateway/x", usage=USAGE), 10 * 150_000 + 600_000, 0),
        (Reply("judge", "", model=PRICED), 0, 1),
        (Reply("judge", "", model=PRICED, error="HTTP 500"), 0, 0),
    ],
)
def test_what_a_reply_costs(reply: Reply, spent: int, unpriced: int) -> None:
    allowance = Allowance()
    assert allowance.take()
    allowance.charge(reply, PRICED)
    assert (allowance.made, allowance.spent, allowance.unpriced) == (1, spent, unpriced)


def test_no_more_calls_than_allowed() -> None:
    allowance = Allowance(calls=2)
    assert [allowance.take() for _ in range(4)] == [True, True, False, False]
    assert (allowance.made, allowance.stopped) == (2, "the limit of 2 calls is reached")
