"""LangGraph: runs that break off, are interrupted, or run side by side."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from harness import HarnessError, LoopGuard
from harness.adapters.langgraph import add_guard
from harness.clock import VirtualClock
from tests.adapters.replays import GOAL, replayed
from tests.adapters.test_langgraph import Graph, run_tests, says

THREAD: Any = {"configurable": {"thread_id": "1"}}


def ask(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


class Breaking(Graph):
    """A graph whose tools break off the run, or interrupt it."""

    def __init__(self, guard: LoopGuard, *script: AIMessage, **options: Any) -> None:
        self.script = list(script)
        self.asked = []
        self.options = options
        graph = StateGraph(MessagesState)
        graph.add_node("agent", self.call_model)
        graph.add_node("tools", ToolNode([run_tests, ask], handle_tool_errors=False))
        add_guard(graph, guard)
        self.compiled = graph.compile(**options)

    def again(self, guard: LoopGuard) -> Breaking:
        """The same graph and conversation in another process."""
        found = Breaking(guard, *self.script, **self.options)
        found.asked = self.asked
        return found

    def call_model(self, state: MessagesState) -> dict[str, Any]:
        (reply,) = super().call_model(state)["messages"]
        return {"messages": [reply.model_copy(update={"id": f"reply-{len(self.asked)}"})]}


def saved(guard: LoopGuard) -> LoopGuard:
    """The guard in another process."""
    return LoopGuard.restore(json.loads(json.dumps(guard.state())))


def steps(guard: LoopGuard) -> list[tuple[list[Any], str | None]]:
    """Of each step: how its calls ended, and what a person said before it."""
    return [
        ([(c.get("result"), c.get("ok")) for c in step["calls"]], step.get("user"))
        for step in guard.recording()["steps"]
    ]


@pytest.mark.parametrize("options", [{}, {"checkpointer": InMemorySaver()}], ids=["alone", "saved"])
def test_a_run_that_breaks_off_again_and_again_is_stopped(options: dict[str, Any]) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Breaking(guard, says("Again.", "lost.py"), **options)
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            graph.run(config=THREAD)
    # The end of the loop is decided before the model is asked again.
    graph.run(config=THREAD)
    assert (len(graph.asked), replayed(guard)) == (3, ("spin", 3))
    assert steps(guard) == [([(None, False)], None)] * 3
    with pytest.raises(HarnessError, match="ended for good, with spin"):
        graph.run(config=THREAD)


def test_other_words_after_a_run_that_broke_off_are_a_persons() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Breaking(guard, says("", "lost.py"), says("Bye."))
    with pytest.raises(FileNotFoundError):
        graph.run()
    graph.run("Leave it.")
    assert steps(guard) == [([(None, False)], None), ([], "Leave it.")]
    assert replayed(guard) == ("agent_finished", 2)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in other processes"])
def test_a_reply_behind_which_the_graphs_own_limit_falls_is_taken_in(elsewhere: bool) -> None:
    # Of two steps, the guard's node has one and the agent's the other.
    limited = {**THREAD, "recursion_limit": 2}
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Breaking(guard, says("Again.", "lost.py"), checkpointer=InMemorySaver())
    for number in range(3):
        with pytest.raises(GraphRecursionError):
            graph.run(config=limited)
        assert len(guard.recording()["steps"]) == number
        if elsewhere:
            guard = saved(guard)
            graph = graph.again(guard)
    graph.run(config=limited)
    assert (len(graph.asked), replayed(guard)) == (3, ("spin", 3))
    assert steps(guard) == [([(None, False)], None)] * 3


def test_an_answer_behind_which_the_graphs_own_limit_falls_is_taken_in() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Breaking(guard, says("Done."), says("Bye."), checkpointer=InMemorySaver())
    with pytest.raises(GraphRecursionError):
        graph.run(config={**THREAD, "recursion_limit": 2})
    graph.run("Thanks.", config=THREAD)
    assert [step["reply"]["text"] for step in guard.recording()["steps"]] == ["Done.", "Bye."]
    assert steps(guard) == [([], None), ([], "Thanks.")]
    assert replayed(guard) == ("agent_finished", 2)


@pytest.mark.parametrize("rebuilt", [False, True], ids=["with its ids", "made anew"])
def test_an_old_reply_is_not_taken_in_twice(rebuilt: bool) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    graph = Breaking(guard, says("Hello."))
    history: list[Any] = graph.run()
    if rebuilt:
        history = [("user", GOAL), ("ai", "Hello.")]
    asked = {"messages": [*history, ("user", "And now?")]}
    graph.script = []
    with pytest.raises(IndexError):  # the model fails: no reply is due
        graph.compiled.invoke(asked)
    graph.script = [says("Bye.")]
    graph.compiled.invoke(asked)
    assert [step["reply"]["text"] for step in guard.recording()["steps"]] == ["Hello.", "Bye."]
    assert steps(guard) == [([], None), ([], "And now?")]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
def test_a_persons_word_before_an_interrupt_is_known_wherever_it_goes_on(elsewhere: bool) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    calls: Any = [{"name": "ask", "args": {"question": "May I?"}, "id": "c1"}]
    script = [says("Hello."), AIMessage("", tool_calls=calls), says("Bye.")]
    graph = Breaking(guard, *script, checkpointer=InMemorySaver())
    graph.run(config=THREAD)
    graph.run("never mind", config=THREAD)
    if elsewhere:
        guard = saved(guard)
        graph = graph.again(guard)
    graph.compiled.invoke(Command(resume="Yes."), THREAD)
    assert steps(guard) == [([], None), ([("Yes.", True)], "never mind")]
    assert replayed(guard) == ("goal_changed", 2)


def test_the_same_prompt_in_another_process_is_the_same_request() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    for _ in range(2):
        graph = Breaking(guard, says("", "a.py"), says("", "lost.py"))
        with pytest.raises(FileNotFoundError):
            graph.run()
        guard = saved(guard)
    assert [user for _, user in steps(guard)] == [None, None]


def test_the_wait_of_an_interrupt_is_idle_time() -> None:
    clock = VirtualClock()
    guard = LoopGuard("balanced", goal=GOAL, clock=clock)
    calls: Any = [{"name": "ask", "args": {"question": "May I?"}, "id": "c1"}]
    graph = Breaking(
        guard, AIMessage("", tool_calls=calls), says("Bye."), checkpointer=InMemorySaver()
    )
    graph.run(config=THREAD)
    clock.advance(1_800_000)
    graph.compiled.invoke(Command(resume="Yes."), THREAD)
    first, second = guard.recording()["steps"]
    assert (first["reply"]["ms"], first["idle_ms"], second["reply"]["ms"]) == (0, 1_800_000, 0)
    assert steps(guard) == [([("Yes.", True)], None), ([], None)]
    assert replayed(guard) == ("agent_finished", 2)


def test_the_wait_between_two_runs_is_idle_time() -> None:
    clock = VirtualClock()
    guard = LoopGuard("balanced", goal=GOAL, clock=clock)
    graph = Breaking(guard, says("Hello."), says("Bye."), checkpointer=InMemorySaver())
    graph.run(config=THREAD)
    clock.advance(43_200_000)
    graph.run("And now?", config=THREAD)
    _, second = guard.recording()["steps"]
    assert (second["reply"]["ms"], second["idle_ms"]) == (0, 43_200_000)


def test_a_guard_in_two_runs_at_once_is_refused() -> None:
    async def both(graph: Graph) -> list[Any]:
        runs = [graph.compiled.ainvoke({"messages": [("user", text)]}) for text in "AB"]
        return await asyncio.gather(*runs, return_exceptions=True)

    guard = LoopGuard("balanced", goal=GOAL)
    script = [*(says("", f"{n}.py") for n in range(6)), says("Bye.")]
    found = asyncio.run(both(Breaking(guard, *script)))
    (error,) = [each for each in found if isinstance(each, Exception)]
    assert isinstance(error, HarnessError)
    assert str(error).startswith("guard: in two runs at once")
    assert replayed(guard)[0] == "agent_finished"
