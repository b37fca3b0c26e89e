"""What every adapter's test asks of a guard, and presets to ask it with."""

from __future__ import annotations

from harness import LoopGuard, load_preset, prepare, run_episode
from harness.preset import Preset
from harness.scenario import Scenario

GOAL = "Make the tests pass."


def replayed(guard: LoopGuard, preset: str | Preset = "balanced") -> tuple[str, int]:
    """How the loop ended, after its recording was replayed and decided the same."""
    found = load_preset(preset) if isinstance(preset, str) else preset
    live = guard.episode()
    again = run_episode(prepare(Scenario.model_validate(guard.recording())), found)
    assert [(d.name, d.exit, d.ends, d.conditions) for d in again.decisions] == [
        (d.name, d.exit, d.ends, d.conditions) for d in live.decisions
    ]
    assert again.series == live.series
    assert (again.exit_reason, again.status, again.message, again.replay) == (
        live.exit_reason, live.status, live.message, live.replay,
    )  # fmt: skip
    return again.exit_reason.value, len(again.iterations)
