"""Runs: the same work again, by one process or several, and what cannot be run."""

from __future__ import annotations

import pytest

import harness.worker
from harness.preset import load_presets
from harness.run import new_run_id, run
from harness.store.database import Store
from tests.stored import ODD, everything, jsonl, loop, pairs, refusal, state, work

PRESETS = load_presets(["observe", "balanced", "reflection"])
FAST = load_presets(["fast"])
FEW = [ODD, loop("up", 0.2, 0.5, 0.9), loop("flat", 0.5, 0.5, 0.5, 0.5, 0.5), loop("none", None)]
FAMILY = '{"schema":"harness/scenario@1","id":"made/family","goal":"g","generate":%s}'


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store.duckdb")


@pytest.fixture
def file(tmp_path):
    return jsonl(tmp_path / "few.jsonl", *FEW)


# -- the same again --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_run_again_gives_the_same_rows(workers, file, store):
    first = run([file], PRESETS, store, run_id="first")
    before = everything(store, "first")
    again = run([file], PRESETS, store, run_id="again", workers=workers)
    assert (first.episodes, again.episodes, again.scenarios) == (12, 12, 4)
    assert work(store, "again") == work(store, "first")
    assert everything(store, "first") == before
    ids = [{row["episode_id"] for row in everything(store, r)[0]} for r in ("first", "again")]
    assert not ids[0] & ids[1]
    assert (state(store, "first"), state(store, "again")) == ("complete", "complete")


def test_batches_and_workers_change_nothing(file, store, monkeypatch):
    run([file], PRESETS, store, run_id="whole")
    monkeypatch.setattr(harness.worker, "BATCH_ITERATIONS", 1)
    run([file], PRESETS, store, run_id="cut")
    assert work(store, "cut") == work(store, "whole")


def test_a_run_id_is_new_at_each_invocation():
    assert len({new_run_id() for _ in range(3)}) == 3


def test_repetitions_are_episodes_of_their_own(file, store):
    result = run([file], FAST, store, run_id="one", repetitions=3)
    assert (result.scenarios, result.episodes) == (4, 12)
    counts = store.rows("SELECT repetition, count(*) AS n FROM episodes GROUP BY ALL ORDER BY ALL")
    assert counts == [{"repetition": n, "n": 4} for n in range(3)]
    assert len(set(pairs(store, "one"))) == 12


def test_observing_is_other_work_than_acting(file, store):
    run([file], FAST, store, run_id="acting")
    run([file], FAST, store, run_id="observing", observe=True)
    assert not set(pairs(store, "acting")) & set(pairs(store, "observing"))
    longest = "SELECT max(exit_iteration) AS n FROM episodes WHERE run_id = 'observing'"
    assert store.rows(longest) == [{"n": 5}]


def test_a_family_is_replayed_in_parts(tmp_path, store, monkeypatch):
    file = jsonl(tmp_path / "family.jsonl", FAMILY % '{"process":"plateau","n":250,"seed":7}')
    steps = []
    result = run([file], FAST, store, run_id="one", on_progress=lambda *done: steps.append(done))
    assert (result.scenarios, result.episodes) == (250, 250)
    assert steps[0] == (100, 250)
    assert steps[-1] == (250, 250)
    assert store.rows("SELECT min(scenario) AS a, max(scenario) AS z FROM episodes") == [
        {"a": "made/family-001", "z": "made/family-250"}
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_rises_to_the_total(workers, file, store):
    steps = []
    run([file], FAST, store, workers=workers, on_progress=lambda *done: steps.append(done))
    assert steps == sorted(steps)
    assert steps[-1] == (4, 4)


# -- what is wrong ---------------------------------------------------------------------------


def test_there_must_be_something_to_replay(tmp_path, store):
    empty = jsonl(tmp_path / "empty.jsonl")
    assert refusal(run, [empty], FAST, store) == f"scenarios: none found in {empty}"
    assert refusal(run, [], FAST, store) == "scenarios: none found in nothing"
    assert "needs at least one preset" in refusal(run, [jsonl(empty, *FEW)], [], store)
    assert not store.path.exists()


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"repetitions": 0}])
def test_workers_and_repetitions_are_counts(wrong, file, store):
    assert "must be 1 or more" in refusal(run, [file], FAST, store, **wrong)
