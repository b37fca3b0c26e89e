"""Verbs that bring something in: run, validate."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.cli.live import told
from harness.continuing import Continuation
from harness.errors import HarnessError, Interrupted, ScenarioError, choices
from harness.files import bundled_scenarios, find, note_id, parse, read_raw
from harness.preset import DEFAULTS, load_preset, load_presets
from harness.run import RunResult, new_run_id
from harness.run import run as carry_out
from harness.store.database import Store
from harness.store.queries import query

#: More presets than this become rows, so that the table fits 80 columns.
MOST_COLUMNS = 7


def run(
    paths: list[str],
    presets: list[str],
    store_path: Path,
    *,
    workers: int,
    observe: bool,
    repetitions: int,
    name: str | None,
    resume: str | None,
    as_json: bool,
    live: Continuation | None = None,
) -> None:
    """Replay, store, and show what ended the loops; where asked for, go on with a live model."""
    store = Store(store_path)
    if resume is not None:
        if name is not None or paths or presets or observe or repetitions != 1:
            raise HarnessError(
                "run: --resume takes everything from the run; leave out paths, --preset, --run, "
                "--observe and --repetitions"
            )
        options = _options(store, resume)
        _same_model(resume, options.get("continued_by"), live)
        paths, presets = options["paths"], options["presets"]
        observe, repetitions = options["observe"], options["repetitions"]
    elif name is not None and not name.strip():
        raise HarnessError("run: --run: a name must not be empty")
    chosen = load_presets(presets or DEFAULTS)
    if live is not None and not presets:
        # Nobody named them: the one that only watches has nothing to go on with.
        chosen = [preset for preset in chosen if not preset.observe]
    run_id = resume or name or new_run_id()
    bar = terminal.ProgressBar("replaying")
    try:
        result = carry_out(
            paths or [bundled_scenarios()],
            chosen,
            store,
            run_id=run_id,
            observe=observe,
            repetitions=repetitions,
            workers=workers,
            resume=resume is not None,
            on_progress=bar.update,
            go_on=live,
        )
    except KeyboardInterrupt:
        words = ["harness", "run", "--resume", run_id, "--store", str(store.path)]
        raise Interrupted(f"run: interrupted; go on with: {shlex.join(words)}") from None
    finally:
        bar.close()
    _report(store, result, [preset.name for preset in chosen], as_json)
    if live is not None:
        told(live)


def _same_model(run_id: str, model: str | None, live: Continuation | None) -> None:
    """Refuse to resume a run in another way than it was begun."""
    if model != (live.model if live is not None else None):
        how = f"--continue-live --model {model}" if model else "without --continue-live"
        raise HarnessError(f"run: --resume: {run_id} was begun {how}; go on in the same way")


def _options(store: Store, run_id: str) -> dict[str, Any]:
    found = store.rows("SELECT options FROM runs WHERE run_id = ?", [run_id])
    if not found:
        runs = [row["run_id"] for row in store.rows(query("runs"))]
        raise HarnessError(f"run: --resume: not in store {store.path}: {choices(run_id, runs)}")
    options: dict[str, Any] = json.loads(found[0]["options"])
    return options


def _report(store: Store, result: RunResult, presets: list[str], as_json: bool) -> None:
    counts = store.rows(query("by_preset"), {"run": result.run_id})
    totals = store.rows(query("totals_by_preset"), {"run": result.run_id})
    totals.sort(key=lambda row: presets.index(row["preset"]))
    if as_json:
        for row in totals:
            own = [c for c in counts if c["preset"] == row["preset"]]
            exits = {c["exit_reason"]: c["episodes"] for c in own}
            terminal.json_line({"run_id": result.run_id, **row, "exits": exits})
    else:
        terminal.out().print(_matrix(counts, totals))
    notes = terminal.err()
    skipped = f", {result.skipped} were there already" if result.skipped else ""
    notes.print(
        f"\n{result.episodes} episodes of {result.scenarios} scenarios{skipped}; run "
        f"{terminal.plain(result.run_id)} is in {terminal.plain(str(store.path))}"
    )
    if result.spans_lost:
        notes.print(
            f"warning: {result.spans_lost} spans did not reach the OTLP endpoint"
            f"{': ' + terminal.plain(result.spans_cause) if result.spans_cause else ''}; "
            "the store has all"
        )
    notes.print("next: harness exits --by family · harness list episodes · harness show SCENARIO")


def _matrix(counts: list[dict[str, Any]], totals: list[dict[str, Any]]) -> Any:
    """Exit reasons by preset, then what each preset took; presets become rows where many."""
    cells = {(c["exit_reason"], c["preset"]): c["episodes"] for c in counts}
    groups = {c["exit_reason"]: c["exit_group"] for c in counts}
    order = list(terminal.GROUP_STYLES)
    reasons = sorted(groups, key=lambda r: (order.index(groups[r]), r))
    figures: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
        ("episodes", lambda t: terminal.count(t["episodes"])),
        ("iterations", lambda t: terminal.count(t["iterations"])),
        ("tokens", lambda t: _partial(_short(t["tokens"]), t["without_tokens"], t["episodes"])),
        ("cost", lambda t: _partial(terminal.dollars(t["cost_pico_usd"]), t["without_cost"],
                                    t["episodes"])),
        ("mean best score", lambda t: terminal.number(t["best_score"])),
        ("needs a human", lambda t: terminal.count(t["needs_human"])),
        ("censored/diverged", lambda t: f"{t['censored']}/{t['diverged']}"),
    )  # fmt: skip
    if len(totals) > MOST_COLUMNS:
        return _by_row(counts, totals, dict(figures))
    rows = [
        [terminal.styled(reason, groups[reason])]
        + [terminal.count(cells.get((reason, t["preset"]))) if (reason, t["preset"]) in cells
           else "·" for t in totals]
        for reason in reasons
    ]  # fmt: skip
    rows += [[f"[bold]{name}[/]", *(figure(t) for t in totals)] for name, figure in figures]
    columns: list[tuple[str, terminal.Justify]] = [("exit reason", "left")]
    columns += [(terminal.plain(t["preset"], most=10), "right") for t in totals]
    return terminal.table(columns, rows)


def _by_row(
    counts: list[dict[str, Any]],
    totals: list[dict[str, Any]],
    figures: dict[str, Callable[[dict[str, Any]], str]],
) -> Any:
    """One row a preset, exit reasons by group."""
    groups = list(terminal.GROUP_STYLES)
    shown = ("iterations", "tokens", "cost", "mean best score")
    rows = []
    for t in totals:
        of_preset = [c for c in counts if c["preset"] == t["preset"]]
        sums = [sum(c["episodes"] for c in of_preset if c["exit_group"] == g) for g in groups]
        rows.append([terminal.plain(t["preset"], most=18), *(terminal.count(n) for n in sums),
                     *(figures[name](t) for name in shown)])  # fmt: skip
    columns: list[tuple[str, terminal.Justify]] = [("preset", "left")]
    columns += [(terminal.styled(group, group), "right") for group in groups]
    columns += [(name, "right") for name in ("iters", "tokens", "cost", "best")]
    return terminal.table(columns, rows)


def _short(tokens: int | None) -> str:
    if tokens is None:
        return "?"
    return f"{tokens / 1000:,.0f}k" if tokens < 10_000_000 else f"{tokens / 1_000_000:,.1f}M"


def _partial(shown: str, unknown: int, episodes: int) -> str:
    """A sum over the known part is marked as a lower bound."""
    return "?" if unknown == episodes else f">{shown}" if unknown else shown


def validate(paths: list[str], *, as_json: bool) -> None:
    """Check files; problems are listed, the first one decides the exit code."""
    problems: list[str] = []
    scenarios = presets = 0
    seen: dict[str, str] = {}
    for path in (p for p in paths if p.endswith(".toml")):
        try:
            load_preset(path)
            presets += 1
        except HarnessError as error:
            problems.append(str(error))
    others = [path for path in paths if not path.endswith(".toml")]
    for file in _files(others, problems):
        try:
            for raw in read_raw([file]):
                try:
                    for scenario in parse(raw):
                        note_id(seen, scenario, raw)
                        scenarios += 1
                except ScenarioError as error:
                    problems.append(str(error))
        except ScenarioError as error:
            problems.append(str(error))
    if others and not scenarios and not problems:
        problems.append(f"scenarios: none found in {', '.join(others)}")
    if as_json:
        terminal.json_line({"scenarios": scenarios, "presets": presets, "problems": problems})
    else:
        for problem in problems[:-1]:
            terminal.err().print(terminal.plain(f"harness: {problem}"))
        terminal.out().print(f"{scenarios} scenarios and {presets} presets are valid")
    if problems:
        raise HarnessError(problems[-1])


def _files(paths: list[str], problems: list[str]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        try:
            found.update(dict.fromkeys(find([path])))
        except ScenarioError as error:
            problems.append(str(error))
    return list(found)
