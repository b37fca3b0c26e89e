"""Verbs that read: list, exits, sql."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.errors import HarnessError, choices
from harness.exits import ExitReason
from harness.guards import catalogue
from harness.store.database import Store
from harness.store.queries import query
from harness.store.runs import known_run, latest_run


def exits(store_path: Path, by: str, runs: list[str], *, as_json: bool) -> None:
    """Exit-reason distributions."""
    store = Store(store_path)
    chosen = [known_run(store, run_id) for run_id in runs]
    if not chosen and by != "run":
        chosen = [latest_run(store)]
    rows = store.rows(query("exits"), {"by": by, "runs": chosen})
    (told,) = store.rows(query("decided_by"), {"runs": chosen})
    if as_json:
        for row in rows:
            terminal.json_line({"by": by, **row})
        return
    columns: list[tuple[str, terminal.Justify]] = [
        (by, "left"), ("exit reason", "left"), ("n", "right"), ("share", "right"),
        ("rounds", "right"), ("best", "right"), ("tokens", "right"), ("cost", "right"),
    ]  # fmt: skip
    shown: list[list[str]] = []
    last = None
    for row in rows:
        cost = terminal.dollars(row["cost_pico_usd"])
        shown.append([
            terminal.plain(str(row["key"]), most=22) if row["key"] != last else "",
            terminal.styled(row["exit_reason"], row["exit_group"]),
            terminal.count(row["episodes"]),
            f"{row['share']:.0%}",
            terminal.number(row["median_rounds"], 1),
            terminal.number(row["mean_best_score"]),
            terminal.count(row["median_tokens"]),
            f">{cost}" if row["without_cost"] and row["cost_pico_usd"] is not None else cost,
        ])  # fmt: skip
        last = row["key"]
    console = terminal.out()
    console.print(terminal.table(columns, shown))
    console.print(
        "[dim]rounds and tokens: median; best: mean best score; cost: sum, > where a part is "
        "unknown[/]"
    )
    verdicts = told["by_code"] + told["by_model"]
    if verdicts:
        console.print(
            f"verdicts on turns: {verdicts:,}, of which code alone (triage) decided "
            f"{told['by_code'] / verdicts:.0%}"
        )


def list_(
    what: str,
    store_path: Path,
    paths: list[str],
    *,
    run_id: str | None,
    presets: list[str],
    reasons: list[str],
    as_json: bool,
) -> None:
    """List things of one kind."""
    if paths and what != "scenarios":
        raise HarnessError(f"list {what}: takes no paths, found {paths[0]!r}")
    if (run_id or presets or reasons) and what != "episodes":
        raise HarnessError(f"list {what}: --run, --preset and --reason select episodes only")
    if what in ("runs", "episodes"):
        store = Store(store_path)
        columns, rows = (
            _runs(store) if what == "runs" else _episodes(store, run_id, presets, reasons)
        )
    else:
        columns, rows = {
            "scenarios": lambda: _scenarios(paths),
            "presets": _presets,
            "guards": _guards,
            "importers": _importers,
        }[what]()
    if as_json:
        for row in rows:
            terminal.json_line(row)
        return
    if not rows:
        terminal.err().print(f"no {what}")
        return
    justify: dict[str, terminal.Justify] = dict.fromkeys(
        ("steps", "episodes", "scenarios", "#", "best", "default"), "right"
    )
    made = terminal.table(
        [(name, justify.get(name, "left")) for name in columns],
        (
            # What does not fit is cut where it stands between others, and folded at the end.
            [terminal.plain(_cell(row[n]), most=400 if n == columns[-1] else 44) for n in columns]
            for row in rows
        ),
    )
    made.columns[-1].no_wrap = False
    terminal.out().print(made)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return terminal.number(value)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


Listing = tuple[list[str], list[dict[str, Any]]]


def _runs(store: Store) -> Listing:
    rows = store.rows(query("runs"))
    for row in rows:
        row["started"] = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created_ms"] / 1000))
    return ["run_id", "started", "state", "scenarios", "episodes"], rows


def _episodes(store: Store, run_id: str | None, presets: list[str], reasons: list[str]) -> Listing:
    run_id = known_run(store, run_id) if run_id else latest_run(store)
    for reason in reasons:
        if reason not in set(ExitReason):
            raise HarnessError(f"list episodes: --reason: {choices(reason, ExitReason)}")
    rows = store.rows(query("episodes"), {"run": run_id, "presets": presets, "reasons": reasons})
    if not rows and presets:
        everything = {"run": run_id, "presets": [], "reasons": []}
        known = {row["preset"] for row in store.rows(query("episodes"), everything)}
        for preset in set(presets) - known:
            raise HarnessError(f"list episodes: --preset: {choices(preset, known)}")
    for row in rows:
        row["id"], row["ended"] = row["episode_id"][:8], row["exit_reason"]
        row["#"], row["best"] = row["exit_iteration"], row["best_score"]
    return ["id", "preset", "ended", "#", "best", "scenario"], rows


def _scenarios(paths: list[str]) -> Listing:
    from harness.files import bundled_scenarios, load

    rows = [
        {"id": s.id, "steps": len(s.steps), "title": s.title, "tags": s.tags}
        for s in load(paths or [bundled_scenarios()])
    ]
    return ["id", "steps", "title"], rows


def _presets() -> Listing:
    from harness.preset import bundled, load_preset

    loaded = [load_preset(name) for name in bundled()]
    return ["preset", "title"], [
        {"preset": p.name, "title": p.title, "guards": list(p.guards)} for p in loaded
    ]


def _guards() -> Listing:
    return ["guard", "default", "fires", "rule"], [
        {
            "guard": kind,
            "default": cls.default_threshold(),
            "fires": cls.comparison,
            "reason": cls.reason.value,
            "rule": " ".join((cls.__doc__ or "").split("\n\n", 1)[0].split()),
            "measures": cls.measures,
        }
        for kind, cls in catalogue().items()
    ]


def _importers() -> Listing:
    from harness.importers import available

    return ["format", "reads"], [
        {"format": name, "reads": found.TITLE, "lacks": list(found.LACKS)}
        for name, found in available().items()
    ]


def sql(store_path: Path, text: str, limit: int, *, as_json: bool) -> None:
    """A user's query."""
    names, rows = Store(store_path).ask(text, limit=limit + 1 if limit and not as_json else None)
    columns = _distinct(names)
    if as_json:
        for row in rows:
            terminal.json_line(dict(zip(columns, row, strict=True)))
        return
    console, notes = terminal.out(), terminal.err()
    if not rows:
        notes.print("no rows")
        return
    shown = rows[: limit or None]
    cells = [[terminal.plain(_cell(value), most=200) for value in row] for row in shown]
    justify: list[terminal.Justify] = [
        "right" if all(isinstance(v, int | float | None) for v in column) else "left"
        for column in zip(*shown, strict=True)
    ]
    named = [terminal.plain(name, most=30) for name in columns]
    widths = [max(map(len, column)) for column in zip(named, *cells, strict=True)]
    if sum(widths) + len(widths) - 1 <= console.width:
        console.print(terminal.table(list(zip(named, justify, strict=True)), cells))
    else:
        console.print(terminal.records(columns, cells))
    if limit and len(rows) > limit:
        notes.print(f"only the first {limit} rows are shown; --limit 0 shows all")


def _distinct(names: list[str]) -> list[str]:
    """Column names, made different where a query gives two the same one."""
    made: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in made:
            number += 1
            unique = f"{name}_{number}"
        made.append(unique)
    return made
