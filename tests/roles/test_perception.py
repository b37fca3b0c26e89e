"""Perception: triggers, throttle, reset, and the section in the next prompt."""

from __future__ import annotations

import pytest

from harness.roles.perception import rank
from tests.examples import call, step
from tests.mechanisms import asked, feed, live, noted, perceived, replay, verified

READ, WRITE = call("read", {"path": "a"}, "text"), call("write", {"path": "a"}, "ok")
SEEN = {"perception": perceived("boats")}


def seen(*specs, **more):
    """Events of perception where every step has a reply ready."""
    steps = [spec | {"roles": SEEN | spec.get("roles", {})} for spec in specs]
    return noted(replay(steps, perception={}, **more), "perception")


def turn(ms: int, *calls, **more):
    return step(*(calls or (READ,)), ms=ms, **more)


@pytest.mark.parametrize(
    ("expected", "steps"),
    [
        ([("run", "post_action"), ("skip", "post_action")], [turn(0), turn(29_999, WRITE)]),
        ([("run", "post_action"), ("run", "post_action")], [turn(0), turn(30_000, WRITE)]),
        ([("run", "post_action"), ("skip", "post_action")], [turn(0), turn(30_000)]),
        ([("run", "post_action"), ("skip", "post_action")], [turn(0), turn(299_999)]),
        ([("run", "post_action"), ("run", "post_action")], [turn(0), turn(300_000)]),
    ],
    ids=[
        "other work, too early",
        "other work after 30 s",
        "the same work after 30 s",
        "the same work before 5 min",
        "the same work after 5 min",
    ],
)
def test_the_throttle(expected, steps):
    assert expected == [(event, trigger) for _, event, trigger in seen(*steps)]


def test_a_handler_forces_it():
    forced = turn(1, handler={"perception": "the person changed the file"})
    assert seen(turn(0), forced) == [(1, "run", "post_action"), (2, "run", "forced")]


def test_a_loop_switch_resets_and_looks_at_once():
    steps = [turn(0, loop="plan"), turn(1, loop="plan"), turn(1, loop="write")]
    assert seen(*steps) == [
        (1, "reset", "loop_switch"),
        (1, "run", "loop_switch"),
        (2, "skip", "post_action"),
        (3, "reset", "loop_switch"),
        (3, "run", "loop_switch"),
    ]


def test_the_start_of_a_task_resets():
    found = seen(turn(0), init={"perception": "task start"})
    assert found == [(1, "reset", "loop_switch"), (1, "run", "loop_switch")]


def test_a_spin_looks_at_once():
    steps = [turn(1), turn(1)]
    found = seen(*steps, spin_layers={"run": 2})
    assert found[-1] == (2, "run", "spin_detected")


def test_a_verification_is_a_trigger_but_throttled():
    ready = {"verifier": verified(False)}
    steps = [turn(0, roles=ready), turn(1, WRITE, roles=ready), turn(30_000, READ, roles=ready)]
    found = seen(*steps, verification={"every": 1})
    assert found == [
        (1, "run", "verification"),
        (2, "skip", "verification"),
        (3, "skip", "verification"),
    ]


def test_unrecorded_it_abstains_and_is_counted():
    episode = replay([turn(0), turn(1)], perception={})
    assert [event for _, event, _ in noted(episode, "perception")] == ["abstain", "abstain"]
    assert episode.unrecorded_calls == 2


@pytest.mark.parametrize(
    "reply",
    [
        "boats",
        "{}",
        perceived("boats", confidence="high"),
        perceived("boats", confidence=1.2),
        perceived("boats", topics="boats"),
        perceived("boats") + perceived("boats"),
    ],
)
def test_it_parses_strictly(reply):
    episode = replay([turn(0, roles={"perception": reply})], perception={})
    assert noted(episode, "perception") == [(1, "parse_failure", "post_action")]
    assert asked(episode, "perception") == [1]


def test_the_section_carries_the_nonce_and_ranks_capabilities():
    task = {"capabilities": ["chart tides", "paint boats"]}
    session = live({"perception": [perceived("boats", keywords=["paint"])]}, task=task,
                   perception={}, work_order=True)  # fmt: skip
    feed(session, [turn(0)])
    assert (
        "<perception-n0>\n"
        "Topics: boats\n"
        "On boats.\n"
        "Capabilities, best first: paint boats, chart tides\n"
        "</perception-n0>"
    ) in session.work_order()


def test_ranking_keeps_the_order_of_ties():
    assert rank(["a tree", "b boat", "c tree"], ["boat"]) == ["b boat", "a tree", "c tree"]


def test_off_means_off():
    assert noted(replay([turn(0, roles=SEEN)], reflection={}), "perception") == []
