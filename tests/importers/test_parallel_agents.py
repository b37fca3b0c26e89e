"""Agents that run at the same time: whose call a result answers, and to whom a call belongs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers._spans.node import Node
from harness.importers._spans.parted import parted
from harness.importers._spans.tree import told
from harness.importers.otlp import grouped, spans_from
from tests.importers.otlp_requests import (
    PLACE,
    answer,
    ask,
    back,
    node,
    read,
    request,
    span,
)

GOALS = ("hotel", "flight")


def agents(
    ids: tuple[Any, Any], told_by: str, *, apart: bool = True, at: int = 1, spans: bool = True
) -> list[Node]:
    """Two agents that both ask for ``web``: what they are told stands in spans, messages or both.

    Args:
        ids: Of their calls.
        told_by: ``span`` or ``message``: where the result stands.
        apart: They do not start at the same time.
        spans: Each has a span of its own.
    """
    found = [node(0, "agent", None, end=200)]
    for k, goal in enumerate(GOALS):
        own, start = 10 * (k + 1), at + k * apart
        wanted = answer("", (ids[k], "web", f'{{"for": "{goal}"}}'))
        within = {"parent": own if spans else 0}
        history = [ask(f"find {goal}"), wanted, back(ids[k], f"{goal} found")]
        found += [node(own, "agent", at=start, end=start + 90)] if spans else []
        found += [node(own + 1, "llm", at=start + 1, messages=history[:1], reply=[wanted],
                       **within)]  # fmt: skip
        if told_by == "span":
            found += [node(own + 2, "tool", at=start + 20, tool="web", args={"for": goal},
                           result=f"{goal} found", **within)]  # fmt: skip
        else:
            found += [node(own + 3, "llm", at=start + 40, messages=history, reply=[answer("ok")],
                           **within)]  # fmt: skip
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("told_by", ["span", "message"])
@pytest.mark.parametrize("ids", [("a", "b"), ("call_0", "call_0"), (None, None)])
def test_each_call_has_its_own_result(
    ids: tuple[Any, Any], told_by: str, apart: bool, seed: int
) -> None:
    nodes = agents(ids, told_by, apart=apart)
    random.Random(seed).shuffle(nodes)  # noqa: S311 - to be the same each time
    calls = [call for step in told(PLACE, nodes).steps for call in step.get("calls", ())]
    assert {call["args"]["for"]: call["result"] for call in calls} == {
        goal: f"{goal} found" for goal in GOALS
    }


@pytest.mark.parametrize(("ids", "told_by"), [(("a", "b"), "span"), (("c", "c"), "message")])
def test_without_spans_of_the_agents(ids: tuple[str, str], told_by: str) -> None:
    nodes = agents(ids, told_by, spans=False)
    calls = [call for step in told(PLACE, nodes).steps for call in step.get("calls", ())]
    assert [call["result"] for call in calls] == ["hotel found", "flight found"]


def test_an_older_result_is_not_told_to_another_agent_again() -> None:
    """The history of one agent repeats its result while the other's call of that id waits."""
    wanted = answer("", ("call_0", "web", "{}"))
    history = [ask("find hotel"), wanted, back("call_0", "hotel found"), answer("and?")]
    nodes = [
        node(0, "other", None, end=200),
        node(1, "llm", at=1, messages=history[:1], reply=[wanted]),
        node(2, "llm", at=20, messages=history[:3], reply=[answer("and?")]),
        node(3, "llm", at=40, messages=[ask("find flight")], reply=[wanted]),
        node(4, "llm", at=60, messages=history, reply=[answer("done")]),
    ]
    steps = told(PLACE, nodes).steps
    assert [step["calls"][0].get("result") for step in steps if "calls" in step] == [
        "hotel found",
        None,
    ]


def test_an_execution_that_nobody_asked_for_stays_with_its_agent() -> None:
    nodes = [
        node(0, "agent", None, end=200),
        node(10, "agent", at=1, end=90),
        node(20, "agent", at=2, end=90),
        node(11, "llm", 10, at=3),
        node(21, "llm", 20, at=4),
        node(12, "tool", 10, at=20, tool="web", result="hotel found"),
    ]
    assert [step.get("calls") for step in told(PLACE, nodes).steps] == [
        [{"tool": "web", "result": "hotel found", "ok": True, "ms": 10}],
        None,
    ]


