"""What `balanced` promises: it ends few good runs early and flags most that went nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files import load
from harness.importers import recordings
from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare

GOOD = {"tau-bench": 84, "webshop": 367, "fever": 270, "mini-swe": 371}
SOURCES = {
    "tau-bench": ("tau-bench", "tau_bench/gpt-4o-airline.json"),
    "webshop": ("react", "react_webshop_fever/derived_webshop.jsonl"),
    "fever": ("react", "react_webshop_fever/derived_fever.jsonl"),
    "mini-swe": ("mini-swe-agent", "mini_swe_agent_gemini3/trajectories_500.jsonl.gz"),
}


def test_false_stops_and_flags_on_real_recordings(corpora: Path) -> None:
    balanced = load_preset("balanced")
    good: dict[str, int] = dict.fromkeys(SOURCES, 0)
    early: dict[str, int] = dict.fromkeys(SOURCES, 0)
    flagged = unscored = 0
    for name, (importer, file) in SOURCES.items():
        for recording in recordings(importer, corpora / file):
            success = recording["recorded"].get("outcome") == "success"
            lost = "score:none" in recording["tags"]
            if not (success or lost):
                continue
            episode = run_episode(prepare(Scenario.model_validate(recording)), balanced)
            if success:
                good[name] += 1
                early[name] += episode.exit_iteration < len(recording["steps"])
            else:
                unscored += 1
                flagged += episode.exit_group in ("stuck", "limit", "paused")
    assert good == GOOD
    assert {name: n for name, n in early.items() if n / good[name] > 0.04} == {}
    assert sum(early.values()) / sum(good.values()) <= 0.02, early
    assert (unscored, flagged >= 0.6 * unscored) == (40, True), flagged


def test_verdicts_on_reported_cases(corpora: Path) -> None:
    """Every case without the tag `api` ends acceptably and in time."""
    cases = corpora.parent / "cases"
    if not cases.is_dir():
        pytest.skip("no reported cases beside the corpora")
    balanced = load_preset("balanced")
    wrong = []
    for scenario in load([cases]):
        truth = scenario.truth
        if truth is None or "api" in scenario.tags:
            continue
        episode = run_episode(prepare(scenario), balanced)
        decided = episode.exit_guard is not None
        if not decided:
            right = truth.verdict in ("continue", "warn") or truth.contestable
            right = right or episode.exit_reason in truth.reasons
        else:
            at = episode.exit_iteration
            in_time = (truth.not_before or 0) <= at <= (truth.by or at)
            right = truth.verdict != "continue" and in_time and episode.exit_reason in truth.reasons
        if not right:
            wrong.append((scenario.id, episode.exit_reason.value, episode.exit_iteration))
    assert wrong == []
