"""Stopping policies on 1,000 real refinement loops: the store's view against a plain loop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings
from harness.preset import load_preset
from harness.run import run
from harness.store.database import Store

RUN_FIRST = (1, 5, 10)
PATIENCE = (1, 2, 3, 5)


def preset_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """`run k` and `target met, else patience p`, as a user would write them."""
    for k in RUN_FIRST:
        yield f"run-{k}", folder / f"run-{k}.toml"
        (folder / f"run-{k}.toml").write_text(
            'schema = "harness/preset@1"\n'
            f'[guards]\nmax_iterations = {{ threshold = {k}, on_fire = "stop" }}\n'
        )
    for p in PATIENCE:
        yield f"patience-{p}", folder / f"patience-{p}.toml"
        (folder / f"patience-{p}.toml").write_text(
            f'schema = "harness/preset@1"\n[guards]\nquality = 0.0\npatience = {p}\n'
        )


def stop_of(policy: str, errors: list[float | None]) -> int:
    """The iteration at which a policy stops, by a plain loop over the errors."""
    kind, number = policy.split("-")
    if kind == "run":
        return int(number)
    best, since = float("inf"), 0
    for iteration, error in enumerate(errors, 1):
        if error is None:
            continue
        best, since = (error, 0) if error < best else (best, since + 1)
        if error <= 0 or since >= int(number):
            return iteration
    return len(errors)


def figures(policy: str, runs: list[dict[str, Any]]) -> tuple[float, int]:
    """Iterations a trial, and trials where a later iteration was better."""
    iterations = later = 0
    for recording in runs:
        errors = [step.get("score") for step in recording["steps"]]
        stop = stop_of(policy, errors)
        iterations += stop
        known = [error for error in errors if error is not None]
        seen = [error for error in errors[:stop] if error is not None]
        later += min(known) < min(seen)
    return iterations / len(runs), later


@pytest.fixture(scope="module")
def trials(corpora: Path) -> list[dict[str, Any]]:
    return list(recordings("loopgain", corpora / "loopgain_bench"))


def test_the_view_agrees_with_a_plain_loop(trials: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "loopgain.jsonl"
    path.write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    files = dict(preset_files(tmp_path))
    presets = [load_preset("observe"), *(load_preset(str(file)) for file in files.values())]
    store = Store(tmp_path / "store.duckdb")
    run([path], presets, store, run_id="policies")

    rows = store.rows("SELECT * FROM policies WHERE preset <> 'observe'")
    found = {row["preset"]: row for row in rows}

    assert set(found) == set(files)
    for policy in files:
        iterations, later = figures(policy, trials)
        assert found[policy]["iterations_per_episode"] == pytest.approx(iterations, abs=1e-12)
        assert found[policy]["later_better"] == later
        assert found[policy]["comparable"] == len(trials)
    everything = store.rows("SELECT cost_pico_usd FROM policies WHERE preset = 'observe'")
    # What the source says that the loops cost, to a hundredth of a cent.
    assert everything[0]["cost_pico_usd"] == pytest.approx(13.7067 * 10**12, rel=1e-5)
