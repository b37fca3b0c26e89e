"""Limits that a task sets itself override those of the preset."""

from __future__ import annotations

import pytest

from harness.guards.max_iterations import MaxIterations
from harness.guards.max_rounds import MaxRounds
from harness.guards.patience import Patience
from harness.guards.spin import Spin
from harness.guards.stagnation import Stagnation
from harness.preset import load_preset
from harness.task import Limits
from tests.examples import preset


@pytest.mark.parametrize(
    ("expected", "before", "limits"),
    [
        pytest.param(
            {"max_rounds": MaxRounds(threshold=2)},
            {"max_rounds": MaxRounds()},
            {"max_rounds": 2},
            id="it sets the threshold",
        ),
        pytest.param(
            {"max_iterations": MaxIterations(threshold=9)},
            {"max_iterations": MaxIterations()},
            {"max_iterations": 9},
            id="what pauses goes on to pause",
        ),
        pytest.param(
            {"max_iterations": MaxIterations(threshold=9, on_fire="stop")},
            {},
            {"max_iterations": 9},
            id="what the preset lacks is added as stop",
        ),
        pytest.param(
            {"spin": Spin(threshold=5, on="text", on_fire="stop")},
            {"spin": Spin(on="text", on_fire="warn")},
            {"spin": 5},
            id="warnings are removed",
        ),
        pytest.param(
            {"spin": Spin(threshold=5, on_fire=("switch_strategy", "stop"))},
            {"spin": Spin(on_fire=("warn", "nudge", "switch_strategy", "stop"))},
            {"spin": 5},
            id="warnings of a ladder are removed",
        ),
        pytest.param(
            {"spin": Spin(threshold=5, on_fire={"6": "stop"})},
            {"spin": Spin(on_fire={"3": "warn", "6": "stop"})},
            {"spin": 5},
            id="warnings of a ladder by level are removed",
        ),
        pytest.param(
            {"patience": Patience(threshold=3, on_fire="stop")},
            {"stagnation": Stagnation()},
            {"patience": 3},
            id="patience replaces stagnation",
        ),
        pytest.param(
            {"patience": Patience(threshold=3, on_fire="stop")},
            {"slow": Stagnation(window=9)},
            {"patience": 3, "min_delta": 0.1},
            id="under any name, and though it is limited too",
        ),
        pytest.param(
            {"stagnation": Stagnation(window=5, threshold=0.1)},
            {"stagnation": Stagnation()},
            {"stagnation_window": 5, "min_delta": 0.1},
            id="two limits of one guard",
        ),
        pytest.param(
            {"stagnation": Stagnation(window=5, on_fire="stop")},
            {},
            {"stagnation_window": 5},
            id="an added guard has its other defaults",
        ),
        pytest.param(
            {"mine": Spin(threshold=5, on="text")},
            {"mine": Spin(on="text")},
            {"spin": 5},
            id="a guard under another name",
        ),
        pytest.param(
            {"max_rounds": MaxRounds(threshold=0)},
            {"max_rounds": MaxRounds()},
            {"max_rounds": 0},
            id="zero is a value",
        ),
        pytest.param({"spin": Spin()}, {"spin": Spin()}, {}, id="no limits"),
    ],
)
def test_limits_of_the_task_override_the_preset(expected, before, limits):
    assert expected == preset(**before).with_limits(Limits(**limits)).guards


@pytest.mark.parametrize(
    ("expected", "kind", "limits"),
    [
        (1_500, "time_budget", {"time_budget_s": 1.5}),
        (250_000_000_000, "cost_budget", {"cost_budget_usd": 0.25}),
        (0.9, "quality", {"quality": 0.9}),
        (7, "token_budget", {"token_budget": 7}),
        (7, "tool_budget", {"tool_budget": 7}),
        (7, "oscillation", {"oscillation": 7}),
        (7, "parse_failures", {"parse_failures": 7}),
    ],
)
def test_units_of_a_limit(expected, kind, limits):
    guard = preset().with_limits(Limits(**limits)).guards[kind]
    assert (expected, "stop") == (guard.threshold, guard.action)


def test_the_watchdog_of_the_task():
    assert load_preset("strict").mechanisms.verification.watchdog_s == 120
    limited = load_preset("strict").with_limits(Limits(watchdog_s=30))
    assert limited.mechanisms.verification.watchdog_s == 30
    assert load_preset("engine").with_limits(Limits(watchdog_s=30)).mechanisms.verification is None
