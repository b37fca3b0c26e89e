"""OpenAI Agents SDK: the hooks stop a run before its next model call; the recording agrees."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import (
    Agent,
    ModelResponse,
    RunConfig,
    Runner,
    ToolInputGuardrail,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseFunctionWebSearch
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from harness import HarnessError, LoopGuard
from harness.adapters.openai_agents import GuardHooks, GuardStopped
from harness.guards.spin import Spin
from tests.adapters.replays import GOAL, replayed
from tests.examples import preset

USAGE = Usage(
    requests=1, input_tokens=100, output_tokens=20, total_tokens=120,
    input_tokens_details=InputTokensDetails(cached_tokens=64, cache_write_tokens=6),
    output_tokens_details=OutputTokensDetails(reasoning_tokens=5),
)  # fmt: skip
#: The SDK runs a call id once.
_IDS = count()


@pytest.fixture(autouse=True)
def _untraced() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


def says(text: str, *paths: str) -> ModelStep:
    """A reply that runs the tests of these paths."""
    calls = [
        function_call("run_tests", {"path": path}, call_id=f"call-{next(_IDS)}") for path in paths
    ]
    return ModelStep(output=[assistant_message(text), *calls], usage=USAGE)


def run_tests(path: str) -> str:
    """Run the tests of one file."""
    if path.startswith("lost"):
        raise FileNotFoundError("no such file")
    return f"{path}: 3 passed"


def run(
    hooks: GuardHooks, script: Sequence[Any], text: Any = GOAL, **options: Any
) -> tuple[Any, ScriptedModel]:
    """What a run gives, or the stop that it raised; and the model that was asked."""
    model = ScriptedModel(script)
    tools = [function_tool(run_tests, **options.pop("tool", {}))]
    agent = options.pop("agent", None) or Agent("Coder", model=model, tools=tools)
    config = hooks.run_config(options.pop("config", None))
    try:
        found = asyncio.run(Runner.run(agent, text, hooks=hooks, run_config=config, max_turns=None))
    except GuardStopped as stop:
        return stop, model
    return found, model


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ([says("Again.", "lost.py") for _ in range(9)], ("spin", 3)),
        ([says(f"Try {n}.", f"lost{n}.py") for n in range(9)], ("repeated_error", 4)),
    ],
    ids=["the same call", "the same error"],
)
def test_a_loop_that_fails_again_and_again_is_stopped(
    script: list[ModelStep], ending: tuple[str, int]
) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    stop, model = run(GuardHooks(guard), script)
    assert isinstance(stop, GuardStopped)
    assert (stop.decision.exit, len(model.calls)) == ending
    assert str(stop) == guard.message
    assert len(stop.run_data.raw_responses) == ending[1]
    assert replayed(guard) == ending
    (call,) = guard.recording()["steps"][0]["calls"]
    assert (call["result"], call["ok"]) == ("FileNotFoundError: no such file", False)


def test_it_ends_by_itself_and_is_counted() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    result, _ = run(GuardHooks(guard), [says("I run them.", "a.py"), says("They pass.")])
    assert result.final_output == "They pass."
    assert replayed(guard) == ("agent_finished", 2)
    first, second = guard.recording()["steps"]
    assert first["calls"] == [
        {"tool": "run_tests", "args": {"path": "a.py"}, "result": "a.py: 3 passed", "ms": 0}
    ]
    assert second["reply"]["usage"] == {
        "input": 30, "cache_read": 64, "cache_write": 6, "output": 15, "reasoning": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("guarded", "endings"),
    [(True, (("tool_budget", 3), [0, 1, 1])), (False, (("tool_budget", 1), [4]))],
    ids=["guardrail on the tool: refused", "no guardrail: ended behind it"],
)
def test_a_batch_over_the_budget(guarded: bool, endings: tuple[Any, list[int]]) -> None:
    guard = LoopGuard("balanced", goal=GOAL, task={"limits": {"tool_budget": 2}})
    hooks = GuardHooks(guard)
    tool = {"tool_input_guardrails": [ToolInputGuardrail(hooks.budget)]} if guarded else {}
    script = [says("All.", "a", "b", "c", "d"), says("One.", "a"), says("Two.", "b")]
    _, model = run(hooks, script, tool=tool)
    steps = guard.recording()["steps"]
    assert (replayed(guard), [len(step["calls"]) for step in steps]) == endings
    if guarded:
        told = [
            i["output"] for i in model.calls[1].input if i.get("type") == "function_call_output"
        ]
        assert told == ["refused: 4 calls asked for, 2 left of 2"] * 4
        assert steps[1]["nudge"] == told[0]


def test_nudges_and_work_orders_reach_the_model() -> None:
    warns = preset(spin=Spin(threshold=2, on_fire=("nudge", "stop")))
    guard = LoopGuard(warns, goal=GOAL)
    _, model = run(GuardHooks(guard), [says("Again.", "lost.py") for _ in range(9)])
    said = [[i["content"] for i in c.input if i.get("role") == "user"] for c in model.calls]
    assert said == [[GOAL], [GOAL], [GOAL, "Warning (spin): spin."]]
    assert replayed(guard, warns) == ("spin", 3)

    guard = LoopGuard("engine", goal=GOAL, task={"limits": {"max_iterations": 2}})
    _, model = run(GuardHooks(guard), [says(f"{n}.", f"{n}.py") for n in range(9)])
    for number, asked in enumerate(model.calls, 1):
        assert asked.input[-1]["content"].startswith(f"Work order: iteration {number} of 2")
    assert replayed(guard, "engine") == ("max_iterations", 2)


def test_a_paused_conversation_goes_on_with_the_next_run() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    hooks = GuardHooks(guard)
    asks = says("Unit tests or all tests? Which of the two do you want me to run?")
    first, _ = run(hooks, [says("", "a.py"), asks])
    assert (guard.decision.exit, guard.episode().status) == ("awaiting_user", "paused")
    more = [*first.to_input_list(), {"role": "user", "content": "All of them, please."}]
    second, _ = run(hooks, [says("All pass.")], more)
    assert second.final_output == "All pass."
    assert guard.recording()["steps"][2]["user"] == "All of them, please."
    assert replayed(guard) == ("agent_finished", 3)


def test_a_loop_that_ended_for_good_does_not_go_on() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    hooks = GuardHooks(guard)
    run(hooks, [says("Again.", "lost.py") for _ in range(9)])
    with pytest.raises(HarnessError, match="ended for good, with spin"):
        run(hooks, [says("Again.")])


def test_the_applications_own_configuration_goes_on_working() -> None:
    def shorter(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input[-1:], "Be short.")

    guard = LoopGuard("balanced", goal=GOAL)
    config = RunConfig(
        call_model_input_filter=shorter, tool_error_formatter=lambda args: f"broken: {args.error}"
    )
    _, model = run(GuardHooks(guard), [says("", "lost.py"), says("Bye.")], config=config)
    assert [asked.system_instructions for asked in model.calls] == ["Be short."] * 2
    assert [item["output"] for item in model.calls[1].input] == ["broken: no such file"]


def test_what_agents_inside_a_tool_do_is_no_turn_of_the_loop() -> None:
    inner = Agent("Inner", model=ScriptedModel([says("", "b.py"), says("Inner answer.")]),
                  tools=[function_tool(run_tests)])  # fmt: skip
    asks = [assistant_message("I ask."), function_call("ask", {"input": "?"}, call_id="c1")]
    outer = Agent("Outer", model=ScriptedModel([asks, says("Done.")]),
                  tools=[inner.as_tool("ask", "Ask.")])  # fmt: skip
    guard = LoopGuard("engine", goal=GOAL)
    result, _ = run(GuardHooks(guard), [], agent=outer)
    assert result.final_output == "Done."
    assert [s["calls"] for s in guard.recording()["steps"]] == [
        [{"tool": "ask", "args": {"input": "?"}, "result": "Inner answer.", "ms": 0}], [],
    ]  # fmt: skip


def test_it_is_the_same_when_streamed() -> None:
    async def main(hooks: GuardHooks) -> None:
        model = ScriptedModel([says("Again.", "lost.py") for _ in range(9)])
        agent = Agent("Coder", model=model, tools=[function_tool(run_tests)])
        streamed = Runner.run_streamed(
            agent, GOAL, hooks=hooks, run_config=hooks.run_config(), max_turns=None
        )
        async for _ in streamed.stream_events():
            pass

    guard = LoopGuard("balanced", goal=GOAL)
    with pytest.raises(GuardStopped, match="spin after 3 iterations"):
        asyncio.run(main(GuardHooks(guard)))
    assert replayed(guard) == ("spin", 3)


def test_handoffs_and_hosted_tools_are_calls_too() -> None:
    search = ResponseFunctionWebSearch(
        id="w1", type="web_search_call", status="completed",
        action={"type": "search", "query": "pytest"},
    )  # fmt: skip
    other = Agent("Other", model=ScriptedModel([says("Done.")]))
    to_other = function_call("transfer_to_other", {}, call_id="h1")
    first = ModelResponse(output=[search, to_other], usage=Usage(), response_id=None)
    triage = Agent("Triage", model=ScriptedModel([first]), handoffs=[other])
    guard = LoopGuard("balanced", goal=GOAL)
    result, _ = run(GuardHooks(guard), [], agent=triage)
    assert result.final_output == "Done."
    step = guard.recording()["steps"][0]
    assert [(c["tool"], c.get("builtin", False)) for c in step["calls"]] == [
        ("web_search", True), ("transfer_to_other", False),
    ]  # fmt: skip
    assert "usage" not in step["reply"]
