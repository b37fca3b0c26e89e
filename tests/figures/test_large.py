"""Figures of 200,000 episodes and 2,000,000 iterations: each under 2 s, the process under 1 GiB."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.figures.large import make_large

MEASURE = """
import json, resource, sys, time
from harness import figures
from harness.figures import Chosen
from harness.figures.cheapest import cheapest
from harness.store.database import Store

store, chosen, taken = Store(sys.argv[1]), Chosen(runs=("large",)), {}
def timed(name, ask):
    begin = time.perf_counter()
    found = ask()
    taken[name] = time.perf_counter() - begin
    return found
for name in ("exits", "trend", "totals", "matrix", "differing", "episodes", "count", "lengths",
             "guards", "mechanisms", "decided", "roles"):
    timed(name, lambda: getattr(figures, name)(store, chosen))
for name in ("runs", "choices", "lessons", "data"):
    timed(name, lambda: getattr(figures, name)(store))
timed("paired", lambda: figures.paired(store, chosen, "observe"))
timed("cheapest", lambda: cheapest(store, chosen))
one = figures.episodes(store, chosen, limit=1)["episode_id"][0]
timed("episode", lambda: figures.episode(store, one))
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": taken, "bytes": memory}))
"""


@pytest.mark.slow
def test_a_large_store_answers_at_once(tmp_path):
    make_large(tmp_path / "large.duckdb")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path / "large.duckdb"],
        check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert {name: s for name, s in found["seconds"].items() if s > 2} == {}
    assert found["bytes"] < 2**30
