"""Who spoke and for how long, in the spans of a run; agents within agents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.importers._spans.node import Node, Told
from harness.importers._spans.tree import told
from tests.importers.otlp_requests import PLACE, answer, ask, back, node

HEAT = answer("", ("c1", "heat", '{"to": 100}'))
ROOT = node(0, "agent", None, end=1000, name="cook")
FIRST = node(1, "llm", at=10, messages=[ask("Boil water.")], reply=[HEAT])
DONE = node(
    9,
    "llm",
    at=100,
    reply=[answer("It boils.")],
    messages=[ask("Boil water."), HEAT, back("c1", "hot")],
)


def heat(number: int = 2, at: int = 30, **more: Any) -> Node:
    return node(number, "tool", at=at, **{"tool": "heat", "result": "hot", **more})


def calls(found: Told) -> list[list[dict[str, Any]]]:
    return [step.get("calls", []) for step in found.steps]


# -- people and time ---------------------------------------------------------------------------


def test_new_words_of_the_conversation_are_a_persons_who_took_time() -> None:
    later = [ask("Boil water."), answer("It boils."), ask("Thanks."), ask("Cool it.")]
    spans = [
        node(1, "llm", at=0, messages=[ask("Boil water.")], reply=[answer("It boils.")]),
        node(2, "llm", at=500, messages=later, reply=[answer("Done.")]),
        node(3, "llm", at=600, messages=later, reply=[answer("Again.")]),
    ]
    found = told(PLACE, spans)
    assert found.goal == "Boil water."
    assert [(step.get("user"), step.get("idle_ms")) for step in found.steps] == [
        (None, None),
        ("Thanks.\n\nCool it.", 490),
        (None, None),
    ]


def test_words_of_before_the_first_call_stand_at_the_first_step() -> None:
    spans = [node(1, "llm", messages=[ask("2 + 2?"), answer("4"), ask("3 + 3?")])]
    found = told(PLACE, spans)
    assert (found.goal, found.steps[0]["user"]) == ("2 + 2?", "3 + 3?")


def test_a_conversation_within_a_run_is_no_persons() -> None:
    """What a planner or a sub-agent is told; in a new run of the session it is a person's."""
    other = {"messages": [ask("Plan this.")]}
    found = told(PLACE, [ROOT, FIRST, node(3, "llm", at=50, **other)])
    assert "user" not in found.steps[1]
    root = node(5, "agent", None, at=40, end=90, name="cook")
    found = told(PLACE, [ROOT, FIRST, root, node(3, "llm", 5, at=50, **other)])
    assert (found.steps[1]["user"], found.steps[1]["idle_ms"]) == ("Plan this.", 30)


@pytest.mark.parametrize(
    ("nodes", "goal"),
    [
        ([replace(ROOT, text_in="Cook."), node(1, "llm")], "Cook."),
        ([node(1, "llm"), node(2, "llm", at=9, messages=[ask("Go.")])], "Go."),
        ([node(1, "llm")], ""),
    ],
)
def test_the_goal_where_the_first_call_has_none(nodes: list[Node], goal: str) -> None:
    assert told(PLACE, nodes).goal == goal


@pytest.mark.parametrize(("start", "end"), [(None, 5), (5, None), (9, 5)])
def test_times_that_are_unknown_are_left_out(start: int | None, end: int | None) -> None:
    one = replace(node(1, "llm", reply=[answer("x")]), start_ms=start, end_ms=end)
    assert told(PLACE, [one]).steps == [{"reply": {"text": "x"}}]


# -- agents within agents ----------------------------------------------------------------------


def test_sub_agents_are_one_sequence_and_no_time_counts_twice() -> None:
    spans = [
        ROOT,
        node(1, "llm", at=10, messages=[ask("Boil.")], reply=[answer("", ("c", "delegate", "{}"))]),
        node(2, "tool", at=20, end=100, tool="delegate", call_id="c", result="hot"),
        node(3, "agent", 2, at=21, end=99, name="heater"),
        node(
            4,
            "llm",
            3,
            at=30,
            end=50,
            messages=[ask("Heat.")],
            reply=[answer("", ("h", "heat", "{}"))],
        ),
        node(5, "tool", 3, at=45, end=70, tool="heat", call_id="h", result="100"),
        node(6, "llm", at=110, messages=[ask("Boil."), back("c", "hot")], reply=[answer("Done.")]),
    ]
    found = told(PLACE, spans)
    assert found.tags == ["sub-agents"]
    assert [[(c["tool"], c["ms"]) for c in made] for made in calls(found)] == [
        [("delegate", 40)],
        [("heat", 25)],
        [],
    ]
    assert all("user" not in step for step in found.steps)


def test_a_second_run_of_the_same_agent_is_no_sub_agent() -> None:
    again = node(5, "agent", None, at=40, end=90, name="cook")
    assert told(PLACE, [ROOT, FIRST, again, node(3, "llm", 5, at=50)]).tags == []


def test_calls_without_content_are_still_steps() -> None:
    spans = [ROOT, node(1, "llm", usage={"input": 3}), heat(result=None)]
    found = told(PLACE, spans)
    assert found.tags == ["content:none"]
    assert found.steps == [
        {"reply": {"usage": {"input": 3}, "ms": 10}, "calls": [{"tool": "heat", "ms": 10}]}
    ]
