"""An application takes part: at the start, after each action, after each iteration, at the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import LoopGuard, Scenario, load_preset, prepare, run_episode
from harness.episode import Episode
from harness.hooks import After, Hooks
from harness.llm import ScriptedLLM

FUZZ = {"tool": "fuzz", "args": {"path": "/login"}, "result": "200", "ok": True, "ms": 5}
SEEN = json.dumps({"topics": ["login form"], "summary": "Fuzzing the login.", "confidence": 0.9})


def test_every_hook_is_called_in_its_place() -> None:
    told: list[After] = []
    ended: list[Episode] = []
    hooks = Hooks(
        init=lambda task: f"start of: {task.goal}",
        handler=lambda turn: {"reflection": {"level": "none"}} if turn.calls else None,
        after=told.append,
        finalise=ended.append,
    )
    llm = ScriptedLLM({"perception": [SEEN] * 9})
    with LoopGuard("strict", goal="Fuzz the login.", llm=llm, hooks=hooks) as guard:
        for _ in range(3):
            guard.observe(text="Again.", calls=[FUZZ])
    assert [after.iteration for after in told] == [1, 2, 3]
    assert [after.spinning for after in told] == [False, False, True]
    assert told[-1].warnings == 1
    assert told[0].perception is not None
    assert told[0].perception.topics == ("login form",)
    assert [e.event for e in guard.session.course.iterations[0].events if
            e.mechanism in ("perception", "reflection")] == ["skip", "reset", "run"]  # fmt: skip
    (episode,) = ended
    assert "after 3 iterations" in episode.summary


def test_finalise_is_called_when_the_loop_breaks() -> None:
    ended: list[Episode] = []

    def loop() -> None:
        with LoopGuard("balanced", goal="g", hooks=Hooks(finalise=ended.append)) as guard:
            guard.observe(text="One turn.")
            raise RuntimeError("the agent broke")

    with pytest.raises(RuntimeError, match="the agent broke"):
        loop()
    assert len(ended) == 1


def test_a_handler_can_end_the_loop_and_its_recording_ends_the_same() -> None:
    def over(turn: Any) -> dict[str, bool] | None:
        return {"exit": True} if "done" in turn.reply.text else None

    guard = LoopGuard("balanced", goal="g", hooks=Hooks(handler=over))
    assert not guard.observe(text="Working.", calls=[FUZZ]).ends
    decision = guard.observe(text="All done.", calls=[{**FUZZ, "args": {"path": "/x"}}])
    assert (decision.ends, decision.exit) == (True, "agent_finished")
    replayed = run_episode(
        prepare(Scenario.model_validate(guard.recording())), load_preset("balanced")
    )
    assert replayed.exit_reason == "agent_finished"
