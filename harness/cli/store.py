"""The verbs ``store info``, ``prune``, ``compact`` and ``export``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from harness.cli import terminal
from harness.errors import HarnessError
from harness.store import upkeep
from harness.store.database import Store

#: Runs that are listed; the newest.
_LISTED = 10


def info(path: Path, *, as_json: bool) -> None:
    """What the store holds."""
    found = upkeep.info(Store(path))
    if as_json:
        terminal.json_line(asdict(found))
        return
    console = terminal.out()
    console.print(
        f"{terminal.plain(found.path)}: {found.bytes:,} bytes, schema version "
        f"{found.schema_version}, {len(found.runs)} runs"
    )
    rows = [
        [
            terminal.plain(run["run_id"], most=30),
            _day(run["created_ms"]),
            run["state"],
            terminal.count(run["episodes"]),
            terminal.plain(", ".join(run["baselines"] or []), most=16),
        ]
        for run in found.runs[-_LISTED:]
    ]
    console.print(terminal.table(
        [("run", "left"), ("made (UTC)", "left"), ("state", "left"), ("episodes", "right"),
         ("baseline", "left")], rows,
    ))  # fmt: skip
    if len(found.runs) > _LISTED:
        console.print(f"[dim]and {len(found.runs) - _LISTED} older runs[/]")
    counts = [[name, terminal.count(n)] for name, n in found.rows.items() if n]
    console.print(terminal.table([("table", "left"), ("rows", "right")], counts))


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def prune(
    path: Path, keep: int | None, before: datetime | None, *, dry_run: bool, as_json: bool
) -> None:
    """Forget old runs."""
    if (keep is None) == (before is None):
        raise HarnessError("store prune: name what stays: either --keep N or --before DATE")
    store = Store(path)
    limit = None if before is None else int(before.replace(tzinfo=UTC).timestamp() * 1000)
    gone, kept = upkeep.old_runs(store, keep=keep, before_ms=limit)
    if not dry_run:
        upkeep.forget(store, gone)
    if as_json:
        terminal.json_line({"pruned": gone, "baselines": kept, "dry_run": dry_run})
        return
    words = "would go" if dry_run else "forgotten"
    listed = f": {terminal.plain(', '.join(gone))}" if gone else ""
    terminal.out().print(f"{len(gone)} runs {words}{listed}")
    if kept:
        terminal.out().print(f"baselines stay: {terminal.plain(', '.join(kept))}")
    if gone and not dry_run:
        terminal.err().print("next: harness store compact   gives the space back")


def compact(path: Path, *, as_json: bool) -> None:
    """Give space back."""
    before, after = upkeep.compact(Store(path))
    if as_json:
        terminal.json_line({"bytes_before": before, "bytes_after": after})
    else:
        terminal.out().print(f"{before:,} bytes -> {after:,}")


def export(path: Path, folder: Path, *, as_json: bool) -> None:
    """Write Parquet files."""
    rows = upkeep.to_parquet(Store(path), folder)
    if as_json:
        terminal.json_line({"folder": str(folder), "rows": rows})
    else:
        terminal.out().print(
            f"{len(rows)} tables, {sum(rows.values()):,} rows -> {terminal.plain(str(folder))}"
        )
