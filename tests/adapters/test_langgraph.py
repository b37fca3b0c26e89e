"""LangGraph: the guard's node decides where the run goes, and its recording decides the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from harness import HarnessError, LoopGuard
from harness.adapters.langgraph import add_guard
from harness.guards.spin import Spin
from tests.adapters.replays import GOAL, replayed
from tests.examples import preset

USAGE = {
    "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
    "input_token_details": {"cache_read": 64, "cache_creation": 6},
    "output_token_details": {"reasoning": 5},
}  # fmt: skip


def says(text: str, *paths: str) -> AIMessage:
    """A reply that runs the tests of these paths."""
    calls = [
        {"name": "run_tests", "args": {"path": path}, "id": f"{path}-{n}"}
        for n, path in enumerate(paths)
    ]
    about = {"model_name": "gpt-4o-mini", "finish_reason": "tool_calls" if calls else "stop"}
    return AIMessage(text, tool_calls=calls, usage_metadata=USAGE, response_metadata=about)


def run_tests(path: str) -> str:
    """Run the tests of one file."""
    if path.startswith("lost"):
        raise FileNotFoundError("no such file")
    return f"{path}: 3 passed"


class Graph:
    """A graph whose model answers by a script, the last reply again and again."""

    def __init__(self, guard: LoopGuard, *script: AIMessage, **options: Any) -> None:
        self.script = list(script)
        self.asked: list[list[BaseMessage]] = []
        graph = StateGraph(MessagesState)
        graph.add_node("agent", self.call_model)
        graph.add_node("tools", ToolNode([run_tests], handle_tool_errors=True))
        add_guard(graph, guard)
        self.compiled = graph.compile(**options)

    def call_model(self, state: MessagesState) -> dict[str, Any]:
        self.asked.append(list(state["messages"]))
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return {"messages": [reply.model_copy()]}

    def run(self, text: str = GOAL, **options: Any) -> list[BaseMessage]:
        return self.compiled.invoke({"messages": [("user", text)]}, **options)["messages"]


@pytest.mark.parametrize(
    ("replies", "ending"),
    [
        ([says("Again.", "lost.py")], ("spin", 3)),
        ([says(f"Try {n}.", f"lost{n}.py") for n in range(9)], ("repeated_error", 4)),
    ],
    ids=["the same call", "the same error"],
)
def test_a_loop_that_fails_again_and_again_is_stopped(
    replies: Sequence[AIMessage], ending: tuple[str, int]
) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    messages = Graph(guard, *replies).run()
    assert replayed(guard) == ending
    assert isinstance(messages[-1], ToolMessage)
    (call,) = guard.recording()["steps"][0]["calls"]
    assert (call["tool"], call["ok"]) == ("run_tests", False)
    assert "no such file" in call["result"]


def test_it_ends_by_itself_and_is_counted() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    messages = Graph(guard, says("I run them.", "a.py"), says("They pass.")).run()
    assert messages[-1].text == "They pass."
    assert replayed(guard) == ("agent_finished", 2)
    first, second = guard.recording()["steps"]
    assert first["calls"] == [
        {"tool": "run_tests", "args": {"path": "a.py"}, "result": "a.py: 3 passed", "ok": True,
         "ms": 0}
    ]  # fmt: skip
    assert second["reply"]["model"] == "gpt-4o-mini"
    assert second["reply"]["usage"] == {
        "input": 30, "cache_read": 64, "cache_write": 6, "output": 15, "reasoning": 5,
    }  # fmt: skip


def test_a_batch_over_the_budget_does_not_run() -> None:
    guard = LoopGuard("balanced", goal=GOAL, task={"limits": {"tool_budget": 2}})
    script = [says("All.", "a", "b", "c", "d"), says("One.", "a"), says("Two.", "b")]
    messages = Graph(guard, *script).run()
    results = [m for m in messages if isinstance(m, ToolMessage)]
    assert [(m.status, m.text) for m in results[:4]] == [
        ("error", "refused: 4 calls asked for, 2 left of 2")
    ] * 4
    assert [m.text for m in results[4:]] == ["a: 3 passed", "b: 3 passed"]
    assert replayed(guard) == ("tool_budget", 3)
    assert guard.recording()["steps"][1]["nudge"] == "refused: 4 calls asked for, 2 left of 2"


def test_a_nudge_reaches_the_model() -> None:
    warns = preset(spin=Spin(threshold=2, on_fire=("nudge", "stop")))
    guard = LoopGuard(warns, goal=GOAL)
    graph = Graph(guard, says("Again.", "lost.py"))
    graph.run()
    assert [prompt[-1].text for prompt in graph.asked if prompt[-1].type == "human"] == [
        GOAL, "Warning (spin): spin.",
    ]  # fmt: skip
    assert replayed(guard, warns)[0] == "spin"


def test_the_work_order_is_renewed_and_does_not_pile_up() -> None:
    guard = LoopGuard("engine", goal=GOAL, task={"limits": {"max_iterations": 3}})
    graph = Graph(guard, *(says(f"Try {n}.", f"{n}.py") for n in range(9)))
    graph.run()
    for number, prompt in enumerate(graph.asked, 1):
        orders = [m.text for m in prompt if m.text.startswith("Work order")]
        assert len(orders) == 1
        assert orders[0].startswith(f"Work order: iteration {number} of 3")
        assert prompt[-1].text == orders[0]
    assert replayed(guard, "engine") == ("max_iterations", 3)


def test_a_paused_conversation_goes_on_with_the_next_message() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    asks = says("Unit tests or all tests? Which of the two do you want me to run?")
    graph = Graph(guard, says("", "a.py"), asks, says("All pass."), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    graph.run(config=thread)
    assert (guard.decision.exit, guard.episode().status) == ("awaiting_user", "paused")
    messages = graph.run("All of them, please.", config=thread)
    assert messages[-1].text == "All pass."
    assert guard.recording()["steps"][2]["user"] == "All of them, please."
    assert replayed(guard) == ("agent_finished", 3)


def test_a_loop_that_ended_for_good_does_not_go_on() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Graph(guard, says("Again.", "lost.py"))
    graph.run()
    with pytest.raises(HarnessError, match="ended for good, with spin"):
        graph.run()


def test_it_is_the_same_under_asyncio() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Graph(guard, says("Again.", "lost.py"))
    asyncio.run(graph.compiled.ainvoke({"messages": [("user", GOAL)]}))
    assert replayed(guard) == ("spin", 3)
