"""Live loop -> recording -> replay: what happened is written down, and decides the same."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from harness.clock import VirtualClock
from harness.files import bundled_scenarios, load
from harness.live import LoopGuard
from harness.llm import ScriptedLLM
from harness.loop import run_episode
from harness.preset import Preset, load_preset
from harness.scenario import Scenario
from harness.turns import prepare
from tests.examples import call
from tests.round_trips import check_live


def answer(**more: Any) -> str:
    return json.dumps({"done": False, "reason": "no", "evidence": [], **more})


DONE = answer(done=True, evidence=["the door is open"])
LOOK = call("look", {"at": "door"}, "closed", ms=5)
OPEN = call("push", {"at": "door"}, "open", ms=5)
SATISFIED = json.dumps({"satisfied": True, "reason": "open", "evidence": ["door"]})


def replayed(guard: LoopGuard, preset: Preset) -> Any:
    found = Scenario.model_validate(guard.recording())
    return run_episode(prepare(found, wait_ms=preset.wait_ms), preset)


@cache
def bundled() -> tuple[Scenario, ...]:
    """Of every bundled scenario; of a generated family the first three."""
    return tuple(
        scenario
        for scenario in load([bundled_scenarios()])
        if scenario.family != "generated" or scenario.id[-3:] <= "003"
    )


@pytest.mark.parametrize("name", ["balanced", "strict", "engine", "reflection", "observe"])
def test_what_is_handed_in_is_recorded_and_decides(name: str) -> None:
    for scenario in bundled():
        check_live(scenario, load_preset(name))


@pytest.mark.parametrize(
    "told",
    [{"judge": DONE}, {"judge": json.loads(DONE)}, {"roles": {"judge": DONE}},
     {"roles": {"judge": [{"text": DONE, "ms": 7}]}}],
    ids=["text", "object", "role", "reply"],
)  # fmt: skip
def test_an_answer_that_is_handed_in_needs_no_model(told: dict[str, Any]) -> None:
    guard = LoopGuard("balanced", goal="Open the door.", shadow="engine")
    decision = guard.observe(text="Open.", calls=[OPEN], ms=5, **told)
    assert (decision.exit, decision.ends) == ("completed", True)
    assert guard.recording()["steps"] == [
        {"reply": {"text": "Open.", "ms": 5}, "calls": [OPEN], **told}
    ]
    assert replayed(guard, load_preset("balanced")).decisions == (decision,)
    assert guard.shadow is not None
    engine = load_preset("engine").observed()
    assert tuple(guard.shadow.course.decisions) == replayed(guard, engine).decisions


def test_a_model_is_asked_only_for_what_was_not_handed_in() -> None:
    asked = ScriptedLLM({"judge": [answer(reason="the model's")] * 2})
    guard = LoopGuard("balanced", goal="Open the door.", llm=asked, clock=VirtualClock())
    handed = {"text": answer(reason="the caller's"), "request_hash": "abc"}
    for number, judge in enumerate((None, handed, None)):
        look = call("look", {"at": number}, f"closed {number}")
        guard.observe(text=f"I look at {number}.", calls=[look], judge=judge)
    steps = guard.recording()["steps"]
    reasons = [json.loads(each["judge"]["text"])["reason"] for each in steps]
    assert reasons == ["the model's", "the caller's", "the model's"]
    assert steps[1]["judge"] == handed
    assert not asked.knows("judge", 4, 1)
    assert replayed(guard, load_preset("balanced")).decisions == tuple(
        guard.session.course.decisions
    )


def test_an_answer_that_nobody_asked_for_stays_in_the_recording() -> None:
    guard = LoopGuard("observe", goal="Open the door.", clock=VirtualClock())
    roles = {"verifier": [SATISFIED, SATISFIED], "astrologer": "Today."}
    guard.observe(text="Open.", calls=[OPEN], roles=roles)
    assert guard.recording()["steps"][0]["roles"] == roles


def test_what_a_reply_may_say_of_itself_is_recorded() -> None:
    guard = LoopGuard("balanced", goal="Open the door.")
    guard.observe(text="First.", ms="unknown", request_hash="abc", calls=[call("look")])
    (found,) = Scenario.model_validate(guard.recording()).steps
    assert (found.reply.ms, found.calls[0].ms, found.reply.request_hash) == (None, None, "abc")
    assert guard.session.course.elapsed == [None]
    assert replayed(guard, load_preset("balanced")).elapsed == (None,)


def test_the_answer_to_a_pause_is_recorded() -> None:
    preset = load_preset("engine")
    for words in (None, "Per region, please."):
        guard = LoopGuard(preset, goal="Split the table.", task={"tools": ["sql"]})
        guard.observe(text="Which of the two do you want?", calls=[])
        assert guard.decision is not None
        assert guard.decision.exit == "awaiting_user"
        guard.resume(words)
        later = LoopGuard.restore(guard.state())
        for each in (guard, later):
            each.observe(text="I split it.", calls=[call("sql", "split", "3 tables", ms=9)], ms=1)
            assert each.recording()["steps"][1]["user"] == (words or "")
            assert replayed(each, preset).decisions == tuple(each.session.course.decisions)


def test_the_agents_own_stop_is_recorded() -> None:
    preset = load_preset("strict")
    guard = LoopGuard(preset, goal="Open the door.", clock=VirtualClock())
    guard.observe(text="I look.", calls=[LOOK], last=True)
    assert guard.recording()["recorded"] == {"exit_reason": "agent_finished"}
    assert guard.episode().exit_reason == "agent_finished"
    replay = replayed(guard, preset)
    assert replay.decisions == tuple(guard.session.course.decisions)
    assert replay.message == guard.message
    assert [each.events for each in replay.iterations] == [
        each.events for each in guard.session.course.iterations
    ]
    later = LoopGuard.restore(guard.state())
    assert later.message == guard.message
    for each in (guard, later):
        each.observe(text="I push.", calls=[OPEN], ms=1)
        assert "recorded" not in each.recording()


def test_what_the_caller_changes_later_did_not_happen() -> None:
    guard = LoopGuard("observe", goal="Open the door.")
    args: dict[str, Any] = {"at": float("inf")}
    guard.observe(text="I look.", ms=1, calls=[{"tool": "look", "args": args}])
    args["at"] = "key"
    assert guard.recording()["steps"][0]["calls"] == [{"tool": "look", "args": {"at": "Infinity"}}]
