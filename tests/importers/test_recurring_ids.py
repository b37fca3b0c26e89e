"""Calls whose ids recur, of one agent or of several: each has its own result, or none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.importers._spans.node import Node
from harness.importers._spans.tree import told
from tests.importers.otlp_requests import PLACE, answer, ask, back, node, read, request, span

AGENT = {"gen_ai.operation.name": "invoke_agent"}
#: What a run asked for, by the text of the reply: arguments and result of each call.
Truth = dict[str, list[tuple[str, str]]]


def wants(**args: Any) -> dict[str, Any]:
    return answer("", ("call_0", args.pop("tool", "web"), json.dumps(args)))


def results(nodes: Sequence[Node]) -> list[Any]:
    """Of all calls, in order."""
    return [
        call.get("result") for step in told(PLACE, nodes).steps for call in step.get("calls", ())
    ]


@pytest.mark.parametrize("inside", [True, False], ids=["sub traced", ""])
@pytest.mark.parametrize("around", [True, False], ids=["delegate traced", ""])
@pytest.mark.parametrize("goal", ["go", "look it up"], ids=["the same goal", "its own goal"])
def test_an_agent_within_an_agent(inside: bool, around: bool, goal: str) -> None:
    asked, web = wants(tool="delegate", to="sub"), wants(q=1)
    nodes = [
        node(1, "agent", None, end=100),
        node(2, "llm", 1, at=1, end=5, messages=[ask("go")], reply=[asked]),
        node(4, "agent", 3 if around else 1, at=7, end=59),
        node(5, "llm", 4, at=8, end=12, messages=[ask(goal)], reply=[web]),
        node(7, "llm", 4, at=16, end=20, messages=[ask(goal), web, back("call_0", "found")],
             reply=[answer("sub done")]),
        node(8, "llm", 1, at=70, messages=[ask("go"), asked, back("call_0", "sub done")],
             reply=[answer("done")]),
    ]  # fmt: skip
    if around:
        nodes.append(node(3, "tool", 1, at=6, end=60, tool="delegate", call_id="call_0",
                          args={"to": "sub"}, result="sub done"))  # fmt: skip
    if inside:
        nodes.append(node(6, "tool", 4, at=13, end=15, tool="web", call_id="call_0",
                          args={"q": 1}, result="found"))  # fmt: skip
    assert results(nodes) == ["sub done", "found"]


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("again", [1, 2], ids=["the same call again", "another call"])
def test_a_call_that_nobody_answered_does_not_get_an_older_result(traced: bool, again: int) -> None:
    first, second = wants(q=1), wants(q=again)
    history = [ask("go"), first, back("call_0", "one")]
    nodes = [
        node(1, "agent", None, end=100),
        node(2, "llm", 1, at=1, end=5, messages=history[:1], reply=[first]),
        node(4, "llm", 1, at=8, end=9, messages=history, reply=[second]),
        node(5, "llm", 1, at=20, messages=[*history, ask("go on")], reply=[answer("end")]),
    ]
    if traced:
        nodes.append(node(3, "tool", 1, at=6, end=7, tool="web", call_id="call_0",
                          args={"q": 1}, result="one"))  # fmt: skip
    assert results(nodes) == ["one", None]


ONE, OTHER = ([wants(q=1), back("call_0", text)] for text in ("ok", "no"))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param([ONE, ONE * 2, ONE * 3], ["ok", "ok", "ok", None], id="equal results"),
        pytest.param([ONE, ONE + OTHER, OTHER * 2], ["ok", "no", "no", None], id="the newest"),
        pytest.param([ONE, ONE * 2, ONE], ["ok", "ok", None, None], id="dropped"),
        # The third is told what the second was: that its call was answered alike, nobody says.
        pytest.param([ONE, ONE], ["ok", None, None], id="only the newest, and it is equal"),
    ],
)
def test_what_a_call_was_asked_with_is_not_its_result(
    shown: list[Any], expected: list[str | None]
) -> None:
    nodes = [node(1, "agent", None, end=100)]
    nodes += [
        node(n + 2, "llm", 1, at=20 * n, messages=[ask("go"), *history], reply=[wants(q=1)])
        for n, history in enumerate([[], *shown])
    ]
    assert results(nodes) == expected


@pytest.mark.parametrize("traced", ["AB", "A", "B", ""])
def test_two_loops_at_once_under_a_plain_span(write_json: Callable[..., Path], traced: str) -> None:
    spans = [span(1, {"job": "plan"}, ms=1000)]
    for own, goal, at, then, ms in ((10, "A", 0, 17, 5), (20, "B", 2, 45, 30)):
        asked = wants(q=goal)
        history = [ask(goal), asked, back("call_0", f"for {goal}")]
        spans.append(chat(own, history[:1], asked, parent=1, at=at))
        spans.append(chat(own + 2, history, answer("fin"), parent=1, at=then))
        if goal in traced:
            spans.append(tool(own + 1, "call_0", {"q": goal}, f"for {goal}",
                              parent=1, at=at + 11, ms=ms))  # fmt: skip
    assert [
        [call["result"] for step in one["steps"] for call in step.get("calls", ())]
        for one in read(write_json(request(*spans)))
    ] == [["for A"], ["for B"]]


def chat(number: int, asked: list[Any], reply: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps([reply]),
    }
    return span(number, about, **more)


def tool(number: int, call_id: str, args: Any, result: str, **more: Any) -> dict[str, Any]:
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "web",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": json.dumps(args),
        "gen_ai.tool.call.result": result,
    }
    return span(number, about, **more)


def made_up(rng: random.Random) -> tuple[list[dict[str, Any]], Truth]:
    """One to three agents at once, of which some executions are traced, and what is true."""
    top = rng.choice(["plain", "agents", "agents within one", "one agent"])
    # Within one agent's span, talks that begin alike are one.
    goals = rng.choice(["abc", "aaa" if top != "one agent" else "abc"])
    # Arguments tell whose a call is, or only what its conversation says later on.
    alike = rng.random() < 0.5
    share = rng.choice([0.0, 0.8])
    found = [span(1, AGENT if "one" in top else {"job": "batch"}, ms=10_000)]
    truth: Truth = {}
    for agent in range(rng.randint(1, 3)):
        at, parent = rng.randint(0, 5), 1
        if top.startswith("agents"):
            parent = len(found) + 1
            found.append(span(parent, AGENT, parent=1, at=at, ms=9000))
        history: list[Any] = [ask(goals[agent])]
        for turn in reversed(range(rng.randint(2, 4))):
            name = f"{agent}.{turn}"
            wanted = [
                (f"call_{n}" if rng.random() < 0.8 else f"{name}.{n}",
                 {"n": n, "of": 0 if alike else agent})
                for n in range(rng.randint(1, 3) if turn else 0)
            ]  # fmt: skip
            reply = answer(name, *((own, "web", json.dumps(args)) for own, args in wanted))
            ms = rng.randint(5, 20)
            found.append(chat(len(found) + 1, history[:], reply, parent=parent, at=at, ms=ms))
            at += ms + 1
            told_by = {own: f"{name}, {own}" for own, _ in wanted}
            history += [reply, *(back(own, text) for own, text in told_by.items())]
            truth[name] = [(json.dumps(args), told_by[own]) for own, args in wanted]
            for own, args in rng.sample(wanted, len(wanted)):
                if rng.random() < share:
                    ms = rng.randint(1, 5)
                    found.append(tool(len(found) + 1, own, args, told_by[own],
                                      parent=parent, at=at, ms=ms))  # fmt: skip
                    at += ms
            at += 1
    rng.shuffle(found)
    return found, truth


@pytest.mark.parametrize("seed", range(100))
def test_every_call_has_its_own_result(write_json: Callable[..., Path], seed: int) -> None:
    spans, truth = made_up(random.Random(seed))  # noqa: S311 - to be the same each time
    assert {
        step["reply"]["text"]: [
            (json.dumps(call["args"]), call.get("result")) for call in step.get("calls", ())
        ]
        for one in read(write_json(request(*spans)))
        for step in one["steps"]
    } == truth
