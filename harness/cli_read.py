"""Verbs that read: show, list, exits, sql."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from harness import terminal
from harness.errors import HarnessError, StoreError, choices
from harness.guards import catalogue
from harness.store.database import Store
from harness.store.queries import query
from harness.trace import ExitReason


def _latest(store: Store) -> str:
    found = store.rows(query("latest_run"))
    if not found:
        raise StoreError(f"store {store.path}: holds no run yet; make one with: harness run")
    return str(found[0]["run_id"])


def _known_run(store: Store, run_id: str) -> str:
    runs = [row["run_id"] for row in store.rows(query("runs"))]
    if run_id not in runs:
        raise StoreError(f"store {store.path}: run: {choices(run_id, runs)}")
    return run_id


def exits(store_path: Path, by: str, runs: list[str], *, as_json: bool) -> None:
    """Exit-reason distributions."""
    store = Store(store_path)
    chosen = [_known_run(store, run_id) for run_id in runs]
    if not chosen and by != "run":
        chosen = [_latest(store)]
    rows = store.rows(query("exits"), {"by": by, "runs": chosen})
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


def show(
    store_path: Path, wanted: str, preset: str | None, run_id: str | None, *, as_json: bool
) -> None:
    """One episode, iteration by iteration."""
    store = Store(store_path)
    episode = _find(store, wanted, preset, run_id)
    key = {"episode": episode["episode_id"]}
    iterations = store.rows(query("iterations"), key)
    series = store.rows(query("series"), key)
    calls = store.rows(query("calls"), key)
    if as_json:
        _show_json(episode, iterations, series, calls)
        return
    console = terminal.out()
    console.print(_headline(episode))
    console.print(_iteration_table(iterations, calls))
    console.print()
    console.print(_guard_table(series))
    console.print(
        "[dim]signals by iteration; * fired, ? could not be judged (a lower bound where a number "
        "stands)[/]"
    )
    console.print()
    console.print(_conditions(iterations))


def _find(store: Store, wanted: str, preset: str | None, run_id: str | None) -> dict[str, Any]:
    if not wanted:
        raise HarnessError("show: an episode id or a scenario's id is needed, found ''")
    if run_id is not None:
        _known_run(store, run_id)
    key = {"wanted": wanted, "preset": preset, "run": run_id}
    found = store.rows(query("find_episode"), key)
    if not found and preset is not None:
        others = store.rows(query("find_episode"), key | {"preset": None})
        if others:
            names = {row["preset"] for row in others}
            raise StoreError(f"show: {wanted}: --preset: {choices(preset, names)}")
    if not found:
        everything = {"run": run_id or _latest(store), "presets": [], "reasons": []}
        names = {row["scenario"] for row in store.rows(query("episodes"), everything)}
        raise StoreError(
            f"store {store.path}: no such episode or scenario: {choices(wanted, names)}"
        )
    newest = [row for row in found if row["run_id"] == found[0]["run_id"]]
    presets = sorted({row["preset"] for row in newest})
    if len(newest) > 1 and len({row["episode_id"] for row in newest}) > 1:
        if len({row["scenario"] for row in newest}) > 1:
            ids = ", ".join(row["episode_id"] for row in newest[:8])
            raise HarnessError(f"show: {wanted!r} begins several episode ids: {ids}")
        if len(presets) > 1:
            raise HarnessError(
                f"show: {wanted} ran under several presets; choose one with --preset: "
                f"{', '.join(presets)}"
            )
    return found[0]


def _show_json(
    episode: dict[str, Any],
    iterations: list[dict[str, Any]],
    series: list[dict[str, Any]],
    calls: list[dict[str, Any]],
) -> None:
    terminal.json_line({"type": "episode", **episode})
    for at, row in enumerate(iterations):
        signals = {
            s["guard"]: {
                "signal": s["signals"][at],
                "threshold": s["threshold"],
                "comparison": s["comparison"],
                "fired": s["fired"][at],
                "unknown": s["unknown"][at],
            }
            for s in series
        }
        row["conditions"] = json.loads(row["conditions"])
        made = [c for c in calls if c["iteration"] == row["iteration"]]
        terminal.json_line({"type": "iteration", **row, "signals": signals, "calls": made})


def _headline(episode: dict[str, Any]) -> str:
    reason = terminal.styled(episode["exit_reason"], episode["exit_group"])
    guard = f" by {terminal.plain(episode['exit_guard'])}" if episode["exit_guard"] else ""
    human = " · [bold]needs a human[/]" if episode["needs_human"] else ""
    diverged = f" from iteration {episode['diverged_at']}" if episode["diverged_at"] else ""
    return (
        f"[bold]{terminal.plain(episode['scenario'])}[/] under "
        f"[bold]{terminal.plain(episode['preset'])}[/]: {reason}{guard} in iteration "
        f"{episode['exit_iteration']} ({episode['status']}, {episode['replay']}{diverged}){human}\n"
        f"{terminal.plain(episode['message'])}\n"
        f"[dim]episode {episode['episode_id']} · run {terminal.plain(episode['run_id'])}\n"
        f"trace {episode['trace_id']}[/]\n"
    )


def _iteration_table(iterations: list[dict[str, Any]], calls: list[dict[str, Any]]) -> Any:
    columns: list[tuple[str, terminal.Justify]] = [
        ("decision", "left"), ("#", "right"), ("score", "right"), ("best", "right"),
        ("in", "right"), ("cached", "right"), ("out", "right"), ("cost", "right"),
        ("elapsed", "right"), ("did", "left"),
    ]  # fmt: skip
    rows = []
    for row in iterations:
        made = [c["tool"] for c in calls if c["iteration"] == row["iteration"]]
        did = terminal.plain(", ".join(made) or row["reply"] or "", most=18)
        cached = None if row["cache_read"] is None else row["cache_read"] + row["cache_write"]
        produced = None if row["output"] is None else row["output"] + row["reasoning"]
        rows.append([
            row["decision"],
            row["iteration"],
            "·" if row["score"] is None else terminal.number(row["score"]),
            "·" if row["best_score"] is None else terminal.number(row["best_score"]),
            terminal.count(row["input_uncached"]),
            terminal.count(cached),
            terminal.count(produced),
            terminal.dollars(row["cost_pico_usd"]),
            terminal.seconds(row["elapsed_ms"]),
            did,
        ])  # fmt: skip
    return terminal.table(columns, rows)


def _guard_table(series: list[dict[str, Any]]) -> Any:
    rows = []
    for s in series:
        readings = " ".join(
            _reading(s["kind"], signal, fired, unknown)
            for signal, fired, unknown in zip(s["signals"], s["fired"], s["unknown"], strict=True)
        )
        limit = f"{s['comparison']} {_amount(s['kind'], s['threshold'])}"
        rows.append([terminal.plain(s["guard"]), limit, readings])
    made = terminal.table([("guard", "left"), ("fires", "left"), ("signal", "left")], rows)
    made.columns[2].no_wrap = False
    return made


def _reading(kind: str, signal: float | None, fired: bool, unknown: bool) -> str:
    mark = "*" if fired else "?" if unknown else ""
    return "?" if signal is None else f"{_amount(kind, signal)}{mark}"


def _amount(kind: str, value: float) -> str:
    """A signal in the unit in which people think of it; guards come and go, stores stay."""
    known = catalogue().get(kind)
    return known.shown(value) if known is not None else f"{value:.4g}"


def _conditions(iterations: list[dict[str, Any]]) -> str:
    lines = []
    for row in iterations:
        true = [c for c in json.loads(row["conditions"]) if c["state"] != "unknown"]
        if true:
            words = ", ".join(
                f"{'[bold]' if c['won'] else ''}{terminal.plain(c['name'])} → {c['reason']} "
                f"({c['action']}{'' if c['state'] == 'true' else ', ' + c['state']})"
                f"{'[/]' if c['won'] else ''}"
                for c in true
            )
            lines.append(f"iteration {row['iteration']}: {words}")
    return "\n".join(["[bold]conditions that were true (the one that won is bold)[/]", *lines]
                     if lines else ["no condition was true"])  # fmt: skip


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
    run_id = _known_run(store, run_id) if run_id else _latest(store)
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
