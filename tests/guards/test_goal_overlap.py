from __future__ import annotations

import pytest

from harness.guards.goal_overlap import GoalOverlap
from harness.loop import run_episode
from harness.preset import load_preset
from harness.turns import prepare
from tests.examples import scenario, step

GOAL = "Write the leaflet for the new bus timetable with the fares of lines one to four."

FIRES = {
    "nothing in common": "Our phone system is down, find the emergency number.",
    "other words for another task": "Forget it, make a list of our suppliers instead.",
}
HOLDS = {
    "the same leaflet": "In the leaflet for the bus timetable, please add line five as well.",
    "half of it": "And the fares, please.",
}


def overlap_of(message: str) -> tuple[float, bool]:
    """Signal and firing at the iteration where the message came."""
    said = scenario([step(), step(user=message)], goal=GOAL)
    episode = run_episode(prepare(said), load_preset("observe"))
    (series,) = (s for s in episode.series if s.guard == "goal_overlap")
    assert series.unknown[0]  # nobody had spoken yet
    return series.signals[1], series.fired[1]


@pytest.mark.parametrize("message", FIRES.values(), ids=FIRES)
def test_a_message_of_another_task_fires(message):
    overlap, fired = overlap_of(message)
    assert fired
    assert overlap < GoalOverlap().threshold


@pytest.mark.parametrize("message", HOLDS.values(), ids=HOLDS)
def test_a_message_of_the_same_task_holds(message):
    overlap, fired = overlap_of(message)
    assert not fired
    assert overlap >= GoalOverlap().threshold
