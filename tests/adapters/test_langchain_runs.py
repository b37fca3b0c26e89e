"""LangChain's ``create_agent``: people who answer for a tool, and tools that raise."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from harness import LoopGuard
from harness.adapters.langchain import GuardMiddleware
from harness.clock import VirtualClock
from tests.adapters.replays import GOAL, replayed
from tests.adapters.test_langchain import Scripted, run_tests, says

THREAD: Any = {"configurable": {"thread_id": "1"}}
ORDERS = pytest.mark.parametrize("first", [True, False], ids=["guard first", "guard last"])


def lint(path: str) -> str:
    """Look at one file."""
    return f"{path}: fine"


class Person(HumanInTheLoopMiddleware):
    """Is asked before tests run."""

    def __init__(self) -> None:
        super().__init__(interrupt_on={"run_tests": {"allowed_decisions": ["respond", "reject"]}})


class Speaks(AgentMiddleware[Any, Any, Any]):
    """Says something behind the results of calls."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        behind = isinstance(state["messages"][-1], ToolMessage)
        return {"messages": [HumanMessage("Be brief.")]} if behind else None


def answered(
    guard: LoopGuard, decision: dict[str, Any], *script: Any, first: bool, clock: Any = None
) -> list[ToolMessage]:
    """What the tools said in a run in which a person is asked once and decides."""
    pair = [GuardMiddleware(guard), Person()]
    agent: Any = create_agent(
        Scripted(script=list(script)), [run_tests, lint],
        middleware=pair if first else pair[::-1], checkpointer=InMemorySaver(),
    )  # fmt: skip
    state = agent.invoke({"messages": [("user", GOAL)]}, THREAD)
    if clock is not None:
        clock.advance(1_800_000)
    if "__interrupt__" in state:
        state = agent.invoke(Command(resume={"decisions": [decision]}), THREAD)
    return [m for m in state["messages"] if isinstance(m, ToolMessage)]


@ORDERS
@pytest.mark.parametrize(
    ("decision", "status"),
    [
        ({"type": "respond", "message": "All pass."}, "success"),
        ({"type": "reject", "message": "Leave it."}, "error"),
    ],
    ids=["respond", "reject"],
)
def test_what_a_person_answers_for_a_tool(
    decision: dict[str, Any], status: str, first: bool
) -> None:
    clock = VirtualClock()
    guard = LoopGuard("balanced", goal=GOAL, clock=clock)
    (message,) = answered(guard, decision, says("", "a"), says("Bye."), first=first, clock=clock)
    assert message.status == status
    step = guard.recording()["steps"][0]
    assert [(call["result"], call["ok"]) for call in step["calls"]] == [
        (message.text, status == "success")
    ]
    assert (step["reply"]["ms"], step["idle_ms"]) == (0, 1_800_000)
    assert replayed(guard) == ("agent_finished", 2)


@ORDERS
def test_a_batch_over_the_budget_does_not_run_whoever_is_asked_first(first: bool) -> None:
    guard = LoopGuard("balanced", goal=GOAL, task={"limits": {"tool_budget": 2}})
    batch = says("", "a", "b", "c", tool="lint")
    batch.tool_calls[0]["name"] = "run_tests"
    decision = {"type": "reject", "message": "Leave it."}
    messages = answered(guard, decision, batch, says("Bye."), first=first)
    assert [m.text for m in messages[1:]] == ["refused: 3 calls asked for, 2 left of 2"] * 2
    assert [len(step["calls"]) for step in guard.recording()["steps"]] == [int(first), 0]
    assert replayed(guard) == ("agent_finished", 2)


def test_a_tool_that_raises_is_a_failed_call_of_its_turn() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    model = Scripted(script=[says("Again.", "a", "lost.py")])
    agent: Any = create_agent(model, [run_tests], middleware=[GuardMiddleware(guard)])
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            agent.invoke({"messages": [("user", GOAL)]})
    agent.invoke({"messages": [("user", GOAL)]})
    assert (len(model.asked), replayed(guard)) == (3, ("spin", 3))
    calls = [(c.get("result"), c["ok"]) for c in guard.recording()["steps"][0]["calls"]]
    assert calls == [(None, False), ("FileNotFoundError: no such file", False)]


@pytest.mark.parametrize("options", [{}, {"checkpointer": InMemorySaver()}], ids=["alone", "saved"])
def test_a_reply_behind_which_the_graphs_own_limit_falls_is_taken_in(
    options: dict[str, Any],
) -> None:
    # The guard's hooks are nodes of their own: the second of two steps is the model.
    limited: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 2}
    guard = LoopGuard("balanced", goal=GOAL)
    model = Scripted(script=[says("Again.", "lost.py")])
    agent: Any = create_agent(model, [run_tests], middleware=[GuardMiddleware(guard)], **options)
    for number in range(3):
        with pytest.raises(GraphRecursionError):
            agent.invoke({"messages": [("user", GOAL)]}, limited)
        assert (len(model.asked), len(guard.recording()["steps"])) == (number + 1, number)
    agent.invoke({"messages": [("user", GOAL)]}, limited)
    assert (len(model.asked), replayed(guard)) == (3, ("spin", 3))
    assert [step["calls"][0]["ok"] for step in guard.recording()["steps"]] == [False] * 3


def test_a_reply_that_other_middleware_sends_back_is_a_turn() -> None:
    class Refuses(AgentMiddleware[Any, Any, Any]):
        """Sends the first reply back, before the guard sees what comes of it."""

        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if len(state["messages"]) > 2:
                return None
            return {"messages": [HumanMessage("Shorter.")], "jump_to": "model"}

    guard = LoopGuard("balanced", goal=GOAL)
    model = Scripted(script=[says("A long story."), says("Bye.")])
    create_agent(model, [run_tests], middleware=[GuardMiddleware(guard), Refuses()]).invoke(
        {"messages": [("user", GOAL)]}
    )
    first, second = guard.recording()["steps"]
    assert (first["reply"]["text"], second["reply"]["text"]) == ("A long story.", "Bye.")
    assert (second["nudge"], second.get("user")) == ("Shorter.", None)


def test_what_other_middleware_says_behind_the_results_is_no_new_run() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    model = Scripted(script=[says("", "a"), says("Bye.")])
    create_agent(model, [run_tests], middleware=[Speaks(), GuardMiddleware(guard)]).invoke(
        {"messages": [("user", GOAL)]}
    )
    first, second = guard.recording()["steps"]
    assert [(call["result"], call["ok"]) for call in first["calls"]] == [("a: 3 passed", True)]
    assert (second["nudge"], second.get("user")) == ("Be brief.", None)
    assert replayed(guard) == ("agent_finished", 2)
