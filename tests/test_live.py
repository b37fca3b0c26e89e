"""Live and replay: the same objects, the same verdicts."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness import HarnessError, LoopGuard, load_preset
from harness.files import bundled_scenarios, load
from harness.llm import ScriptedLLM
from harness.preset import DEFAULTS
from harness.scenario import Scenario
from harness.testing import check_parity, made_scenarios
from harness.verdicts import Decision


@cache
def bundled() -> tuple[Scenario, ...]:
    """Every bundled scenario; of a generated family the first three."""
    return tuple(
        scenario
        for scenario in load([bundled_scenarios()])
        if scenario.family != "generated" or scenario.id[-3:] <= "003"
    )


@pytest.mark.parametrize("preset", DEFAULTS)
def test_live_replay_and_recording_agree_on_every_scenario(preset: str) -> None:
    check_parity(preset, [*bundled(), *made_scenarios()])


CALL = {"tool": "look", "args": {"at": "door"}, "result": "closed", "ok": True, "ms": 5}


def test_a_few_lines_guard_a_loop() -> None:
    guard = LoopGuard("balanced", goal="Open the door.")
    turns = 0
    while True:
        turns += 1
        decision = guard.observe(text=f"Turn {turns}.", calls=[CALL])
        if decision.ends:
            break
    assert (turns, decision.exit, decision.name) == (3, "spin", "stop")
    assert guard.message.startswith("spin after 3 iterations")
    assert guard.result is None  # a person has to look first


def test_a_batch_is_refused_before_any_of_it_runs() -> None:
    guard = LoopGuard("balanced", goal="Check the mirrors.", task={"limits": {"tool_budget": 6}})
    refusal = guard.allows(calls=8)
    assert refusal is not None
    assert (refusal.guard, refusal.asked, refusal.left) == ("tool_budget", 8, 6)
    assert guard.allows(calls=6) is None


def test_a_paused_loop_is_saved_and_resumed_elsewhere(tmp_path: Path) -> None:
    guard = LoopGuard("engine", goal="Split the table.", task={"tools": ["sql"]})
    guard.observe(text="How large?", calls=[{**CALL, "tool": "sql"}])
    decision = guard.observe(text="Per region or per year? Which of the two do you want?")
    assert (decision.ends, decision.exit) == (True, "awaiting_user")
    (tmp_path / "state.json").write_text(json.dumps(guard.state()))

    later = LoopGuard.restore(json.loads((tmp_path / "state.json").read_text()))
    with pytest.raises(HarnessError, match="ended with awaiting_user"):
        later.observe(text="On my way.")
    later.resume("Per region, please.")
    assert "Per region, please." in (later.work_order("Per region, please.") or "")
    split = {"tool": "sql", "args": {"query": "split by region"}, "result": "3 tables", "ms": 9}
    going = later.observe(user="Per region, please.", calls=[split])
    assert not going.ends
    assert [d.name for d in later.session.course.decisions] == [
        "continue", "await_confirmation", "continue",
    ]  # fmt: skip


def test_a_loop_that_stopped_cannot_be_resumed() -> None:
    guard = LoopGuard("balanced", goal="g", task={"limits": {"max_rounds": 0}})
    assert guard.observe(text="First.").exit == "max_rounds"
    with pytest.raises(HarnessError, match="ended for good"):
        guard.resume()


def test_a_shadow_compares_two_presets_on_the_same_traffic() -> None:
    asked = ScriptedLLM(
        {"judge": [json.dumps({"done": False, "reason": "no", "evidence": []})] * 9}
    )
    guard = LoopGuard("balanced", goal="Open the door.", shadow="reflection", llm=asked)
    for number in range(3):
        guard.observe(text=f"Turn {number}.", calls=[CALL], score=0.3)
    assert guard.decision is not None
    assert guard.decision.exit == "spin"
    assert guard.shadow is not None
    assert [d.exit for d in guard.shadow.course.decisions] == [None, None, "stagnation"]
    assert not guard.shadow.course.decisions[-1].ends


def test_observing_works_under_asyncio() -> None:
    async def loop() -> Decision:
        guard = LoopGuard("balanced", goal="Open the door.")
        for _ in range(2):
            await guard.aobserve(text="Again.", calls=[CALL])
        return await guard.aobserve(text="Again.", calls=[CALL])

    assert asyncio.run(loop()).exit == "spin"


def test_wrong_values_are_named() -> None:
    guard = LoopGuard("balanced", goal="g")
    with pytest.raises(HarnessError, match=r"iteration 1\.calls\[0\]\.tol: unknown key"):
        guard.observe(text="x", calls=[{"tool": "a", "tol": 1}])
    with pytest.raises(HarnessError, match=r"task\.limits\.speed"):
        LoopGuard("balanced", goal="g", task={"limits": {"speed": 1}})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recording": None}, "state.recording: input should be a valid dictionary, found None"),
        ({"recording": {}}, "state.recording.goal: is required (+3 more)"),
        ({"preset": ""}, "state.preset: is required, or restore(state, preset=...)"),
        ({"preset": 7}, "state.preset: input should be a valid string, found 7"),
        ({"idle_ms": -1}, "state.idle_ms: input should be greater than or equal to 0, found -1"),
        ({"answer": 3}, "state.answer: input should be a valid string, found 3"),
        ({"said": {"usr": "x"}}, "state.said.usr: unknown key"),
    ],
)
def test_a_wrong_state_is_named(change: dict[str, Any], words: str) -> None:
    guard = LoopGuard("balanced", goal="g")
    guard.observe(text="x", calls=[CALL])
    with pytest.raises(HarnessError) as caught:
        LoopGuard.restore({**guard.state(), **change})
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({}, "state.recording: is required"),
        (None, "state: must be a mapping of keys"),
    ],
)
def test_what_is_no_state_is_named(state: Any, words: str) -> None:
    with pytest.raises(HarnessError, match=words):
        LoopGuard.restore(state)


def test_steps_of_a_wrong_kind_are_named() -> None:
    state = LoopGuard("balanced", goal="g").state()
    with pytest.raises(HarnessError, match=r"state\.recording\.steps: .* found 'x'"):
        LoopGuard.restore({**state, "recording": {**state["recording"], "steps": "x"}})


def test_a_state_of_the_old_shape_is_restored() -> None:
    guard = LoopGuard("engine", goal="Split the table.", task={"tools": ["sql"]})
    assert guard.observe(text="Per region or per year?").exit == "awaiting_user"
    state = {"preset": "engine", "recording": guard.recording(), "answer": "Year.", "idle_ms": 5}
    later = LoopGuard.restore(json.loads(json.dumps(state)))
    assert later.state() == state
    later.observe(text="On it.", calls=[{**CALL, "tool": "sql"}], ms=2)
    last = later.recording()["steps"][-1]
    assert (last["user"], last["idle_ms"]) == ("Year.", 5)


def test_on_limit_raise() -> None:
    from dataclasses import replace

    strict = replace(load_preset("balanced"), on_limit="raise")
    guard = LoopGuard(strict, goal="g", task={"limits": {"max_rounds": 0}})
    guard.observe(text="First.", score=0.9)
    assert guard.decision is not None
    if guard.decision.exit == "max_rounds":
        with pytest.raises(HarnessError, match="max rounds"):
            _ = guard.result
    else:
        assert guard.result == "First."
