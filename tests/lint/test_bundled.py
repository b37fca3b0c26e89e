"""Bundled presets: the harness's own are clean, and what is found in peers' is known."""

from __future__ import annotations

import pytest

from harness.files import bundled_scenarios
from harness.lint import lint
from harness.lint.measured import measure, openings
from harness.preset import DEFAULTS, bundled, load_preset
from harness.task import Limits

#: What peers leave out by default: nothing ends a loop that neither repeats itself nor fails.
PEERS = {
    "peer-deepagents-2026-08": ["no-hard-limit"],
    "peer-gemini-cli-2026-08": ["no-hard-limit"],
    "peer-gptme-2026-08": ["no-hard-limit"],
    "peer-hermes": ["no-hard-limit"],
    "peer-opencode-2026-09": ["no-hard-limit"],
    "peer-openhands-v0-2025-11": ["no-hard-limit"],
    "peer-openrouter-2026-08": ["no-hard-limit"],
    "peer-ralph-2026-07": ["no-hard-limit"],
    "peer-roo-code-2026-04": ["no-hard-limit"],
}


@pytest.fixture(scope="module")
def first_steps():
    return openings([bundled_scenarios()])


@pytest.mark.parametrize("name", bundled())
def test_what_is_found(name, first_steps):
    found = lint(name, measure(load_preset(name), first_steps))
    assert [one.code for one in found] == PEERS.get(name, [])
    assert name not in PEERS or name not in DEFAULTS


def test_budgets_are_measured_on_real_first_iterations(first_steps, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'schema = "harness/preset@1"\nextends = "reflection"\n[guards]\n'
        "time_budget = { limit_s = 0.001 }\ntoken_budget = 10\ntool_budget = 1\n"
    )
    preset = load_preset(str(path))
    found = lint(str(path), measure(preset, first_steps))
    assert [(one.code, one.key, one.line) for one in found] == [
        ("budget-below-one-call", "guards.time_budget.threshold", 4),
        ("budget-below-one-call", "guards.token_budget.threshold", 5),
        ("budget-below-one-call", "guards.tool_budget.threshold", 6),
    ]


def test_a_task_limit_does_not_count(first_steps, tmp_path):
    """A scenario that allows itself 5 tokens says nothing against the preset."""
    path = tmp_path / "mine.toml"
    path.write_text('schema = "harness/preset@1"\n[guards]\ntoken_budget = 1_000_000\n')
    strict = [one.model_copy(update={"limits": Limits(token_budget=5)}) for one in first_steps]
    assert lint(str(path), measure(load_preset(str(path)), strict)) == []
