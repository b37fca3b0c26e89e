"""pydantic-ai: runs that break off, wait for an approval, or run side by side."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    UnexpectedModelBehavior,
)

from harness import HarnessError, LoopGuard
from harness.adapters.pydantic_ai import Guarded, GuardStopped
from harness.clock import VirtualClock
from tests.adapters.replays import GOAL, replayed
from tests.adapters.test_pydantic_ai import Asked, run_tests, says


def delete(path: str) -> str:
    """Delete one file."""
    return run_tests(path)


def crash(path: str) -> str:
    """A tool that breaks off the run."""
    raise RuntimeError(f"{path}: no disk")


def odd(path: str) -> str:
    """A tool that wants another path."""
    return run_tests(path)


async def hang(path: str) -> str:
    """A tool that never ends."""
    await asyncio.Event().wait()
    return path


def asked_of(*script: Any) -> Asked:
    """An agent with tools that break off its run, and one that a person has to approve."""
    asked = Asked(*script, output_type=[str, DeferredToolRequests])
    asked.agent.tool_plain(delete, requires_approval=True)
    for tool in (crash, hang):
        asked.agent.tool_plain(tool)
    return asked


def steps(guard: LoopGuard) -> list[tuple[list[Any], str | None]]:
    """Of each step: how its calls ended, and what a person said before it."""
    return [
        ([(c.get("result"), c.get("ok")) for c in step["calls"]], step.get("user"))
        for step in guard.recording()["steps"]
    ]


def test_a_run_that_breaks_off_again_and_again_is_stopped() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    guarded, asked = Guarded(guard), asked_of(says("Again.", "a.py", tool="crash"))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="no disk"):
            asked.run(guarded)
    stop = asked.run(guarded)
    assert isinstance(stop, GuardStopped)
    assert (len(asked.prompts), replayed(guard)) == (3, ("spin", 3))
    assert steps(guard) == [([("RuntimeError: a.py: no disk", False)], None)] * 3
    with pytest.raises(HarnessError, match="ended for good, with spin"):
        asked.run(guarded)


def test_what_else_ran_before_a_run_broke_off_is_known() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    guarded = Guarded(guard)
    first = says("", "a.py")
    broken = says("", "a.py", tool="crash")
    asked = asked_of(type(first)([*first.parts, *broken.parts], usage=first.usage), says("Bye."))
    with pytest.raises(RuntimeError, match="no disk"):
        asked.run(guarded)
    asked.run(guarded, "Leave it.")
    assert steps(guard) == [
        ([("a.py: 3 passed", True), ("RuntimeError: a.py: no disk", False)], None),
        ([], "Leave it."),
    ]
    assert guard.recording()["steps"][0]["reply"]["usage"]["output"] == 15
    assert replayed(guard) == ("agent_finished", 2)


def test_a_run_that_is_cancelled_loses_no_turn() -> None:
    async def main(guarded: Guarded, asked: Asked) -> None:
        task = asyncio.ensure_future(asked.agent.run(GOAL, capabilities=[guarded]))
        while not asked.prompts:
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    guard = LoopGuard("balanced", goal=GOAL)
    asyncio.run(main(Guarded(guard), asked_of(says("", "a.py", tool="hang"))))
    assert steps(guard) == [([(None, False)], None)]


def test_retries_that_run_out_are_a_failed_call() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    asked = asked_of(*(says(f"Try {n}.", f"odd{n}.py", tool="odd") for n in range(3)))
    asked.agent.tool_plain(odd, retries=1)
    with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries"):
        asked.run(Guarded(guard))
    found = steps(guard)
    assert [ok for calls, _ in found for _, ok in calls] == [False, False]
    assert found[1][0][0][0].startswith("UnexpectedModelBehavior: ")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
@pytest.mark.parametrize(
    ("path", "approved", "found"),
    [
        ("a.py", True, ("a.py: 3 passed", True)),
        ("a.py", False, ("The tool call was denied.", False)),
        ("lost.py", True, ('{"error":"no such file"}', False)),
    ],
    ids=["approved", "denied", "approved and failed"],
)
def test_an_approval_ends_the_turn_that_asked_for_it(
    path: str, approved: bool, found: tuple[str, bool], elsewhere: bool
) -> None:
    clock = VirtualClock()
    guard = LoopGuard("balanced", goal=GOAL, clock=clock)
    first = says("", path, tool="delete")
    asked = asked_of(type(first)([*first.parts, *says("", "b.py").parts], usage=first.usage),
                     says("Bye."))  # fmt: skip
    guarded = Guarded(guard)
    waiting = asked.run(guarded)
    (call,) = waiting.output.approvals
    assert guard.recording()["steps"] == []
    history = waiting.all_messages()
    if elsewhere:
        history = ModelMessagesTypeAdapter.validate_json(waiting.all_messages_json())
        guard = LoopGuard.restore(json.loads(json.dumps(guard.state())), clock=clock)
        guarded = Guarded(guard)
    clock.advance(1_800_000)
    answers = DeferredToolResults(approvals={call.tool_call_id: approved})
    asked.run(guarded, None, message_history=history, deferred_tool_results=answers)
    assert steps(guard) == [([found, ("b.py: 3 passed", True)], None), ([], None)]
    step = guard.recording()["steps"][0]
    assert (step["reply"]["ms"], step["idle_ms"]) == (0, 1_800_000)
    assert replayed(guard) == ("agent_finished", 2)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
def test_a_persons_word_before_an_approval_is_known_wherever_it_goes_on(elsewhere: bool) -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    asked = asked_of(says("Hello."), says("", "a.py", tool="delete"), says("Bye."))
    guarded = Guarded(guard)
    history = asked.run(guarded).all_messages()
    waiting = asked.run(guarded, "never mind", message_history=history)
    (call,) = waiting.output.approvals
    if elsewhere:
        guard = LoopGuard.restore(json.loads(json.dumps(guard.state())))
        guarded = Guarded(guard)
    answers = DeferredToolResults(approvals={call.tool_call_id: True})
    asked.run(guarded, None, message_history=waiting.all_messages(), deferred_tool_results=answers)
    assert steps(guard) == [([], None), ([("a.py: 3 passed", True)], "never mind")]
    assert replayed(guard) == ("goal_changed", 2)


def test_approved_calls_that_fail_again_and_again_end_the_loop() -> None:
    guard = LoopGuard("balanced", goal=GOAL)
    guarded = Guarded(guard)
    asked = asked_of(*(says(f"Try {n}.", f"lost{n}.py", tool="delete") for n in range(9)))
    found = asked.run(guarded)
    while not isinstance(found, GuardStopped):
        (call,) = found.output.approvals
        answers = DeferredToolResults(approvals={call.tool_call_id: True})
        found = asked.run(
            guarded, None, message_history=found.all_messages(), deferred_tool_results=answers
        )
    assert (len(asked.prompts), replayed(guard)) == (4, ("repeated_error", 4))


def test_a_guard_in_two_runs_at_once_is_refused() -> None:
    async def both(guarded: Guarded, asked: Asked) -> list[Any]:
        runs = [asked.agent.run(text, capabilities=[guarded]) for text in "AB"]
        return await asyncio.gather(*runs, return_exceptions=True)

    guard = LoopGuard("balanced", goal=GOAL)
    asked = asked_of(*(says("", f"{n}.py") for n in range(6)), says("Bye."))
    found = asyncio.run(both(Guarded(guard), asked))
    (error,) = [each for each in found if isinstance(each, Exception)]
    assert isinstance(error, HarnessError)
    assert str(error).startswith("guard: in two runs at once")
    assert replayed(guard)[0] == "agent_finished"
