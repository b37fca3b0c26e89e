"""Spans of a run as steps, whoever traced it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.errors import ImportFormatError
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


def test_a_model_call_is_a_step_and_executions_are_results() -> None:
    found = told(PLACE, [heat(call_id="c1"), DONE, ROOT, FIRST])
    assert found == Told(
        goal="Boil water.",
        steps=[
            {
                "reply": {"ms": 10},
                "calls": [
                    {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 10}
                ],
            },
            {"reply": {"text": "It boils.", "ms": 10}},
        ],
        tools=["heat"],
        finished=True,
    )


def test_what_a_reply_says_of_itself() -> None:
    usage = {"input": 5, "output": 2}
    one = node(
        1,
        "llm",
        reply=[answer("Hi.")],
        model="m",
        finish_reason="length",
        usage=usage,
        error="cut",
        offered=["heat", "cool"],
    )
    found = told(PLACE, [one])
    (step,) = found.steps
    assert step["reply"] == {
        "text": "Hi.",
        "model": "m",
        "finish_reason": "length",
        "usage": usage,
        "ms": 10,
        "error": "cut",
    }
    assert (found.tools, found.finished) == (["heat", "cool"], False)


@pytest.mark.parametrize(
    ("reply", "reason", "finished"),
    [
        ([answer("Done.")], None, True),
        ([answer("Done.")], "STOP", True),
        ([answer("Done.")], "length", False),
        ([], "stop", True),
        ([], None, False),
        ([HEAT], "stop", False),
    ],
)
def test_finished_is_what_the_model_ended_by_itself(
    reply: list[Any], reason: str | None, finished: bool
) -> None:
    assert told(PLACE, [node(1, "llm", reply=reply, finish_reason=reason)]).finished is finished


# -- wrappers ----------------------------------------------------------------------------------


def test_a_wrapper_is_no_step_and_fills_what_the_call_lacks() -> None:
    outer = node(3, "llm", at=9, end=21, name="litellm", usage={"input": 7}, model="gpt")
    inner = replace(FIRST, parent="4", usage=None, model="gpt-4o")
    found = told(PLACE, [ROOT, outer, node(4, "other", 3, at=9), inner])
    assert [step["reply"] for step in found.steps] == [
        {"model": "gpt-4o", "usage": {"input": 7}, "ms": 10}
    ]


def test_a_wrapper_of_two_calls_fills_neither() -> None:
    outer = node(3, "llm", end=90, usage={"input": 7})
    one, two = (node(n, "llm", 3, at=n, reply=[answer(str(n))]) for n in (5, 6))
    found = told(PLACE, [ROOT, outer, one, two])
    assert [step["reply"] for step in found.steps] == [
        {"text": "5", "ms": 10},
        {"text": "6", "ms": 10},
    ]


@pytest.mark.parametrize(
    ("inner", "steps"),
    [
        ({"name": "ChatCompletion", "reply": [HEAT]}, 1),
        ({"name": "ChatCompletion", "reply": [answer("other")]}, 2),
        ({"name": "ChatCompletion", "reply": [HEAT], "end": 99}, 2),
        ({"name": "llm", "reply": [HEAT]}, 2),
        ({"name": "ChatCompletion"}, 2),
    ],
    ids=["same", "other reply", "ends later", "same instrumentation", "nothing to compare"],
)
def test_two_instrumentations_of_one_call_are_one_step(inner: dict[str, Any], steps: int) -> None:
    """Neither knows of the other: they lie within one another in time and answer the same."""
    found = told(PLACE, [ROOT, FIRST, node(3, "llm", at=12, **{"end": 19, **inner})])
    assert len(found.steps) == steps


def test_without_content_equal_usage_tells_that_it_is_one_call() -> None:
    outer = node(1, "llm", at=10, end=30, name="ChatOpenAI", usage={"input": 7, "output": 3})
    inner = replace(outer, id="2", name="ChatCompletion", start_ms=12, end_ms=28)
    assert len(told(PLACE, [outer, inner]).steps) == 1


def test_a_tool_that_two_instrumentations_trace_is_executed_once() -> None:
    inner = replace(heat(3, at=31), parent="2")
    assert calls(told(PLACE, [ROOT, FIRST, heat(), inner])) == [
        [{"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 10}]
    ]


# -- executions --------------------------------------------------------------------------------


def test_executions_find_their_calls() -> None:
    """By id, else by name and arguments, else by name; what nobody asked for is a call too."""
    reply = answer(
        "",
        ("a", "heat", '{"to": 1}'),
        ("b", "heat", '{"to": 2}'),
        (None, "stir", '{"n": 3}'),
        ("d", "cool", "{}"),
    )
    asked = node(1, "llm", at=10, reply=[reply])
    done = [
        heat(2, at=20, call_id="b", result="by id"),
        heat(3, at=21, args={"to": 1}, result="by arguments"),
        node(4, "tool", at=22, tool="stir", args="{'n': 3}", result="as LangChain writes them"),
        node(5, "tool", at=23, tool="cool", call_id="framework's own", result="by name"),
        node(6, "tool", at=24, tool="log", args={"x": 1}, result="nobody asked"),
    ]
    (found,) = calls(told(PLACE, [asked, *done]))
    assert [(call["tool"], call.get("args"), call["result"]) for call in found] == [
        ("heat", {"to": 1}, "by arguments"),
        ("heat", {"to": 2}, "by id"),
        ("stir", {"n": 3}, "as LangChain writes them"),
        ("cool", None, "by name"),
        ("log", {"x": 1}, "nobody asked"),
    ]


def test_an_execution_that_does_not_name_its_tool_takes_the_first_call() -> None:
    asked = node(1, "llm", at=10, reply=[answer("", (None, "a", "{}"), (None, "b", "{}"))])
    (found,) = calls(told(PLACE, [asked, node(2, "tool", at=20, result="1")]))
    assert found == [{"tool": "a", "result": "1", "ok": True, "ms": 10}, {"tool": "b"}]


def test_an_execution_before_the_first_reply_belongs_to_its_step() -> None:
    assert calls(told(PLACE, [heat(at=1), FIRST])) == [
        [
            {"tool": "heat", "result": "hot", "ok": True, "ms": 10},
            {"tool": "heat", "args": {"to": 100}},
        ]
    ]


def test_an_execution_has_arguments_that_its_call_left_out() -> None:
    asked = node(1, "llm", at=10, reply=[answer("", (None, "heat", "{}"))])
    ((call,),) = calls(told(PLACE, [asked, heat(args={"to": 50})]))
    assert call["args"] == {"to": 50}


@pytest.mark.parametrize(
    ("about", "call"),
    [
        ({"error": "boom"}, {"result": "hot", "ok": False}),
        ({"error": "boom", "result": None}, {"result": "boom", "ok": False}),
        ({"result": None}, {}),
        ({"result": "Error: cold"}, {"result": "Error: cold", "ok": False}),
        (
            {"result": '{"exit_code": 2}'},
            {"result": '{"exit_code": 2}', "exit_code": 2, "ok": False},
        ),
    ],
)
def test_what_an_execution_says_of_success(about: dict[str, Any], call: dict[str, Any]) -> None:
    assert calls(told(PLACE, [FIRST, heat(**about)])) == [
        [{"tool": "heat", "args": {"to": 100}, "ms": 10, **call}]
    ]


def test_results_that_no_span_holds_come_from_the_next_question() -> None:
    two = answer("", ("a", "heat", "{}"), ("b", "cool", "{}"))
    asked = [ask("Go."), two, back("b", "cold", is_error=True), back("a", "hot")]
    spans = [
        node(1, "llm", at=1, messages=[ask("Go.")], reply=[two]),
        node(2, "llm", at=9, messages=asked),
    ]
    assert calls(told(PLACE, spans)) == [
        [
            {"tool": "heat", "result": "hot", "ok": True},
            {"tool": "cool", "result": "cold", "ok": False},
        ],
        [],
    ]


def test_an_observation_is_the_result_of_the_one_call_that_waits() -> None:
    asked = [ask("Boil water."), HEAT, ask("Observation:\nhot")]
    found = told(PLACE, [FIRST, node(2, "llm", at=30, messages=asked)])
    assert (calls(found)[0][0]["result"], found.steps[1]) == ("hot", {"reply": {"ms": 10}})
    code = answer("print(1)")
    asked = [ask("Count."), code, ask("Observation:\n1")]
    first = node(1, "llm", at=1, messages=[ask("Count.")], reply=[code])
    assert told(PLACE, [first, node(2, "llm", at=30, messages=asked)]).steps[1]["nudge"] == (
        "Observation:\n1"
    )


def test_ids_that_recur_belong_to_the_newest_call() -> None:
    asked = [ask("Boil water."), HEAT, back("c1", "one")]
    again = node(2, "llm", at=30, messages=asked, reply=[HEAT])
    last = node(3, "llm", at=50, messages=[*asked, HEAT, back("c1", "two")])
    found = calls(told(PLACE, [FIRST, again, last]))
    assert [call["result"] for step in found for call in step] == ["one", "two"]


# -- what cannot be told -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "runs: run 1: holds no model call; found spans: none"),
        ([ROOT, heat(), heat(3)], "holds no model call; found spans: 1 agent, 2 tool"),
        (
            [node(1, "llm", reply=[{"role": "cook"}])],
            "run 1, llm, reply 1: key 'role': found 'cook'",
        ),
        ([node(1, "llm", messages=[7])], "run 1, llm, message 1: must be an object"),
    ],
)
def test_what_cannot_be_told(nodes: list[Node], words: str) -> None:
    with pytest.raises(ImportFormatError) as caught:
        told(PLACE, nodes)
    assert words in str(caught.value)


def test_parents_in_a_ring_end() -> None:
    ring = [node(1, "agent", 2), node(2, "agent", 1), node(3, "llm", 1, reply=[answer("x")])]
    assert len(told(PLACE, ring).steps) == 1
