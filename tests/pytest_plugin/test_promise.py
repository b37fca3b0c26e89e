"""What the plugin is for: a threshold changes, and exactly the scenarios that it moves fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.files import bundled_scenarios, load
from harness.loop import run_episode
from harness.preset import load_preset
from harness.turns import prepare

#: A change to the preset `reflection`, and scenarios that it has to move, among others.
CHANGES = {
    "stagnation = { min_delta = 0.05 }": {"reflection/float-edge"},
    "stagnation = { window = 3 }": {"reflection/plateau", "reflection/falling-score"},
    "max_rounds = 3": {"reflection/unscored-rounds"},
    "repetition = false": {"repetition/feedback-word-for-word"},
    "quality = 0.5": {"reflection/plateau"},
}


def expecting() -> list[Path]:
    """The bundled files that say how `reflection` ends."""
    files = sorted(bundled_scenarios().rglob("*.yaml"))
    return [file for file in files if "reflection:" in file.read_text("utf-8")]


def ends(preset) -> dict[str, tuple[str, int]]:
    """How each scenario with an expectation of `reflection` ends under a preset."""
    found = {}
    for scenario in load(expecting()):
        if "reflection" in scenario.expect:
            episode = run_episode(prepare(scenario, wait_ms=preset.wait_ms), preset)
            found[scenario.id] = (episode.exit_reason.value, episode.exit_iteration)
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_fails_exactly_the_scenarios_whose_exit_moves(project, change):
    shutil.rmtree(project.path / "scenarios")
    for file in expecting():
        copy = project.path / "scenarios" / file.relative_to(bundled_scenarios())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    project.write(
        "presets/reflection.toml",
        f'schema = "harness/preset@1"\nextends = "reflection"\n[guards]\n{change}\n',
    )
    before = ends(load_preset("reflection"))
    after = ends(load_preset(str(project.path / "presets/reflection.toml")))
    moved = {name for name in before if before[name] != after[name]}
    assert moved >= CHANGES[change]

    result = project.run("--harness-preset", "reflection", "-rf", "--show-capture=no")
    result.assert_outcomes(failed=len(moved), passed=len(before) - len(moved))
    failed = [line for line in result.outlines if line.startswith("FAILED ")]
    assert {line.split()[1] for line in failed} == {
        f"scenarios/{name}.yaml::reflection" for name in moved
    }
