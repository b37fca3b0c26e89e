"""``harness store``: what a store holds, forgetting, giving space back, Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.preset import load_presets
from harness.run import run
from harness.store import upkeep
from harness.store.database import Store
from tests.cli.conftest import Cli
from tests.stored import everything, jsonl, loop, refusal

TABLES = ("episodes", "iterations", "guard_series", "calls", "llm_calls", "spans")


@pytest.fixture
def store(here: Path) -> Store:
    """Three runs, one a second: of two loops, of one of them, and of a third."""
    made = Store(here / "harness.duckdb")
    loops = {name: loop(name, 0.1, 0.2, 0.3) for name in ("a", "b", "c")}
    for number, (name, chosen) in enumerate({"one": "ab", "two": "a", "three": "c"}.items(), 1):
        file = jsonl(here / f"{name}.jsonl", *(loops[each] for each in chosen))
        run([file], load_presets(["balanced"]), made, run_id=name)
        made.execute("UPDATE runs SET created_ms = ? WHERE run_id = ?", [number * 86_400_000, name])
    return made


def names(store: Store) -> list[str]:
    return [row["run_id"] for row in store.rows("FROM runs ORDER BY created_ms")]


def test_info(harness: Cli, store: Store) -> None:
    (line,) = harness("store", "info", "--json").lines
    assert [r["run_id"] for r in line["runs"]] == ["one", "two", "three"]
    assert [r["episodes"] for r in line["runs"]] == [2, 1, 1]
    assert (line["rows"]["episodes"], line["schema_version"]) == (4, "2")
    assert line["bytes"] == store.path.stat().st_size
    shown = harness("store", "info").out
    assert "1970-01-02 00:00" in shown
    assert all(len(row) <= 80 for row in shown.splitlines()[1:])


def test_forgetting_leaves_the_other_runs_and_their_texts_as_they_were(store: Store) -> None:
    before = everything(store, "two"), everything(store, "three")
    upkeep.forget(store, ["one"])
    assert (everything(store, "two"), everything(store, "three")) == before
    assert names(store) == ["two", "three"]
    texts = {row["text"] for row in store.rows("FROM messages")}
    assert "Draft 1 of a." in texts
    assert not any(text.endswith("of b.") for text in texts)
    assert {row["scenario"] for row in store.rows("FROM scenarios")} == {"made/a", "made/c"}
    assert {t: store.rows(f"SELECT count(*) AS n FROM {t} WHERE run_id = 'one'")[0]["n"]
            for t in TABLES} == dict.fromkeys(TABLES, 0)  # fmt: skip


PRUNED = {
    ("--keep", "1"): ["three"],
    ("--keep", "9"): ["one", "two", "three"],
    ("--keep", "0"): [],
    ("--before", "1970-01-03"): ["two", "three"],
    ("--keep", "0", "--dry-run"): ["one", "two", "three"],
}


@pytest.mark.parametrize("options", PRUNED)
def test_prune(harness: Cli, store: Store, options: tuple[str, ...]) -> None:
    gone = [n for n in ("one", "two", "three") if n not in PRUNED[options]]
    (line,) = harness("store", "prune", *options, "--json").lines
    assert names(store) == PRUNED[options]
    assert line["pruned"] == (["one", "two", "three"] if "--dry-run" in options else gone)


def test_a_baseline_stays(harness: Cli, store: Store) -> None:
    store.execute("INSERT INTO baselines VALUES ('main', 'one', 0)")
    result = harness("store", "prune", "--keep", "1")
    assert "1 runs forgotten: two" in result.out
    assert "baselines stay: one" in result.out
    assert names(store) == ["one", "three"]


def test_compacting_changes_the_size_and_nothing_else(harness: Cli, store: Store) -> None:
    harness("store", "prune", "--keep", "1")
    before = everything(store, "three"), store.rows("FROM store_meta ORDER BY key")
    (line,) = harness("store", "compact", "--json").lines
    assert line["bytes_after"] == store.path.stat().st_size <= line["bytes_before"]
    assert (everything(store, "three"), store.rows("FROM store_meta ORDER BY key")) == before
    assert harness("exits").code == 0
    assert [p.name for p in store.path.parent.iterdir() if "compact" in p.name] == []
    run([store.path.parent / "one.jsonl"], load_presets(["balanced"]), store, run_id="four")
    assert names(store) == ["three", "four"]


def test_parquet(harness: Cli, store: Store) -> None:
    (line,) = harness("store", "export", "it's here", "--json").lines
    folder = store.path.parent / "it's here"
    read = {path.stem: pq.read_table(path).num_rows for path in folder.glob("*.parquet")}
    assert line["rows"] == read
    assert read["episodes"] == 4
    assert "must be a new or an empty folder" in refusal(upkeep.to_parquet, store, folder)


@pytest.mark.parametrize("options", [[], ["--keep", "1", "--before", "2026-01-01"]])
def test_prune_needs_one_rule(harness: Cli, store: Store, options: list[str]) -> None:
    assert "either --keep N or --before DATE" in harness("store", "prune", *options).refusal()


@pytest.mark.parametrize("verb", [["info"], ["compact"], ["prune", "--keep", "1"], ["export", "x"]])
def test_no_store_is_one_line(harness: Cli, here: Path, verb: list[str]) -> None:
    assert "does not exist" in harness("store", *verb).refusal()
    assert not (here / "x").exists()
