"""The verb ``show``: one episode, iteration by iteration."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.cli import terminal
from harness.errors import HarnessError, PresetError, StoreError, choices
from harness.files import SUFFIXES, load_one
from harness.guards import guard_class
from harness.loop import run_episode
from harness.preset import load_preset
from harness.run import register
from harness.store.database import Store
from harness.store.queries import query
from harness.store.runs import known_run, latest_run
from harness.turns import prepare
from harness.worker import Buffer


def show(
    store_path: Path, wanted: str, preset: str | None, run_id: str | None, *, as_json: bool
) -> None:
    """One episode, iteration by iteration; of a scenario file, by replaying it."""
    file = wanted.partition("::")[0]
    if file.endswith(SUFFIXES) and Path(file).is_file():
        if run_id is not None:
            raise HarnessError("show: a scenario file is replayed; leave out --run")
        with TemporaryDirectory() as folder:
            store = Store(Path(folder) / "one.duckdb")
            _show(store, _replayed(store, wanted, preset), as_json)
        return
    if not wanted:
        raise HarnessError("show: an episode id or a scenario's id is needed, found ''")
    store = Store(store_path)
    _show(store, _find(store, wanted, preset, run_id), as_json)


def _replayed(store: Store, wanted: str, preset: str | None) -> dict[str, Any]:
    """One scenario of a file, replayed into a store of its own."""
    scenario = load_one(wanted)
    if preset is None:
        raise HarnessError(
            f"show: {wanted}: --preset: is required for a file; {scenario.id} has expectations "
            f"of: {', '.join(scenario.expect) or 'none'}"
        )
    chosen = load_preset(preset)
    episode = run_episode(prepare(scenario, wait_ms=chosen.wait_ms), chosen)
    store.create()
    register(store, "show", 0, {})
    buffer = Buffer("show", 0)
    found = buffer.add(scenario, chosen, episode)
    store.write(buffer.take())
    return _find(store, found, None, None)


def _show(store: Store, episode: dict[str, Any], as_json: bool) -> None:
    key = {"episode": episode["episode_id"]}
    episode = episode | _continued(store, key)
    iterations = store.rows(query("iterations"), key)
    series = store.rows(query("series"), key)
    calls = store.rows(query("calls"), key)
    events = store.rows(query("events"), key)
    checks = store.rows(query("checks"), key)
    roles = store.rows(query("roles"), key)
    if as_json:
        _show_json(episode, iterations, series, calls, events, checks)
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
    if events:
        console.print()
        console.print(_event_lines(events, checks))
    if len(roles) > 1:
        console.print()
        console.print(_role_table(roles))
    console.print(f"\n[dim]{terminal.plain(episode['summary'])}[/]")


def _continued(store: Store, key: dict[str, Any]) -> dict[str, Any]:
    """Where a live model went on; stores of older harnesses do not know of it."""
    if not store.rows(query("has_continuations"))[0]["n"]:
        return {}
    found = store.rows(query("continuation"), key)
    return {"continued": found[0]} if found else {}


def _find(store: Store, wanted: str, preset: str | None, run_id: str | None) -> dict[str, Any]:
    if run_id is not None:
        known_run(store, run_id)
    key = {"wanted": wanted, "preset": preset, "run": run_id}
    found = store.rows(query("find_episode"), key)
    if not found and preset is not None:
        others = store.rows(query("find_episode"), key | {"preset": None})
        if others:
            names = {row["preset"] for row in others}
            raise StoreError(f"show: {wanted}: --preset: {choices(preset, names)}")
    if not found:
        everything = {"run": run_id or latest_run(store), "presets": [], "reasons": []}
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
    events: list[dict[str, Any]],
    checks: list[dict[str, Any]],
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
        own = {
            name: [item for item in items if item["iteration"] == row["iteration"]]
            for name, items in (("calls", calls), ("events", events), ("checks", checks))
        }
        terminal.json_line({"type": "iteration", **row, "signals": signals, **own})


def _headline(episode: dict[str, Any]) -> str:
    reason = terminal.styled(episode["exit_reason"], episode["exit_group"])
    guard = f" by {terminal.plain(episode['exit_guard'])}" if episode["exit_guard"] else ""
    human = " · [bold]needs a human[/]" if episode["needs_human"] else ""
    diverged = f" from iteration {episode['diverged_at']}" if episode["diverged_at"] else ""
    live = episode.get("continued")
    if live is not None:
        diverged += (
            f"; [bold]live from iteration {live['continued_at']}[/], {live['cause']}, by "
            f"{terminal.plain(live['model'])}"
        )
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
    try:
        return guard_class(kind).shown(value)
    except PresetError:
        return f"{value:.4g}"


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


def _event_lines(events: list[dict[str, Any]], checks: list[dict[str, Any]]) -> str:
    """What the mechanisms did; skips and abstentions are counted, the rest is told."""
    quiet: dict[str, int] = {}
    lines = ["[bold]what the mechanisms did[/]"]
    for event in events:
        name = f"{event['mechanism']} {event['event']}"
        if event["event"] in ("skip", "abstain"):
            quiet[name] = quiet.get(name, 0) + 1
            continue
        words = " · ".join(
            terminal.plain(str(event[key]), most=160)
            for key in ("trigger", "reason", "result")
            if event[key]
        )
        lines.append(f"iteration {event['iteration']}: {terminal.plain(name)} · {words}")
    missing = [c for c in checks if not c["passed"]]
    lines += [
        f"iteration {c['iteration']}: check {terminal.plain(c['phase'])}/"
        f"{terminal.plain(c['check_id'])} is open: needs {terminal.plain(c['detail'])}"
        for c in missing
    ]
    if quiet:
        lines.append("[dim]" + ", ".join(f"{name} x{n}" for name, n in quiet.items()) + "[/]")
    return "\n".join(lines)


def _role_table(roles: list[dict[str, Any]]) -> Any:
    return terminal.table(
        [("role", "left"), ("model", "left"), ("calls", "right"), ("tokens", "right"),
         ("cost", "right")],
        (
            [terminal.plain(r["role"]), terminal.plain(r["model"] or "?"), r["calls"],
             terminal.count(r["tokens"]), terminal.dollars(r["cost_pico_usd"])]
            for r in roles
        ),
    )  # fmt: skip