@pytest.mark.parametrize(
    ("made", "given", "results"),
    [
        pytest.param(["fc_0"], ["call_0"], ["0"], id="one call, another id"),
        pytest.param(["fc_0", "fc_1"], ["call_0", "call_1"], ["0", "1"], id="two, in order"),
        pytest.param(["fc_0", "fc_1"], ["call_0"], [None, None], id="which of them?"),
        pytest.param(["fc_0"], ["fc_0"], ["0"], id="the same id"),
    ],
)
def test_results_under_ids_that_no_call_has(
    made: list[str], given: list[str], results: list[str | None]
) -> None:
    wanted = answer("", *((own, "look", "{}") for own in made))
    brought = [back(own, str(n)) for n, own in enumerate(given)]
    nodes = [
        node(0, "agent", None, end=200),
        node(1, "llm", at=1, messages=[ask("go")], reply=[wanted]),
        node(2, "llm", at=20, messages=[ask("go"), wanted, *brought], reply=[answer("fin")]),
    ]
    first, _ = told(PLACE, nodes).steps
    assert [call.get("result") for call in first["calls"]] == results


def loop(
    goal: str, first: int, at: int, *, tools: bool = False, parent: int | None = 1
) -> list[dict[str, Any]]:
    """An agent of three model calls that takes 10 ms for each."""
    history: list[Any] = [ask(goal)]
    found = []
    for turn in range(3):
        own = f"{first}.{turn}"
        made = answer("", (own, "look", f'{{"at": {turn}}}')) if turn < 2 else answer("fin")
        about = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": dumped(history),
                 "gen_ai.output.messages": dumped([made])}  # fmt: skip
        found.append(span(first + turn, about, parent=parent, at=at + 20 * turn))
        if tools and turn < 2:
            done = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
                    "gen_ai.tool.call.id": own, "gen_ai.tool.call.result": goal}  # fmt: skip
            found.append(span(first + 5 + turn, done, parent=parent, at=at + 12 + 20 * turn, ms=3))
        history += [made, back(own, goal)]
    return found


def dumped(value: Any) -> str:
    return json.dumps(value)


BATCH = span(1, {"job": "batch"}, ms=900, name="batch")
AGENT = span(1, {"gen_ai.operation.name": "invoke_agent"}, ms=900)
EQUAL = [made for n in range(4) for made in loop("best of n", 10 * n + 10, n)]
OTHER = [made for n in range(3) for made in loop(f"goal {n}", 10 * n + 10, n, tools=True)]


@pytest.mark.parametrize(
    ("spans", "steps"),
    [
        pytest.param([BATCH, *EQUAL], [3, 3, 3, 3], id="equal goals"),
        pytest.param([BATCH, *OTHER], [3, 3, 3], id="other goals, tools traced"),
        pytest.param([AGENT, *EQUAL], [12], id="an agent's span"),
        pytest.param([BATCH, *loop("a", 10, 0), *loop("b", 20, 100)], [6], id="one after another"),
        pytest.param([BATCH, *loop("a", 10, 0), *loop("a", 20, 10)], [6], id="never at once"),
        pytest.param([BATCH, *loop("a", 10, 0), *loop("b", 20, 5)[:1]], [4], id="one call beside"),
        pytest.param([BATCH, *loop("a", 10, 0)], [3], id="one agent"),
    ],
)
def test_agents_at_the_same_time_under_a_plain_span(
    write_json: Callable[..., Path], spans: list[dict[str, Any]], steps: list[int]
) -> None:
    found = read(write_json(request(*spans)))
    assert [len(one["steps"]) for one in found] == steps
    assert [one["id"].rpartition("/")[2].partition("-")[2] for one in found] == [
        "", *(str(n) for n in range(2, len(steps) + 1)),
    ]  # fmt: skip
    in_memory = grouped(spans_from(request(*spans)))
    assert [len(one) for one in in_memory.values()] == [
        len(one) for one in parted(spans_from(request(*spans)))
    ]
    assert len(in_memory) == len(steps)


def test_results_of_parted_agents_are_their_own(write_json: Callable[..., Path]) -> None:
    found = read(write_json(request(BATCH, *OTHER)))
    assert [
        (one["goal"], {call["result"] for step in one["steps"] for call in step.get("calls", ())})
        for one in found
    ] == [(f"goal {n}", {f"goal {n}"}) for n in range(3)]
