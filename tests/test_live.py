"""Live and replay: the same objects, the same verdicts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness import HarnessError, LoopGuard, load_preset, run_episode
from harness.clock import VirtualClock
from harness.ending import stops_by_itself
from harness.files import bundled_scenarios, load
from harness.llm import RecordedLLM, ScriptedLLM
from harness.preset import DEFAULTS
from harness.scenario import Scenario
from harness.trace import Decision
from harness.turns import prepare

ROOT = Path(__file__).parent.parent
TASK = (
    "limits", "phases", "tools", "direction", "score_scale", "completion_marker", "capabilities",
    "init",
)  # fmt: skip


def without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_null(v) for k, v in value.items() if v is not None}
    return [without_null(v) for v in value] if isinstance(value, list) else value


def drive(scenario: Scenario, preset_name: str) -> LoopGuard:
    """Hand a recording's turns to a live guard one by one, as an agent would."""
    preset = load_preset(preset_name)
    raw = without_null(scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    tape = prepare(scenario, wait_ms=preset.wait_ms)
    recorded = RecordedLLM(tape)
    task = {key: raw[key] for key in TASK if key in raw}
    guard = LoopGuard(
        preset, goal=scenario.goal, task=task, llm=recorded, clock=VirtualClock(), name=scenario.id
    )
    sources = {"": raw["steps"]} | {
        f"{kind}[{n}]": steps
        for kind, lists in raw.get("branches", {}).items()
        for n, steps in enumerate(lists)
    }
    number, turn = 1, recorded.turn(1)
    while turn is not None:
        step = dict(sources[turn.source[0]][turn.source[1] - 1])
        step.pop("judge", None)
        step.pop("roles", None)
        reply = {"text": "", **step.pop("reply", {})}
        if turn.writes is not None:
            step["writes"] = sorted(turn.writes)
        if guard.decision is not None and guard.decision.ends:
            if turn.user is None or guard.decision.exit is None:
                break
            try:
                guard.resume()
            except HarnessError:
                break
        # A replay knows what a live loop is told: that the agent stopped by itself.
        last = recorded.turn(number + 1) is None
        stopped = last and stops_by_itself(turn, guard.session.history.has_tools)
        decision = guard._take({"reply": reply, **step}, last=stopped)
        if decision.name in ("switch_strategy", "delegate") and not guard.session.observe:
            recorded.switch(decision.name, number)
        number += 1
        turn = recorded.turn(number)
    return guard


def bundled() -> list[Scenario]:
    """Every bundled scenario; of a generated family the first three."""
    return [
        scenario
        for scenario in load([bundled_scenarios()])
        if scenario.family != "generated" or scenario.id[-3:] <= "003"
    ]


def told(decisions: list[Decision] | tuple[Decision, ...]) -> list[tuple[Any, ...]]:
    return [(d.name, d.path, d.exit, d.ends, d.conditions) for d in decisions]


@pytest.mark.parametrize("preset", DEFAULTS)
def test_live_and_replay_agree_on_every_bundled_scenario(preset: str) -> None:
    for scenario in bundled():
        episode = run_episode(prepare(scenario), load_preset(preset))
        guard = drive(scenario, preset)
        assert told(guard.session.course.decisions) == told(episode.decisions), scenario.id
        assert guard.session.monitor.series() == episode.series, scenario.id


@pytest.mark.parametrize("preset", ["engine", "reflection", "strict"])
def test_what_was_recorded_live_replays_with_the_same_decisions(preset: str) -> None:
    for scenario in bundled():
        guard = drive(scenario, preset)
        recording = Scenario.model_validate(guard.recording())
        replayed = run_episode(prepare(recording), load_preset(preset))
        live = told(guard.session.course.decisions)
        assert told(replayed.decisions)[: len(live)] == live, scenario.id


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
