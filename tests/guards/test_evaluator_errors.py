from __future__ import annotations

import pytest

from harness.guards.evaluator_errors import EvaluatorErrors
from harness.trace import Evaluation
from tests.examples import at, first_fire, holds, signals, step

LOST = step(judged=Evaluation(failed=True))
GOOD = step(judged=Evaluation(parsed=True))
BAD = step(judged=Evaluation(parsed=False))
NOBODY_ASKED = step()

FIRES = {
    "five running": at(5, EvaluatorErrors(), 6 * [LOST]),
    "iterations without an evaluator do not break it": at(
        3, EvaluatorErrors(threshold=2), [LOST, NOBODY_ASKED, LOST]
    ),
}
HOLDS = {
    "four": holds(EvaluatorErrors(), 4 * [LOST]),
    "a reply came in between": holds(EvaluatorErrors(threshold=2), [LOST, GOOD, LOST]),
    "even one that does not parse": holds(EvaluatorErrors(threshold=2), [LOST, BAD, LOST]),
    "nobody was asked": holds(EvaluatorErrors(threshold=0), 5 * [NOBODY_ASKED]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_calls_that_failed():
    assert signals(EvaluatorErrors(), [LOST, LOST, BAD, LOST]) == [1, 2, 0, 1]
