"""Keeping a store: what it holds, forgetting old runs, giving space back, Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, StoreError
from harness.store.database import Store
from harness.store.rows import EPISODE_TABLES, SHARED_TABLES

#: Columns that refer to ``messages``.
_TEXTS = {
    "episodes": ("best_result",),
    "iterations": (
        "reply_hash", "output_hash", "feedback_hash", "plan_hash", "user_hash", "nudge_hash",
        "work_order",
    ),
    "calls": ("args_hash", "result_hash"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Info:
    """What a store holds.

    Attributes:
        bytes: Size of the file; what was deleted is still in it until it is compacted.
        rows: By table.
        runs: Oldest first: id, when it was made (ms since the epoch), state, episodes.
    """

    path: str
    bytes: int
    schema_version: str
    rows: dict[str, int]
    runs: list[dict[str, Any]]


def info(store: Store) -> Info:
    """What the store holds."""
    (version,) = store.rows("SELECT value FROM store_meta WHERE key = 'schema_version'")
    return Info(
        path=str(store.path),
        bytes=store.path.stat().st_size,
        schema_version=version["value"],
        rows={name: _count(store, name) for name in _tables(store)},
        runs=_runs(store),
    )


def _tables(store: Store) -> list[str]:
    found = store.rows("SELECT table_name FROM duckdb_tables() ORDER BY table_name")
    return [row["table_name"] for row in found]


def _count(store: Store, table: str) -> int:
    return int(store.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"])


def _runs(store: Store) -> list[dict[str, Any]]:
    return store.rows(
        "SELECT r.run_id, r.created_ms, r.state, count(e.episode_id) AS episodes, "
        "list(DISTINCT b.name) FILTER (WHERE b.name IS NOT NULL) AS baselines "
        "FROM runs r LEFT JOIN episodes e USING (run_id) LEFT JOIN baselines b USING (run_id) "
        "GROUP BY ALL ORDER BY r.created_ms, r.run_id"
    )


def old_runs(
    store: Store, *, keep: int | None = None, before_ms: int | None = None
) -> tuple[list[str], list[str]]:
    """Runs that may go: all but the newest, or those made before a time.

    Args:
        store: The store.
        keep: So many of the newest stay.
        before_ms: Those made earlier go; ms since the epoch.

    Returns:
        What may go, and what would but stays because it is a baseline; oldest first.
    """
    runs = _runs(store)
    if keep is not None:
        runs = runs[: max(len(runs) - keep, 0)]
    if before_ms is not None:
        runs = [run for run in runs if run["created_ms"] < before_ms]
    gone = [run["run_id"] for run in runs if not run["baselines"]]
    return gone, [run["run_id"] for run in runs if run["baselines"]]


def forget(store: Store, runs: Sequence[str]) -> None:
    """Delete runs with everything that only they have, in one transaction; labels stay.

    Raises:
        StoreError: The store cannot be written.
    """
    if not runs:
        return
    listed = "(" + ", ".join(_quoted(run) for run in runs) + ")"
    owned = [t for t in _tables(store) if t in (*EPISODE_TABLES, "tuning", "runs")]
    used = " UNION ALL ".join(
        f"SELECT {column} AS hash FROM {table}"
        for table, columns in _TEXTS.items()
        for column in columns
    )
    statements = [f"DELETE FROM {table} WHERE run_id IN {listed}" for table in owned]
    statements += [
        f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {column} FROM episodes)"
        for table, column in SHARED_TABLES.items()
        if table != "messages"
    ]
    statements.append(
        f"DELETE FROM messages WHERE hash NOT IN (SELECT hash FROM ({used}) WHERE hash IS NOT NULL)"
    )
    store.execute("BEGIN; " + "; ".join(statements) + "; COMMIT")


def compact(store: Store) -> tuple[int, int]:
    """Write the store anew without the space that deleting left, and put it in its place.

    Returns:
        Bytes before and after.

    Raises:
        StoreError: It cannot be read or written; it is then as it was.
    """
    part = Store(store.path.with_name(f".{store.path.name}.compact"))
    tables = _tables(store)
    with store.held():
        before = store.path.stat().st_size
        part.path.unlink(missing_ok=True)
        try:
            part.create()
            copies = "; ".join(
                f"INSERT OR REPLACE INTO {name} BY NAME SELECT * FROM old.{name}"
                if name == "store_meta"
                else f"INSERT INTO {name} BY NAME SELECT * FROM old.{name}"
                for name in tables
            )
            old = _quoted(str(store.path))
            part.execute(f"ATTACH {old} AS old (READ_ONLY); BEGIN; {copies}; COMMIT; DETACH old")
            part.path.replace(store.path)
        finally:
            part.path.unlink(missing_ok=True)
            Path(f"{part.path}.lock").unlink(missing_ok=True)
    return before, store.path.stat().st_size


def to_parquet(store: Store, folder: Path) -> dict[str, int]:
    """Every table as a Parquet file.

    Args:
        store: The store.
        folder: Where they go; made if it is not there, and empty if it is.

    Returns:
        Rows by table.

    Raises:
        HarnessError: The folder holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise HarnessError(f"store: {folder}: must be a new or an empty folder")
    tables = _tables(store)
    folder.mkdir(parents=True, exist_ok=True)
    for name in tables:
        file = _quoted(str(folder / f"{name}.parquet"))
        store.rows(f"COPY (FROM {name}) TO {file} (FORMAT parquet, COMPRESSION zstd)")
    return {name: _count(store, name) for name in tables}


def _quoted(text: str) -> str:
    if "\0" in text:
        raise StoreError("store: a name must not contain a zero byte")
    return "'" + text.replace("'", "''") + "'"
