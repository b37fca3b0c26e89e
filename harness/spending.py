"""What live models may cost: a budget in integer pico-USD and a number of calls.

A budget is looked at before each call, because a call's cost is known only afterwards: what is
spent exceeds it by no more than the calls in flight.
"""

from __future__ import annotations

import threading
from decimal import Decimal, InvalidOperation

from harness import prices
from harness.errors import HarnessError
from harness.trace import Reply, Usage

_ONE_TOKEN = Usage(input=1, output=1)


def pico(usd: str, option: str) -> int:
    """USD in decimal digits as integer pico-USD, without passing through a float.

    Args:
        usd: As somebody wrote it: ``0.5``.
        option: Where it was written, for the message.

    Raises:
        HarnessError: No number above zero.
    """
    try:
        amount = Decimal(usd)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0 or amount > prices.MAX_PRICE:
        raise HarnessError(
            f"{option}: must be a number of USD above 0, at most {prices.MAX_PRICE:,}, "
            f"found {usd!r}"
        )
    return max(1, int(amount * prices.PICO_PER_USD))


def require_price(model: str, option: str) -> None:
    """Refuse a budget that could not be kept.

    Raises:
        HarnessError: The price of ``model`` is unknown.
    """
    if prices.cost(model, _ONE_TOKEN) is None:
        raise HarnessError(
            f"{option}: the price of model {model!r} is unknown, so that no budget can be kept; "
            "name its price in the file HARNESS_PRICES, or limit the number of calls"
        )


class Allowance:
    """Says whether one more call may be made, and keeps count. For several threads.

    Args:
        budget: Pico-USD that may be spent; ``None``: no limit.
        calls: How many calls may be made; ``None``: no limit.

    Attributes:
        made: Calls so far; ``spent`` pico-USD is the known part of what they cost, and
            ``unpriced`` how many of them have an unknown cost.
    """

    def __init__(self, *, budget: int | None = None, calls: int | None = None) -> None:
        self._budget, self._calls = budget, calls
        self._lock = threading.Lock()
        self.made = 0
        self.spent = 0
        self.unpriced = 0

    @property
    def stopped(self) -> str | None:
        """Why no further call may be made, in words; ``None``: one may."""
        if self._calls is not None and self.made >= self._calls:
            return f"the limit of {self._calls} calls is reached"
        if self._budget is None:
            return None
        if self.unpriced:
            return "the cost of a call is unknown, so that the budget cannot be kept"
        if self.spent >= self._budget:
            return f"the budget of ${self._budget / prices.PICO_PER_USD:g} is reached"
        return None

    def take(self) -> bool:
        """Ask for one call, which counts from now on; whether it may be made."""
        with self._lock:
            if self.stopped is not None:
                return False
            self.made += 1
            return True

    def charge(self, reply: Reply, model: str) -> None:
        """Count what a call cost.

        Args:
            reply: What came back; a failed call that reports no tokens cost nothing.
            model: The model that was asked, for the price where the reply's own name has none.
        """
        cost = reply.cost if reply.cost is not None else prices.cost(model, reply.usage)
        with self._lock:
            if cost is not None:
                self.spent += cost
            elif reply.error is None:
                self.unpriced += 1
