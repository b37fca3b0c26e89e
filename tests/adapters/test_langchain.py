"""LangChain's ``create_agent``: the middleware ends the agent; the recording agrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel, Field

from harness import LoopGuard
from harness.adapters.langchain import GuardMiddleware
from harness.guards.spin import Spin
from tests.adapters.replays import GOAL, replayed
from tests.examples import preset


class Report(BaseModel):
    """A structured answer."""

    passed: int


class Scripted(BaseChatModel):
    """Answers by a script, the last reply again and again, and keeps what it was asked."""

    script: list[AIMessage]
    asked: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.asked.append(list(messages))
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy())])


def says(text: str, *paths: str, tool: str = "run_tests", key: str = "path") -> AIMessage:
    """A reply that runs the tests of these paths."""
    calls = [{"name": tool, "args": {key: path}, "id": f"{path}-{n}"}
             for n, path in enumerate(paths)]  # fmt: skip
    about = {"model_name": "gpt-4o-mini", "finish_reason": "tool_calls" if calls else "stop"}
    return AIMessage(text, tool_calls=calls, response_metadata=about)


def run_tests(path: str) -> str:
    """Run the tests of one file."""
    if path.startswith("lost"):
        raise FileNotFoundError("no such file")
    return f"{path}: 3 passed"


@wrap_tool_call
def told(request: Any, handler: Any) -> Any:
    """A tool that raises is told to the model."""
    try:
        return handler(request)
    except FileNotFoundError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


def run(guard: LoopGuard, *script: AIMessage, **options: Any) -> tuple[dict[str, Any], Scripted]:
    model = Scripted(script=list(script))
    agent = create_agent(model, [run_tests], middleware=[GuardMiddleware(guard), told], **options)
    return agent.invoke({"messages": [("user", GOAL)]}), model


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ([says("Again.", "lost.py")], ("spin", 3)),
        ([says(f"Try {n}.", f"lost{n}.py") for n in range(9)], ("repeated_error", 4)),
        ([says("I run them.", "a.py"), says("They pass.")], ("agent_finished", 2)),
    ],
    ids=["the same call", "the same error", "ends by itself"],
)
def test_a_loop_ends(script: list[AIMessage], ending: tuple[str, int]) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    _, model = run(guard, *script)
    assert replayed(guard) == ending
    assert len(model.asked) == ending[1]


def test_a_batch_over_the_budget_does_not_run() -> None:
    guard = LoopGuard("balanced", goal=GOAL, task={"limits": {"tool_budget": 2}})
    script = [says("All.", "a", "b", "c", "d"), says("One.", "a"), says("Two.", "b")]
    state, _ = run(guard, *script)
    results = [m.text for m in state["messages"] if isinstance(m, ToolMessage)]
    refused = "refused: 4 calls asked for, 2 left of 2"
    assert results == [refused] * 4 + ["a: 3 passed", "b: 3 passed"]
    assert replayed(guard) == ("tool_budget", 3)


def test_a_nudge_reaches_the_model() -> None:
    warns = preset(spin=Spin(threshold=2, on_fire=("nudge", "stop")))
    guard = LoopGuard(warns, goal=GOAL)
    _, model = run(guard, says("Again.", "lost.py"))
    assert [m.text for m in model.asked[2] if m.type == "human"] == [GOAL, "Warning (spin): spin."]
    assert replayed(guard, warns) == ("spin", 3)


def test_a_structured_answer_is_what_was_said_and_a_broken_one_is_a_failed_call() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    script = [says("", value, tool="Report", key="passed") for value in ("many", "3")]
    state, _ = run(guard, *script, response_format=ToolStrategy(Report))
    assert state["structured_response"] == Report(passed=3)
    first, second = guard.recording()["steps"]
    assert [(call["tool"], call["ok"]) for call in first["calls"]] == [("Report", False)]
    assert (second["reply"]["text"], second["calls"]) == ('{"passed": "3"}', [])
    assert replayed(guard) == ("agent_finished", 2)
