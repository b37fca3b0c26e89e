from __future__ import annotations

import pytest

from harness.guards.goal_overlap import GoalOverlap
from tests.examples import at, first_fire, holds, signals, step

GOAL = "Write the leaflet for the new bus timetable with the fares of lines one to four."


def said(message):
    return [step(), step(user=message)]


FIRES = {
    "nothing in common": at(
        2, GoalOverlap(), said("Our phone system is down, find the emergency number."), goal=GOAL
    ),
    "explicitly another task": at(
        2, GoalOverlap(), said("Forget it, list our suppliers instead."), goal=GOAL
    ),
    "at once": at(1, GoalOverlap(), [step(user="Find our phone number.")], goal=GOAL),
}
HOLDS = {
    "nobody spoke": holds(GoalOverlap(), 3 * [step()], goal=GOAL),
    "the same leaflet": holds(
        GoalOverlap(),
        said("In the leaflet for the bus timetable, please add line five."),
        goal=GOAL,
    ),
    "a part of it": holds(GoalOverlap(), said("And the fares, please."), goal=GOAL),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_is_unknown_where_nobody_spoke():
    first, second = signals(GoalOverlap(), said("And the fares, please."), goal=GOAL)
    assert first != first
    assert second == 1.0
