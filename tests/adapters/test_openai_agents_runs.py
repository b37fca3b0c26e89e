"""OpenAI Agents SDK: runs that break off, are paused, or run side by side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import pytest

pytest.importorskip("agents")

from agents import Agent, MaxTurnsExceeded, Runner, UserError, function_tool, set_tracing_disabled
from agents.run_state import RunState
from agents.testing import ModelStep, ScriptedModel

from harness import HarnessError, LoopGuard
from harness.adapters._loop import Loop
from harness.adapters.openai_agents import GuardHooks, GuardStopped
from harness.clock import VirtualClock
from tests.adapters.replays import GOAL, replayed
from tests.adapters.test_openai_agents import run_tests, says


@pytest.fixture(autouse=True)
def _untraced() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


def agent_of(*script: ModelStep, **tool: Any) -> Any:
    """An agent that answers by a script."""
    tools = [function_tool(run_tests, **tool)]
    return Agent("Coder", model=ScriptedModel(list(script)), tools=tools)


def run(agent: Any, hooks: GuardHooks, text: Any = GOAL, turns: int | None = None) -> Any:
    return asyncio.run(
        Runner.run(agent, text, hooks=hooks, run_config=hooks.run_config(), max_turns=turns)
    )


def steps(guard: LoopGuard) -> list[tuple[list[Any], str | None]]:
    """Of each step: how its calls ended, and what a person said before it."""
    return [
        ([(c.get("result"), c.get("ok")) for c in step["calls"]], step.get("user"))
        for step in guard.recording()["steps"]
    ]


def test_a_run_that_breaks_off_again_and_again_is_stopped() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    hooks = GuardHooks(guard)
    agent = agent_of(*(says("", "lost.py") for _ in range(9)), failure_error_function=None)
    for _ in range(3):
        with pytest.raises(UserError, match="no such file"):
            run(agent, hooks)
    with pytest.raises(GuardStopped, match="spin after 3 iterations"):
        run(agent, hooks)
    assert (len(agent.model.calls), replayed(guard)) == (3, ("spin", 3))
    assert steps(guard) == [([(None, False)], None)] * 3
    with pytest.raises(HarnessError, match="ended for good, with spin"):
        run(agent, hooks)


def test_a_run_that_the_sdk_ends_loses_no_turn() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    hooks = GuardHooks(guard)
    agent = agent_of(*(says("", f"{n}.py") for n in range(2)), says("Bye."))
    with pytest.raises(MaxTurnsExceeded):
        run(agent, hooks, turns=2)
    run(agent, hooks, "Enough.")
    assert steps(guard) == [
        ([("0.py: 3 passed", None)], None), ([("1.py: 3 passed", None)], None), ([], "Enough."),
    ]  # fmt: skip
    assert replayed(guard) == ("agent_finished", 3)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
@pytest.mark.parametrize("approved", [True, False], ids=["approved", "rejected"])
@pytest.mark.parametrize("before", [0, 1], ids=["in the first turn", "later"])
def test_a_run_goes_on_after_an_approval(elsewhere: bool, approved: bool, before: int) -> None:
    clock = VirtualClock()
    guard = LoopGuard("balanced", goal=GOAL, clock=clock)

    async def needed(context: Any, args: dict[str, Any], call_id: str) -> bool:
        return bool(args["path"] == "asked.py")

    async def main(guard: LoopGuard) -> LoopGuard:
        hooks = GuardHooks(guard)
        script = [*(says("", f"{n}.py") for n in range(before)), says("I ask.", "asked.py", "b.py")]
        agent = agent_of(*script, says("Bye."), needs_approval=needed)
        first = await Runner.run(agent, GOAL, hooks=hooks, run_config=hooks.run_config())
        state = first.to_state()
        if elsewhere:
            saved = json.dumps([state.to_json(), guard.state()])
            agent = agent_of(says("Bye."), needs_approval=needed)
            state = await RunState.from_json(agent, json.loads(saved)[0])
            guard = LoopGuard.restore(json.loads(saved)[1], clock=clock)
            hooks = GuardHooks(guard)
        clock.advance(1_800_000)
        for item in state.get_interruptions():
            if approved:
                state.approve(item)
            else:
                state.reject(item)
        await Runner.run(agent, state, hooks=hooks, run_config=hooks.run_config())
        return guard

    guard = asyncio.run(main(guard))
    found: Any = ("asked.py: 3 passed", None)
    if not approved:
        found = ("Tool execution was not approved.", False)
    asked, last = steps(guard)[before:]
    assert asked == ([found, ("b.py: 3 passed", None)], None)
    assert last == ([], None)
    step = guard.recording()["steps"][before]
    assert (step["reply"]["text"], step["reply"]["ms"]) == ("I ask.", 0)
    assert (step["idle_ms"], step["reply"]["usage"]["cache_read"]) == (1_800_000, 64)
    assert replayed(guard) == ("agent_finished", before + 2)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
def test_a_persons_word_before_an_approval_is_known_wherever_it_goes_on(elsewhere: bool) -> None:
    clock = VirtualClock()

    async def main() -> LoopGuard:
        guard = LoopGuard("balanced", goal=GOAL, clock=clock)
        hooks = GuardHooks(guard)
        agent = agent_of(says("Hello."), says("", "a.py"), says("Bye."), needs_approval=True)
        first = await Runner.run(agent, GOAL, hooks=hooks, run_config=hooks.run_config())
        asked = [*first.to_input_list(), {"role": "user", "content": "never mind"}]
        waiting = await Runner.run(agent, asked, hooks=hooks, run_config=hooks.run_config())
        state = waiting.to_state()
        if elsewhere:
            guard = LoopGuard.restore(json.loads(json.dumps(guard.state())), clock=clock)
            hooks = GuardHooks(guard)
        for item in state.get_interruptions():
            state.approve(item)
        with pytest.raises(GuardStopped, match="goal changed"):
            await Runner.run(agent, state, hooks=hooks, run_config=hooks.run_config())
        return guard

    guard = asyncio.run(main())
    assert steps(guard) == [([], None), ([("a.py: 3 passed", None)], "never mind")]
    assert replayed(guard) == ("goal_changed", 2)


def test_a_guard_that_saw_many_runs_keeps_few_alive() -> None:
    class Run:
        """Stands for what a framework makes a run of."""

    loop = Loop(LoopGuard("balanced", goal=GOAL))
    seen: WeakSet[Run] = WeakSet()
    ids = []
    for _ in range(200):
        run = Run()
        seen.add(run)
        ids.append(id(run))
        assert loop.enter(id(run), run)
    assert 2 <= len(seen) <= 64
    with pytest.raises(HarnessError, match="in two runs at once"):
        loop.enter(ids[-2])


def test_a_guard_in_two_runs_at_once_is_refused() -> None:
    async def both(hooks: GuardHooks) -> list[Any]:
        agent = agent_of(*(says("", f"{n}.py") for n in range(6)), says("Bye."))
        runs = [Runner.run(agent, text, hooks=hooks, run_config=hooks.run_config())
                for text in "AB"]  # fmt: skip
        return await asyncio.gather(*runs, return_exceptions=True)

    guard = LoopGuard("balanced", goal=GOAL)
    found = asyncio.run(both(GuardHooks(guard)))
    (error,) = [each for each in found if isinstance(each, Exception)]
    assert isinstance(error, HarnessError)
    assert str(error).startswith("guard: in two runs at once")
    assert replayed(guard)[0] == "agent_finished"
