"""Reflection: which level, and whether a model is asked."""

from __future__ import annotations

import json

import pytest

from harness.session import Session
from harness.trace import Reply
from tests.examples import call, scenario, step, turns
from tests.mechanisms import asked, feed, live, noted, replay, under

FINE = call("read", {"path": "a"}, "text")
FAILS = call("read", {"path": "b"}, "no such file", ok=False)
KEY = call("deploy", {}, "ok", key=True)
BUILTIN = call("plan", {}, "ok", builtin=True)
READY = {"reflection": json.dumps({"suggestions": ["Read the manual."], "effective": False})}


def order(level: str, **data: object) -> dict[str, object]:
    return {"reflection": {"level": level, "data": data}}


@pytest.mark.parametrize(
    ("level", "asks", "calls", "handler"),
    [
        ("minimal", False, [FINE], None),
        ("minimal", False, [BUILTIN], None),
        ("minimal", False, [], None),
        ("deep", True, [KEY], None),
        ("critical", True, [FAILS], None),
        ("critical", True, [KEY, FAILS], None),
        # a handler sets it up or down, whatever happened
        ("none", False, [FAILS], order("none")),
        ("minimal", False, [FAILS], order("minimal")),
        ("standard", True, [KEY], order("standard")),
        ("critical", True, [FINE], order("critical")),
    ],
)
def test_the_level(level, asks, calls, handler):
    spec = step(*calls, roles=READY, handler=handler)
    episode = replay([spec], reflection={})
    assert {level} == {trigger for _, _, trigger in noted(episode, "reflection")}
    assert asks == (asked(episode, "reflection") == [1])


@pytest.mark.parametrize(
    ("level", "spec"),
    [("standard", FINE), ("deep", KEY), ("critical", FAILS)],
    ids=["a spin alone", "a key action", "a failure"],
)
def test_what_outranks_a_spin(level, spec):
    steps = [step(spec, roles=READY)] * 2
    episode = replay(steps, reflection={}, spin_layers={"run": 2})
    assert noted(episode, "reflection")[-1][2] == level


def test_suggestions_are_recorded_one_by_one_and_reach_the_next_prompt():
    reply = json.dumps({"suggestions": ["Read the manual.", "Go slower."]})
    session = live({"reflection": [reply]}, reflection={}, work_order=True)
    feed(session, [step(FAILS)])
    events = session.course.iterations[0].events
    assert [e.result for e in events if e.event == "suggestion"] == [
        "Read the manual.",
        "Go slower.",
    ]
    assert "Reflection:\n- Read the manual.\n- Go slower." in session.work_order()


def test_plain_lines_are_suggestions_too():
    episode = replay([step(FAILS, roles={"reflection": "- one\n- two\n"})], reflection={})
    assert [event for _, event, _ in noted(episode, "reflection")] == [
        "suggestion", "suggestion", "run",
    ]  # fmt: skip


@pytest.mark.parametrize("reply", ["{}", '{"suggestions": "one"}', '{"suggestions": [1]}', "{"])
def test_json_is_read_strictly(reply):
    episode = replay([step(FAILS, roles={"reflection": reply})], reflection={})
    assert noted(episode, "reflection") == [(1, "parse_failure", "critical")]


def test_unrecorded_it_abstains_and_is_counted():
    episode = replay([step(FAILS), step(FINE)], reflection={})
    assert noted(episode, "reflection") == [(1, "abstain", "critical"), (2, "run", "minimal")]
    assert episode.unrecorded_calls == 1


class Listening:
    """Answers every request and remembers what it was told."""

    def __init__(self):
        self.told = []

    reads = True

    def knows(self, role, iteration, n):
        return True

    def ask(self, request):
        self.told.append(request.messages[0]["content"])
        return Reply(request.role, "- one")


def test_what_the_handler_hands_in_is_asked_about():
    spec = step(FINE, handler=order("deep", hint="compare both"))
    llm = Listening()
    session = Session(scenario([spec]), under(reflection={}), llm, nonce="n")
    session.step(turns([spec])[0])
    assert llm.told[0].startswith("Level: deep.")
    assert llm.told[0].endswith('{"hint": "compare both"}')
