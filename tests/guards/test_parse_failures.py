from __future__ import annotations

import pytest

from harness.guards.parse_failures import ParseFailures
from harness.trace import Evaluation
from tests.examples import at, first_fire, holds, signals, step

GOOD = step(judged=Evaluation(parsed=True))
BAD = step(judged=Evaluation(parsed=False))
LOST = step(judged=Evaluation(failed=True))
NOBODY_ASKED = step()

FIRES = {
    "three running": at(3, ParseFailures(), 3 * [BAD]),
    "after good ones": at(5, ParseFailures(), [GOOD, GOOD, *3 * [BAD]]),
    "iterations without an evaluator do not break it": at(
        4, ParseFailures(), [BAD, BAD, NOBODY_ASKED, BAD]
    ),
    "a reply that never came is no reply that parsed": at(
        4, ParseFailures(), [BAD, BAD, LOST, BAD]
    ),
}
HOLDS = {
    "a good reply in between": holds(ParseFailures(), [BAD, BAD, GOOD, BAD, BAD]),
    "calls that failed are another matter": holds(ParseFailures(), 5 * [LOST]),
    "nobody was asked": holds(ParseFailures(threshold=0), 5 * [NOBODY_ASKED]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_replies_that_did_not_parse():
    assert signals(ParseFailures(), [GOOD, BAD, BAD, GOOD]) == [0, 1, 2, 0]
