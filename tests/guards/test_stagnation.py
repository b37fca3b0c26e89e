from __future__ import annotations

import pytest

from harness.guards.stagnation import Stagnation
from tests.examples import at, first_fire, holds, scored, signals, step

CHANGE = Stagnation(counts="change")
BEST = Stagnation(against="best")

FIRES = {
    "two small improvements": at(3, Stagnation(), scored(0.5, 0.51, 0.52)),
    "a fall is no improvement": at(3, Stagnation(), scored(0.71, 0.64, 0.58)),
    "an unscored iteration is passed over": at(4, Stagnation(), scored(0.5, 0.51, None, 0.51)),
    "a wider window waits longer": at(4, Stagnation(window=3), scored(0.5, 0.51, 0.52, 0.53)),
    "changes up and down, all small": at(3, CHANGE, scored(0.5, 0.51, 0.5)),
    "window of one": at(2, Stagnation(window=1), scored(0.5, 0.5)),
    "getting back to the best is no improvement over it": at(4, BEST, scored(0.5, 0.7, 0.4, 0.71)),
    "lower is better": at(3, Stagnation(), scored(0.5, 0.49, 0.55), direction="lower"),
    "min_delta on a declared scale is a share of it": at(
        3, Stagnation(), scored(5, 5.1, 5.2), score_scale=[0, 10]
    ),
}
HOLDS = {
    "a fall is a change": holds(CHANGE, scored(0.7, 0.6, 0.6, 0.5)),
    "0.14, 0.16, 0.18 improves by 0.02 twice, though raw floats say less": holds(
        Stagnation(), scored(0.14, 0.16, 0.18)
    ),
    "window scores are one too few": holds(Stagnation(), scored(0.5, 0.5)),
    "unscored iterations do not make up a window": holds(
        Stagnation(), scored(0.5, None, None, 0.5, None)
    ),
    "a crash has no score, never 0": holds(
        Stagnation(window=1), [*scored(0.5), step(text="crashed"), *scored(0.6)]
    ),
    "the largest of the window counts": holds(Stagnation(), scored(0.5, 0.7, 0.7, 0.9, 0.9)),
    "against the previous score a recovery counts": holds(
        Stagnation(), scored(0.5, 0.7, 0.4, 0.71)
    ),
    "lower is better and it falls": holds(Stagnation(), scored(0.5, 0.4, 0.3), direction="lower"),
    "min_delta 0 asks only that it does not fall": holds(
        Stagnation(threshold=0), scored(0.5, 0.5, 0.5)
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_improvements_are_rounded_to_nine_decimals():
    assert signals(Stagnation(), scored(0.14, 0.16, 0.18))[2:] == [0.02]


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_no_change_is_a_plain_zero(direction):
    last = signals(Stagnation(), scored(0.5, 0.5, 0.5), direction=direction)[-1]
    assert str(last) == "0.0"
