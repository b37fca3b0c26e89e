from __future__ import annotations

import pytest

from harness.guards.quality import Quality
from harness.trace import Evaluation
from tests.examples import at, first_fire, holds, scored, signals, step

FIRES = {
    "on equality": at(2, Quality(), scored(0.8, 0.85, 0.9)),
    "two confirmations running": at(4, Quality(confirmations=2), scored(0.9, 0.8, 0.9, 0.86)),
    "an unscored iteration does not break confirmations": at(
        3, Quality(confirmations=2), scored(0.9, None, 0.9)
    ),
    "lower is better": at(3, Quality(threshold=0.1), scored(0.5, 0.2, 0.1), direction="lower"),
    "lower is better, confirmed": at(
        4, Quality(threshold=0.1, confirmations=2), scored(0.1, 0.2, 0.1, 0.05), direction="lower"
    ),
    "a declared scale maps to 0..1": at(
        2, Quality(threshold=0.5), scored(4, 5.5), score_scale=[1, 10]
    ),
    "tests passed of tests run": at(
        1, Quality(threshold=0.5), [step(score={"passed": 1, "total": 2})]
    ),
    "a judge's score counts as well": at(1, Quality(), [step(judged=Evaluation(score=0.9))]),
    "zero is a value": at(1, Quality(threshold=0), scored(0)),
}
HOLDS = {
    "just below": holds(Quality(), scored(0.8499, 0.84)),
    "no score is no zero": holds(Quality(threshold=0), [step(), step()]),
    "one confirmation is missing": holds(Quality(confirmations=3), scored(0.9, 0.9)),
    "a low score in between": holds(Quality(confirmations=2), scored(0.9, 0.2, 0.9, 0.2)),
    "lower is better and it is above": holds(
        Quality(threshold=0.1), scored(0.9, 0.11), direction="lower"
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_an_iteration_without_a_score_is_unknown():
    assert [s if s == s else True for s in signals(Quality(), scored(0.5, None, 0.7))] == [
        0.5,
        True,
        0.7,
    ]


def test_confirmations_measure_the_worst_of_the_last_scores():
    assert signals(Quality(confirmations=2), scored(0.9, 0.7, 0.8))[-1] == 0.7


@pytest.mark.parametrize(
    ("score", "scale"), [(4, [1, 10]), ({"passed": 1, "total": 3}, None)], ids=["scale", "tests"]
)
def test_a_score_is_rounded_to_nine_decimals(score, scale):
    assert signals(Quality(), [step(score=score)], score_scale=scale) == [0.333333333]
