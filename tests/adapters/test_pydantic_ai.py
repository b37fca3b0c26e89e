"""pydantic-ai: the capability stops a run before its next request; the recording agrees."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from harness import HarnessError, LoopGuard
from harness.adapters.pydantic_ai import Guarded, GuardStopped
from harness.guards.spin import Spin
from tests.adapters.replays import GOAL, replayed
from tests.examples import preset

USAGE = RequestUsage(
    input_tokens=100, output_tokens=20, cache_read_tokens=64, cache_write_tokens=6,
    output_reasoning_tokens=5,
)  # fmt: skip


class Report(BaseModel):
    """A structured answer."""

    passed: int


def says(text: str, *paths: str, tool: str = "run_tests") -> ModelResponse:
    """A reply that runs the tests of these paths."""
    calls = [ToolCallPart(tool, {"path": path}) for path in paths]
    finish: Any = "tool_call" if calls else "stop"
    return ModelResponse([TextPart(text), *calls], usage=USAGE, finish_reason=finish)


def run_tests(path: str) -> str:
    """Run the tests of one file."""
    if path.startswith("lost"):
        raise ToolFailed("no such file")
    if path.startswith("odd"):
        raise ModelRetry("another path, please")
    return f"{path}: 3 passed"


class Asked:
    """An agent whose model answers by a script, the last reply again and again."""

    def __init__(self, *script: ModelResponse, **options: Any) -> None:
        self.script = list(script)
        self.prompts: list[list[str]] = []
        model = FunctionModel(self.answer)
        self.agent: Any = Agent(model, tools=[run_tests], retries=9, **options)

    def answer(self, messages: Sequence[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [
            part for message in messages if message.kind == "request" for part in message.parts
        ]
        self.prompts.append([f"{p.part_kind}: {p.content}" for p in parts])
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return ModelResponse(
            [
                ToolCallPart(part.tool_name, part.args) if isinstance(part, ToolCallPart) else part
                for part in reply.parts
            ],
            usage=reply.usage, finish_reason=reply.finish_reason,
        )  # fmt: skip

    def run(self, guarded: Guarded, text: str = GOAL, **options: Any) -> Any:
        """What a run gives, or the stop that it raised."""
        try:
            return asyncio.run(self.agent.run(text, capabilities=[guarded], **options))
        except GuardStopped as stop:
            return stop


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ([says("Again.", "lost.py")], ("spin", 3)),
        ([says(f"Try {n}.", f"lost{n}.py") for n in range(9)], ("repeated_error", 4)),
        ([says(f"Try {n}.", f"odd{n}.py") for n in range(9)], ("repeated_error", 4)),
    ],
    ids=["the same call", "the same error", "the same request to try again"],
)
def test_a_loop_that_fails_again_and_again_is_stopped(
    script: list[ModelResponse], ending: tuple[str, int]
) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    asked = Asked(*script)
    stop = asked.run(Guarded(guard))
    assert isinstance(stop, GuardStopped)
    assert (stop.decision.exit, len(asked.prompts)) == ending
    assert str(stop) == guard.message
    assert replayed(guard) == ending
    (call,) = guard.recording()["steps"][0]["calls"]
    assert (call["tool"], call["ok"]) == ("run_tests", False)


def test_it_ends_by_itself_and_is_counted() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    result = Asked(says("I run them.", "a.py"), says("They pass.")).run(Guarded(guard))
    assert result.output == "They pass."
    assert replayed(guard) == ("agent_finished", 2)
    first, second = guard.recording()["steps"]
    assert first["calls"] == [
        {"tool": "run_tests", "args": {"path": "a.py"}, "result": "a.py: 3 passed", "ok": True,
         "ms": 0}
    ]  # fmt: skip
    assert second["reply"]["usage"] == {
        "input": 30, "cache_read": 64, "cache_write": 6, "output": 15, "reasoning": 5,
    }  # fmt: skip


def test_a_structured_answer_is_what_was_said_and_a_broken_one_is_a_failed_call() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    answers: list[dict[str, Any]] = [{"passed": "many"}, {"passed": 3}]
    broken, right = (ModelResponse([ToolCallPart("final_result", args)]) for args in answers)
    asked = Asked(says("I run them.", "a.py"), broken, right, output_type=Report)
    assert asked.run(Guarded(guard)).output == Report(passed=3)
    steps = guard.recording()["steps"]
    assert [[c["tool"] for c in s["calls"]] for s in steps] == [["run_tests"], ["final_result"], []]
    assert steps[1]["calls"][0]["ok"] is False
    assert steps[2]["reply"]["text"] == '{"passed":3}'
    assert replayed(guard) == ("agent_finished", 3)


def test_a_batch_over_the_budget_does_not_run() -> None:
    guard = LoopGuard("balanced", goal=GOAL, task={"limits": {"tool_budget": 2}})
    script = [says("All.", "a", "b", "c", "d"), says("One.", "a"), says("Two.", "b")]
    asked = Asked(*script)
    asked.run(Guarded(guard))
    refused = "refused: 4 calls asked for, 2 left of 2"
    assert asked.prompts[1][1:] == [f"tool-return: {refused}"] * 4
    assert replayed(guard) == ("tool_budget", 3)
    steps = guard.recording()["steps"]
    assert [len(step["calls"]) for step in steps] == [0, 1, 1]
    assert steps[1]["nudge"] == refused


def test_nudges_and_work_orders_reach_the_model() -> None:
    warns = preset(spin=Spin(threshold=2, on_fire=("nudge", "stop")))
    guard = LoopGuard(warns, goal=GOAL)
    asked = Asked(says("Again.", "lost.py"))
    asked.run(Guarded(guard))
    assert [[text for text in prompt if text.startswith("user")] for prompt in asked.prompts] == [
        [f"user-prompt: {GOAL}"]
    ] * 2 + [[f"user-prompt: {GOAL}", "user-prompt: Warning (spin): spin."]]
    assert replayed(guard, warns) == ("spin", 3)

    guard = LoopGuard("engine", goal=GOAL, task={"limits": {"max_iterations": 2}})
    asked = Asked(*(says(f"{n}.", f"{n}.py") for n in range(9)))
    asked.run(Guarded(guard))
    for number, prompt in enumerate(asked.prompts, 1):
        orders = [text for text in prompt if "Work order" in text]
        assert (len(orders), f"iteration {number} of 2" in prompt[-1]) == (1, True)
    assert replayed(guard, "engine") == ("max_iterations", 2)


def test_a_paused_conversation_goes_on_with_the_next_run() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    guarded = Guarded(guard)
    asks = says("Unit tests or all tests? Which of the two do you want me to run?")
    asked = Asked(says("", "a.py"), asks, says("All pass."))
    first = asked.run(guarded)
    assert (guard.decision.exit, guard.episode().status) == ("awaiting_user", "paused")
    history = first.all_messages()
    second = asked.run(guarded, "All of them, please.", message_history=history)
    assert second.output == "All pass."
    assert guard.recording()["steps"][2]["user"] == "All of them, please."
    assert replayed(guard) == ("agent_finished", 3)
    asked = Asked(says("Again.", "lost.py"))
    asked.run(guarded)
    with pytest.raises(HarnessError, match="ended for good, with spin"):
        asked.run(guarded)


def test_a_streamed_answer_is_observed() -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> Any:
        if len(messages) == 1:
            yield {0: DeltaToolCall(name="run_tests", json_args='{"path": "a.py"}')}
        else:
            yield "They "
            yield "pass."

    async def main(guard: LoopGuard) -> str:
        agent: Any = Agent(FunctionModel(stream_function=stream), tools=[run_tests])
        async with agent.run_stream(GOAL, capabilities=[Guarded(guard)]) as result:
            return await result.get_output()

    guard = LoopGuard("balanced", goal=GOAL)
    assert asyncio.run(main(guard)) == "They pass."
    assert replayed(guard) == ("agent_finished", 2)
    assert guard.recording()["steps"][1]["reply"]["text"] == "They pass."
