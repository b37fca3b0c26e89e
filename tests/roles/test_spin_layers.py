"""Spin in two layers: a row of equal action types, then a judge, or a rule on arguments."""

from __future__ import annotations

import json

import pytest

from tests.examples import call, step
from tests.mechanisms import asked, end, noted, replay

SAME = step(call("fuzz", {"seed": 1}, "nothing"))
OTHER = step(call("read", {"path": "a"}, "text"))
TALK = step(text="Hm.")


def varied(n: int) -> list[dict]:
    return [step(call("fuzz", {"seed": k}, "nothing")) for k in range(n)]


def says(spinning: object, reason: str = "r", **more: object) -> dict:
    return {"spin_judge": json.dumps({"is_spinning": spinning, "reason": reason} | more)}


def layers(steps, **settings) -> list[tuple[int, str]]:
    episode = replay(steps, spin_layers=settings)
    return [(number, event) for number, event, _ in noted(episode, "spin_layers")]


@pytest.mark.parametrize(
    ("expected", "steps"),
    [
        ([], [SAME, SAME, OTHER, SAME, SAME]),
        ([(3, "layer_1"), (3, "warning")], [SAME, SAME, SAME]),
        ([(3, "layer_1"), (3, "no_spin")], varied(3)),
        ([(4, "layer_1"), (4, "warning")], [SAME, SAME, TALK, SAME]),
        (
            [(3, "layer_1"), (3, "warning"), (7, "layer_1"), (7, "warning")],
            [SAME, SAME, SAME, OTHER, SAME, SAME, SAME, OTHER],
        ),
    ],
    ids=[
        "another action between",
        "the same arguments",
        "other arguments",
        "talk does not break it",
        "warnings count over the episode",
    ],
)
def test_nobody_recorded_so_the_arguments_decide(expected, steps):
    assert expected == layers(steps)


def test_the_record_says_that_a_rule_decided():
    episode = replay([SAME] * 3, spin_layers={})
    reasons = [e.reason for e in episode.iterations[2].events if e.event == "warning"]
    assert reasons == ["no judge answered; by rule: the same arguments 3 times in a row"]
    assert episode.unrecorded_calls == 1


@pytest.mark.parametrize(
    ("expected", "steps", "answer"),
    [
        ("no_spin", [SAME] * 3, says(False, "It waits for the server.")),
        ("warning", varied(3), says(True, "Seeds without a plan.")),
        # what cannot be read leaves the decision to the rule
        ("warning", [SAME] * 3, says("false")),
        ("no_spin", varied(3), says("true")),
        ("no_spin", varied(3), {"spin_judge": "Yes, it spins."}),
        ("no_spin", varied(3), says(True, suggestions="none")),
    ],
)
def test_the_second_layer(expected, steps, answer):
    steps = [*steps[:2], steps[2] | {"roles": answer}]
    assert layers(steps)[-1] == (3, expected)


@pytest.mark.parametrize(
    ("expected", "settings"),
    [
        (("spin", 4), {}),
        (("spin", 3), {"max_warnings": 1}),
        (("spin", 5), {"max_warnings": 3}),
        (("spin", 2), {"run": 2, "max_warnings": 1}),
        (("recording_exhausted", 6), {"run": 5, "max_warnings": 5}),
    ],
)
def test_the_warning_that_reaches_the_limit_stops(expected, settings):
    episode = replay([SAME] * 6, spin_layers=settings)
    assert expected == end(episode)


def test_warnings_are_conditions_that_decide_nothing():
    episode = replay([SAME] * 3, spin_layers={})
    assert [(c.kind, c.action) for c in episode.decisions[2].conditions] == [
        ("spin_layers", "warn")
    ]
    assert episode.decisions[2].name == "continue"


def test_layer_one_asks_nobody():
    ready = [spec | {"roles": says(True)} for spec in [SAME, SAME, OTHER, SAME]]
    assert asked(replay(ready, spin_layers={}), "spin_judge") == []


def test_a_positive_forces_perception_and_a_standard_reflection():
    steps = [SAME, SAME, SAME]
    episode = replay(steps, spin_layers={}, perception={}, reflection={})
    assert noted(episode, "perception")[-1] == (3, "abstain", "spin_detected")
    assert noted(episode, "reflection")[-1] == (3, "abstain", "standard")
