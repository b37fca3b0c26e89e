"""Runs that were broken off, by a signal, a wrong file or a store that is held: nothing is lost."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest

import harness.worker
from harness.preset import load_preset, load_presets
from harness.run import run
from harness.store.database import Store
from tests.stored import ODD, everything, jsonl, loop, pairs, refusal, state, work

PRESETS = load_presets(["observe", "balanced", "reflection"])
FAST = load_presets(["fast"])
FEW = [ODD, loop("up", 0.2, 0.5, 0.9), loop("flat", 0.5, 0.5, 0.5, 0.5, 0.5), loop("none", None)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store.duckdb")


@pytest.fixture
def file(tmp_path):
    return jsonl(tmp_path / "few.jsonl", *FEW)


BREAK_OFF = """
import sys, harness.run, harness.worker
from harness.preset import load_presets
from harness.store.database import Store
harness.worker.BATCH_ITERATIONS = 100
harness.run.run([sys.argv[1]], load_presets(["fast", "balanced"]), Store(sys.argv[2]), run_id="one")
"""


def test_a_killed_run_is_resumed_without_doubles_or_gaps(tmp_path, store):
    loops = [loop(str(n), 0.1, 0.2 + n / 1e4, 0.3, 0.4) for n in range(200)]
    file = jsonl(tmp_path / "many.jsonl", *loops)
    store.create()
    command = [sys.executable, "-W", "ignore", "-c", BREAK_OFF, file, store.path]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        while not store.rows("FROM episodes LIMIT 1"):
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
    kept = everything(store, "one")
    stored = len(kept[0])
    assert 0 < stored < 400
    assert state(store, "one") == "running"

    presets = load_presets(["fast", "balanced"])
    result = run([file], presets, store, run_id="one", resume=True)
    assert (result.episodes, result.skipped) == (400 - stored, stored)
    assert state(store, "one") == "complete"
    for before, now in zip(kept, everything(store, "one"), strict=True):
        assert [row for row in now if row in before[:50]] == before[:50]
    unbroken = Store(tmp_path / "unbroken.duckdb")
    run([file], presets, unbroken, run_id="one")
    assert work(store, "one") == work(unbroken, "one")
    assert len(set(pairs(store, "one"))) == 400


def test_resuming_a_complete_run_does_nothing(file, store):
    run([file], PRESETS, store, run_id="one")
    before = everything(store, "one")
    result = run([file], PRESETS, store, run_id="one", resume=True)
    assert (result.episodes, result.skipped) == (0, 12)
    assert everything(store, "one") == before


def test_resuming_rewrites_what_became_stale(tmp_path, store):
    file = jsonl(tmp_path / "some.jsonl", loop("a", 0.1), loop("b", 0.2))
    run([file], PRESETS, store, run_id="one")
    run([file], PRESETS, store, run_id="other")
    others = everything(store, "other")
    jsonl(file, loop("a", 0.1), loop("b", 0.2, 0.3), loop("c", 0.4))
    result = run([file], PRESETS, store, run_id="one", resume=True)
    assert (result.episodes, result.skipped) == (6, 3)
    assert everything(store, "other") == others
    run([file], PRESETS, store, run_id="fresh")
    assert work(store, "one") == work(store, "fresh")


def test_resuming_rewrites_what_a_changed_preset_made_stale(tmp_path, file, store):
    mine = tmp_path / "mine.toml"
    head = 'schema = "harness/preset@1"\n[guards]\n'
    mine.write_text(f"{head}max_iterations = 2\n")
    run([file], [load_preset(str(mine))], store, run_id="one")
    mine.write_text(f"{head}max_iterations = 3\n")
    result = run([file], [load_preset(str(mine))], store, run_id="one", resume=True)
    assert (result.episodes, result.skipped) == (4, 0)
    assert len(pairs(store, "one")) == 4


@pytest.mark.parametrize(
    ("line", "workers"),
    [("{broken", 1), ("{broken", 2), ('{"schema": "generate"}', 1), ("[]", 1), ('{"id": 7}', 1)],
)
def test_a_malformed_line_keeps_what_came_before_and_says_how_to_go_on(
    line, workers, tmp_path, store
):
    good = [loop(f"{n}", 0.5) for n in range(5)]
    file = jsonl(tmp_path / "some.jsonl", *good[:3], line, *good[3:])
    message = refusal(run, [file], FAST, store, run_id="one", workers=workers)
    assert message.startswith(f"{file}:4: ")
    assert message.endswith("[3 episodes are stored; once mended, go on with: --resume one]")
    assert (len(pairs(store, "one")), state(store, "one")) == (3, "failed")

    jsonl(file, *good)
    result = run([file], FAST, store, run_id="one", resume=True)
    assert (result.episodes, result.skipped, state(store, "one")) == (2, 3, "complete")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_id_that_is_used_twice_names_both_places(workers, tmp_path, store, monkeypatch):
    monkeypatch.setattr(harness.worker, "BATCH_ITERATIONS", 1)
    file = jsonl(tmp_path / "some.jsonl", loop("a", 0.5), loop("b", 0.5), loop("a", 0.6))
    message = refusal(run, [file], FAST, store, run_id="one", workers=workers)
    expected = rf"{re.escape(str(file))}:3: id 'made/a' is already used at {file}:1"
    assert re.match(expected, message)
    if workers == 1:
        assert message.endswith("[2 episodes are stored; once mended, go on with: --resume one]")
    assert state(store, "one") == "failed"


def test_a_run_id_is_used_once(file, store):
    run([file], FAST, store, run_id="one")
    message = refusal(run, [file], FAST, store, run_id="one")
    assert "run 'one' exists; go on with it: --resume one, or choose another name" in message
    assert len(pairs(store, "one")) == 4


def test_only_a_known_run_is_resumed(file, store):
    assert "no run 'one' to resume; it has: none" in refusal(
        run, [file], FAST, store, run_id="one", resume=True
    )
    run([file], FAST, store, run_id="two")
    assert "no run 'one' to resume; it has: two" in refusal(
        run, [file], FAST, store, run_id="one", resume=True
    )


HOLD = """
import sys, duckdb
sys.stdin.readline()
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_store_that_is_held_keeps_what_was_written(file, tmp_path, store, monkeypatch):
    """A run that cannot write any more stays ``running``: it can be resumed."""
    monkeypatch.setattr(harness.worker, "BATCH_ITERATIONS", 1)
    command = [sys.executable, "-c", HOLD, store.path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as holding:

        def hold(done, _):
            if done == 1:
                holding.stdin.write("now\n")
                holding.stdin.flush()
                assert holding.stdout.readline() == "held\n"

        impatient = Store(store.path, wait_s=0.2)
        message = refusal(run, [file], FAST, impatient, run_id="one", on_progress=hold)
        holding.kill()
    assert "another process has held it for 0.2 s" in message
    assert state(store, "one") == "running"
    result = run([file], FAST, store, run_id="one", resume=True)
    assert (result.episodes, result.skipped) == (3, 1)
