"""The verb ``tune``: choose thresholds on one half of the tasks, judge them on the other."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.errors import HarnessError
from harness.store.database import Store
from harness.tune.ends import Evaluator
from harness.tune.evidence import (
    about,
    amount,
    harm,
    harm_name,
    header,
    notes,
    over_splits,
    per_episode,
    share,
    verdict,
    wanted,
)
from harness.tune.presettext import preset_text
from harness.tune.report import SHOWN, front_rows, markdown, records, store_rows, thinned
from harness.tune.study import Request, Study, study
from harness.tune.totals import Outcome, figures
from harness.tune.view import Pick


def run_tune(
    store_path: Path, request: Request, *, output: Path | None, report: Path | None, as_json: bool
) -> None:
    """Choose, keep, write, show."""
    if output is not None and output.suffix != ".toml":
        raise HarnessError(f"tune: --output: must end in .toml, found {output}")
    for option, path in (("--output", output), ("--report", report)):
        if path is not None and not path.parent.is_dir():
            raise HarnessError(f"tune: {option}: folder {path.parent} does not exist")
        if path is not None and path.is_dir():
            raise HarnessError(f"tune: {option}: {path} is a folder; name a file")
    store = Store(store_path)
    bar = terminal.ProgressBar("presets")
    try:
        found = study(store, request, bar.update)
    finally:
        bar.close()
    evaluator = Evaluator.of(store, found.corpus)
    ends = {row: evaluator.outcome(found.candidates.preset(row)) for row in front_rows(found)}
    rows = list(records(found, ends))
    store_rows(store, found.corpus.run_id, rows)
    written = [] if output is None else _write_presets(found, output)
    if report is not None:
        _write(report, markdown(found, ends))
        written.append(report)
    if as_json:
        for row in rows:
            terminal.json_line({"type": "policy", **row})
        terminal.json_line(_summary(found, written))
        return
    _print(found, ends)
    terminal.out().file.flush()
    for path in written:
        terminal.err().print(terminal.plain(f"written: {path}"))


def _write_presets(found: Study, output: Path) -> list[Path]:
    """The common preset, and one file beside it for each group that has its own."""
    written = []
    for pick in (found.common, *found.groups):
        if pick.why_common is not None:
            continue
        path = output
        if pick.group:
            path = output.with_name(f"{output.stem}-{_slug(pick.group)}.toml")
            if path in written:
                raise HarnessError(f"tune: --output: two groups would be written to {path}")
        title = "Tuned" + (f" for {pick.group}" if pick.group else "")
        preset = replace(pick.preset, name=path.stem)
        _write(path, preset_text(preset, title=title, header=header(found, pick)))
        written.append(path)
    return written


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-") or "group"


def _write(path: Path, text: str) -> None:
    """All or nothing, by way of a file beside it."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(text.encode("utf-8"))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _summary(found: Study, written: list[Path]) -> dict[str, Any]:
    over = found.by_group or found.repeated
    return {
        "type": "summary", "run_id": found.corpus.run_id, "verdict": verdict(found),
        "chosen": found.common.words, "tried": found.candidates.told,
        "groups": {pick.group: pick.why_common or pick.words for pick in found.groups},
        "splits": over.splits, "wins": over.wins, "same": over.same, "unit": found.unit,
        "held_out_effort": over.median("held_out", "effort"),
        "held_out_iterations": over.median("held_out", "iterations"),
        "held_out_false_stops": over.median("held_out", "false_stops"),
        "optimism_effort": over.optimism("effort"),
        "optimism_false_stops": over.optimism("false_stops"),
        "notes": notes(found), "written": [str(path) for path in written],
    }  # fmt: skip


# -- what people read ----------------------------------------------------------------------------


def _print(found: Study, ends: dict[int, Outcome]) -> None:
    console = terminal.out()
    console.print(terminal.plain(about(found)))
    console.print(terminal.plain(f"tried {found.candidates.told}"))
    console.print(terminal.plain(f"wanted: {wanted(found)}"))
    console.print()
    _policies(found, found.common)
    console.print(terminal.plain(f"chosen: {found.common.words}"))
    console.print(terminal.plain(over_splits(found.repeated, found.unit)))
    if found.by_group is not None:
        console.print()
        _groups(found)
        console.print(terminal.plain(f"by group, {over_splits(found.by_group, found.unit)}"))
    console.print()
    _front(found, ends)
    console.print()
    over = found.by_group or found.repeated
    style = "green" if 2 * over.wins > over.chosen else "yellow"
    console.print(f"[{style}]{terminal.plain(verdict(found))}[/]")
    for note in notes(found):
        console.print(f"[yellow]note:[/] {terminal.plain(note)}")


def _policies(found: Study, pick: Pick) -> None:
    """The chosen preset and its baselines: what it was chosen by, then what it kept."""
    columns: list[tuple[str, terminal.Justify]] = [
        ("an episode", "left"), ("train", "right"), ("false", "right"), ("held-out", "right"),
        ("iter.", "right"), ("false", "right"), ("95 %", "left"), ("lost", "right"),
        ("cut off", "right"),
    ]  # fmt: skip
    rows = []
    for judged in pick.policies:
        train, held = judged.train, judged.held_out
        name = judged.words if judged.role in ("fixed steps", "current") else judged.role
        rows.append((
            terminal.plain(name, most=13), amount(per_episode(train, "effort"), found.unit),
            share(train["false_rate"]), amount(per_episode(held, "effort"), found.unit),
            f"{per_episode(held, 'iterations') or 0:.3g}", share(held["false_rate"]),
            f"{share(held['false_low']).rstrip('%')}-{share(held['false_high'])}",
            "?" if held["lost"] is None else f"{held['lost']:.2g}", share(held["censored_share"]),
        ))  # fmt: skip
    terminal.out().print(terminal.table(columns, rows))


def _groups(found: Study) -> None:
    columns: list[tuple[str, terminal.Justify]] = [
        (str(found.request.by), "left"), ("held-out", "right"), ("iter.", "right"),
        ("false", "right"), ("preset", "left"),
    ]  # fmt: skip
    rows = []
    for pick in found.groups:
        held = pick.policies[0].held_out
        words = f"common ({pick.why_common})" if pick.why_common else pick.words
        rows.append((
            terminal.plain(pick.group, most=24), amount(per_episode(held, "effort"), found.unit),
            f"{per_episode(held, 'iterations') or 0:.3g}", share(held["false_rate"]),
            terminal.plain(words, most=30),
        ))  # fmt: skip
    terminal.out().print(terminal.table(columns, rows))


def _front(found: Study, ends: dict[int, Outcome]) -> None:
    word = harm_name(found).removesuffix(" stops")
    columns: list[tuple[str, terminal.Justify]] = [
        ("train", "right"), (word, "right"), ("held-out", "right"), (word, "right"),
        ("front", "left"),
    ]  # fmt: skip
    rows = []
    for at in thinned(list(ends), SHOWN):
        cells = []
        for members in (found.split.train, found.split.held_out):
            row = figures(
                found.corpus,
                ends[at],
                members,
                found.units.labels,
                unit=found.unit,
                intervals=False,
            )
            cells += [amount(per_episode(row, "effort"), found.unit), harm(found, row)]
        rows.append((*cells, terminal.plain(found.candidates.words(at), most=42)))
    terminal.out().print(terminal.table(columns, rows))
