"""Whose the time between two observations is: the loop's own, or a wait."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import HarnessError, LoopGuard, load_preset
from harness.clock import VirtualClock
from harness.loop import run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.turns import prepare

CALL = {"tool": "look", "args": {"at": "door"}, "result": "closed"}
ASKS = "Per region or per year? Which of the two do you want?"
TASK = {"tools": ["sql"]}


def times(guard: LoopGuard) -> list[tuple[int | None, int | None]]:
    """Of each step: its reply's time and idle time, as they were recorded."""
    steps = guard.recording()["steps"]
    return [(step["reply"].get("ms"), step.get("idle_ms")) for step in steps]


def elapsed(guard: LoopGuard, preset: str | Preset = "engine") -> list[int | None]:
    """Elapsed time after each iteration, live as in a replay."""
    found = load_preset(preset) if isinstance(preset, str) else preset
    again = run_episode(prepare(Scenario.model_validate(guard.recording())), found)
    assert again.elapsed == guard.episode().elapsed
    return list(again.elapsed)


def paused(clock: VirtualClock) -> LoopGuard:
    """A loop that has asked a person something after 100 ms."""
    guard = LoopGuard("engine", goal="Split the table.", task=TASK, clock=clock)
    clock.advance(100)
    assert guard.observe(text=ASKS).exit == "awaiting_user"
    return guard


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({}, (30, 5_000)),
        ({"idle_ms": 4_000}, (1_030, 4_000)),
        ({"idle_ms": 9_000}, (0, 9_000)),
        ({"ms": 7}, (7, 5_000)),
        ({"ms": 7, "idle_ms": 4_000}, (7, 4_000)),
        ({"ms": "unknown"}, (None, 5_000)),
    ],
    ids=[
        "measured",
        "idle time told",
        "more idle time told",
        "the reply's told",
        "both told",
        "unknown",
    ],
)
def test_what_a_person_took_is_idle_time(told: dict[str, Any], found: tuple[Any, Any]) -> None:
    clock = VirtualClock()
    guard = paused(clock)
    clock.advance(5_000)
    guard.resume("Per region, please.")
    clock.advance(30)
    guard.observe(text="Split.", **told)
    assert times(guard) == [(100, None), found]
    known = None if found[0] is None else 100 + found[0] + (found[1] or 0)
    assert elapsed(guard) == [100, known]


def test_a_wait_within_a_turn_is_told_by_the_application() -> None:
    clock = VirtualClock()
    guard = LoopGuard("engine", goal="Split the table.", clock=clock)
    steps: list[tuple[int, Callable[[], None]]] = [
        (20, guard.watch.worked), (1_000, guard.watch.waited), (5, guard.watch.worked),
        (500, guard.watch.waited), (7, guard.watch.worked),
    ]  # fmt: skip
    for ms, tell in steps:
        clock.advance(ms)
        tell()
    guard.observe(text="Split.", calls=[CALL])
    clock.advance(40)
    guard.observe(text="Done.")
    assert times(guard) == [(32, 1_500), (40, None)]
    assert elapsed(guard) == [1_532, 1_572]


def test_idle_time_is_saved_with_the_loop() -> None:
    clock = VirtualClock()
    guard = paused(clock)
    clock.advance(5_000)
    guard.resume("Per region, please.")
    state = json.loads(json.dumps(guard.state()))
    clock = VirtualClock()
    later = LoopGuard.restore(state, clock=clock)
    clock.advance(30)
    later.observe(calls=[CALL])
    assert times(later) == [(100, None), (30, 5_000)]


def test_a_time_budget_sees_a_wait_whoever_measures_the_reply(tmp_path: Path) -> None:
    file = tmp_path / "timed.toml"
    head = 'schema = "harness/preset@1"\ntitle = "with a clock"\nextends = "engine"\n'
    file.write_text(head + "[guards]\ntime_budget = { limit_s = 3 }\n")
    preset = load_preset(str(file))
    cases: list[dict[str, Any]] = [{}, {"ms": 30}]
    found = []
    for told in cases:
        clock = VirtualClock()
        guard = LoopGuard(preset, goal="Split the table.", task=TASK, clock=clock)
        assert guard.observe(text=ASKS).exit == "awaiting_user"
        clock.advance(5_000)
        guard.resume("Per region, please.")
        clock.advance(30)
        found.append(guard.observe(calls=[CALL], **told).exit)
        elapsed(guard, preset)
    assert found == ["time_budget", "time_budget"]


def test_the_time_of_a_reply_that_waits_is_saved_with_the_loop() -> None:
    clock = VirtualClock()
    guard = LoopGuard("engine", goal="Split the table.", clock=clock)
    clock.advance(1_000)
    guard.watch.worked()
    clock = VirtualClock()
    later = LoopGuard.restore(json.loads(json.dumps(guard.state())), clock=clock)
    clock.advance(500)
    later.watch.waited()
    clock.advance(2)
    later.observe(calls=[CALL])
    assert times(later) == [(1_002, 500)]


def test_a_loop_is_saved_before_its_first_turn() -> None:
    state = json.loads(json.dumps(LoopGuard("engine", goal="Split the table.").state()))
    later = LoopGuard.restore(state)
    assert (later.decision, later.recording()["goal"]) == (None, "Split the table.")
    later.observe(text="Split.", calls=[CALL])
    assert len(later.recording()["steps"]) == 1


def test_a_wrong_idle_time_is_named() -> None:
    guard = LoopGuard("engine", goal="g")
    with pytest.raises(HarnessError, match=r"iteration 1\.idle_ms"):
        guard.observe(text="x", idle_ms="long")
