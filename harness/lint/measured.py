"""What guards measure in the first iteration of scenarios: a look at real data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.files import load
from harness.guards import Guard, fires
from harness.loop import run_episode
from harness.preset import Preset
from harness.presetfile import MAX_THRESHOLD
from harness.scenario import Scenario
from harness.trace import Direction
from harness.turns import prepare


@dataclass(frozen=True, slots=True)
class First:
    """The first iteration of one scenario: signals by guard, those that are known."""

    direction: Direction
    signals: dict[str, float]

    def fires(self, name: str, guard: Guard) -> bool:
        """Whether the guard fires on what was measured; a task's own limits do not count."""
        return fires(self.signals[name], guard.compares(self.direction), guard.threshold)


def openings(paths: Iterable[str | Path]) -> list[Scenario]:
    """Scenarios cut down to their first step.

    Raises:
        ScenarioError: Files that cannot be used.
    """
    return [one.model_copy(update={"steps": one.steps[:1]}) for one in load(paths)]


def measure(
    preset: Preset, scenarios: Iterable[Scenario], *, only_budgets: bool = False
) -> list[First]:
    """What the guards of a preset measure in each scenario's first iteration.

    Args:
        preset: Whose guards and mechanisms.
        scenarios: Their first steps are enough: see ``openings``.
        only_budgets: Others' scenarios tell what a call costs, but not how one's own are scored.
    """
    kept = {
        name
        for name, guard in preset.guards.items()
        if not preset.observe and (is_budget(guard) if only_budgets else True)
    }
    if not kept:
        return []
    found = []
    for scenario in scenarios:
        episode = run_episode(prepare(scenario, wait_ms=preset.wait_ms), preset, observe=True)
        signals = {
            one.guard: one.signals[0]
            for one in episode.series
            if one.guard in kept and not one.unknown[0]
        }
        found.append(First(scenario.direction, signals))
    return found


def is_budget(guard: Guard) -> bool:
    """Whether it limits what is used up, of which one iteration can take any amount."""
    if guard.exit_reason.group != "limit" or hasattr(guard, "guards"):
        return False
    return replace(guard, threshold=MAX_THRESHOLD).earliest() == 1
