"""The scenarios that come with the harness: what they are for, and that they show every guard.

What they expect is tested by the plugin: pytest collects the scenario files themselves.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from harness.compare.baseline import of_run
from harness.compare.file import text_of
from harness.episode import Episode
from harness.files import bundled_scenarios, find, load
from harness.guards import catalogue
from harness.loop import run_episode
from harness.preset import DEFAULTS, load_preset, load_presets
from harness.run import run
from harness.store.database import Store
from harness.turns import prepare

SCENARIOS = {scenario.id: scenario for scenario in load([bundled_scenarios()])}
WRITTEN = {name: s for name, s in SCENARIOS.items() if s.family != "generated"}
HEALTHY = [name for name, s in SCENARIOS.items() if s.family == "healthy"]
FAMILIES = {
    "reflection", "repetition", "spin", "budgets", "triage", "phases", "continuity", "healthy",
    "generated", "judge", "issues", "perception", "spin_layers", "verification", "lessons",
    "marker", "together",
}  # fmt: skip
#: Kinds that need other guards.
UNSHOWN = {"all_of", "any_of"}
SHOWN = sorted(set(catalogue()) - UNSHOWN)


@cache
def replayed(name: str, preset: str) -> Episode:
    chosen = load_preset(preset)
    return run_episode(prepare(SCENARIOS[name], wait_ms=chosen.wait_ms), chosen)


def test_every_family_is_there():
    assert {scenario.family for scenario in SCENARIOS.values()} == FAMILIES


def test_at_least_thirty_are_written_by_hand():
    assert len(WRITTEN) >= 30


@pytest.mark.parametrize("name", WRITTEN)
def test_every_scenario_says_what_a_sensible_user_expects_and_why(name):
    truth = WRITTEN[name].truth
    assert truth is not None
    assert truth.why.strip()


def test_every_expectation_names_a_default_preset():
    named = {preset for scenario in SCENARIOS.values() for preset in scenario.expect}
    assert named <= set(DEFAULTS)


def test_ids_are_paths():
    root = bundled_scenarios()
    paths = [path.relative_to(root).with_suffix("") for path in find([root])]
    written = sorted(str(path) for path in paths if path.parts[0] != "generated")
    assert written == sorted(WRITTEN)
    members = Counter(name.rsplit("-", 1)[0] for name in SCENARIOS if name not in WRITTEN)
    assert sorted(str(p) for p in paths if p.parts[0] == "generated") == sorted(members)
    assert Path(next(iter(WRITTEN))).parts[0] == SCENARIOS[next(iter(WRITTEN))].family


@pytest.mark.parametrize("name", HEALTHY)
def test_balanced_lets_a_healthy_loop_finish(name):
    episode = replayed(name, "balanced")
    ended_early = episode.exit_iteration < len(SCENARIOS[name].steps)
    assert not (ended_early and episode.exit_group in ("stuck", "limit")), episode.message


@pytest.fixture(scope="module")
def observed():
    """Every known reading of each kind of guard under `observe`: signal, threshold, fired."""
    found: dict[str, list[tuple[float, float, bool]]] = {kind: [] for kind in catalogue()}
    for name in SCENARIOS:
        for series in replayed(name, "observe").series:
            readings = zip(series.signals, series.fired, series.unknown, strict=True)
            found[series.kind] += [(s, series.threshold, f) for s, f, u in readings if not u]
    return found


@pytest.mark.parametrize("kind", SHOWN)
def test_every_guard_fires_somewhere_and_is_silent_elsewhere(kind, observed):
    """Where `observe` has no threshold of its own, some threshold would tell the loops apart."""
    readings = observed[kind]
    if all(threshold == float("inf") for _, threshold, _ in readings):
        highest = max(signal for signal, _, _ in readings)
        assert {True, False} == {signal >= highest for signal, _, _ in readings}
    else:
        assert {True, False} == {fired for _, _, fired in readings}


def test_nothing_ends_otherwise_than_in_the_committed_baseline(tmp_path):
    """Every bundled scenario under every default preset, byte for byte.

    To accept a change: harness run --run new && harness bless new --output tests/bundled.tsv
    """
    store = Store(tmp_path / "runs.duckdb")
    run([bundled_scenarios()], load_presets(DEFAULTS), store, run_id="new")
    found = text_of(of_run(store, "new").episodes.values())
    assert found == (Path(__file__).parent / "bundled.tsv").read_text("utf-8")
