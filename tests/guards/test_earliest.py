"""`earliest` is no idle bound: for every guard there is a loop in which it fires just then."""

from __future__ import annotations

from importlib import import_module

import pytest

from harness.guards import built_in
from harness.guards.cycle import Cycle
from harness.guards.max_iterations import MaxIterations
from harness.guards.max_rounds import MaxRounds
from harness.guards.no_progress import NoProgress
from harness.guards.oscillation import Oscillation
from harness.guards.patience import Patience
from harness.guards.recurrence import Recurrence
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.guards.stagnation import Stagnation


@pytest.mark.parametrize("kind", built_in())
def test_an_example_fires_as_early_as_can_be(kind):
    cases = import_module(f"tests.guards.test_{kind}").FIRES.values()
    assert any(case.at == case.guard.earliest() for case in cases)


TABLE = {
    "three rounds are four iterations": (MaxRounds(threshold=3), 4, 4),
    "no round": (MaxRounds(threshold=0), 1, 1),
    "five iterations": (MaxIterations(threshold=5), 5, 5),
    "acting ones may never come": (MaxIterations(threshold=5, counts="acting"), 5, None),
    "a window of five takes six scores": (Stagnation(window=5), 6, None),
    "patience starts behind the first score": (Patience(threshold=3), 4, None),
    "three equal actions": (Spin(threshold=3), 3, None),
    "three equal calls fit into one turn": (Spin(threshold=3, on="call"), 1, None),
    "three laps of two": (Cycle(threshold=3), 6, None),
    "directions start with the second score": (Oscillation(on="score direction"), 5, None),
    "an earlier text": (Repetition(), 2, None),
    "half a call more is a call more": (Recurrence(threshold=2.5), 3, None),
    "no progress": (NoProgress(), 2, None),
}


@pytest.mark.parametrize("case", TABLE)
def test_table(case):
    guard, earliest, latest = TABLE[case]
    assert (guard.earliest(), guard.latest()) == (earliest, latest or float("inf"))
