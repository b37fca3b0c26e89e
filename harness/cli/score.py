"""The verb ``score``: agreement with truth, and health."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from harness.cli import terminal
from harness.errors import HarnessError
from harness.score import HealthLimits, agreement, disagreements, health
from harness.store.database import Store
from harness.store.runs import chosen_run


def score(
    store_path: Path, run_id: str | None, presets: list[str], *, details: bool, as_json: bool
) -> None:
    """Agreement of each preset with the scenarios' truth."""
    store = Store(store_path)
    run_id = chosen_run(store, run_id)
    rows = [r for r in agreement(store, run_id) if not presets or r["preset"] in presets]
    if not rows:
        raise HarnessError(
            f"score: run {run_id} holds no scenario with a truth under these presets; truth says "
            "what a sensible user expects (harness docs scenario)"
        )
    wrong = disagreements(store, run_id, presets)
    if as_json:
        for row in rows:
            terminal.json_line({"type": "preset", "run_id": run_id, **row})
        for row in wrong:
            terminal.json_line({"type": "disagreement", **row})
        return
    columns: list[tuple[str, terminal.Justify]] = [
        ("preset", "left"), ("right", "right"), ("early", "right"),
        ("late", "right"), ("missed", "right"), ("other", "right"), ("unkn.", "right"),
        ("warn", "right"), ("cont.", "right"), ("burnt", "right"),
    ]  # fmt: skip
    console = terminal.out()
    console.print(terminal.table(columns, (
        [
            terminal.plain(r["preset"], most=22), f"{r['right_verdicts']}/{r['cases']}",
            r["false_stops"], r["late"], r["missed"], r["wrong_reasons"], r["unknown"],
            r["warned"], f"{r['contestable_right']}/{r['contestable']}",
            terminal.dollars(r["cost_after_due"]),
        ]
        for r in rows
    )))  # fmt: skip
    console.print(
        "[dim]early: stopped too early, or at all; other: for another reason; unkn.: observed "
        "or left its recording; cont.: contestable ones apart (right/all); burnt: money after the "
        "iteration by which it should have ended[/]"
    )
    if details:
        for row in wrong:
            want = ", ".join(row["reasons"] or ["go on"])
            window = f" in {row['not_before'] or 1}..{row['due_by']}" if row["due_by"] else ""
            console.print(
                f"{terminal.plain(row['preset'])} · {terminal.plain(row['scenario'])}: "
                f"[bold]{row['agreement']}[/], {row['exit_reason']} in {row['exit_iteration']}; "
                f"expected {want}{window}. [dim]{terminal.plain(row['why'] or '')}[/]"
            )
    elif wrong:
        terminal.err().print(f"{len(wrong)} disagreements; --details lists them")


def health_check(
    store_path: Path,
    run_id: str | None,
    presets: list[str],
    families: list[str],
    limits: HealthLimits,
    *,
    as_json: bool,
) -> None:
    """Whether presets behave as a reflection loop should."""
    store = Store(store_path)
    run_id = chosen_run(store, run_id)
    found = [
        h for h in health(store, run_id, limits, families) if not presets or h.preset in presets
    ]
    if not found:
        raise HarnessError(f"score: run {run_id} holds no scored episodes to judge health by")
    console = terminal.out()
    for one in found:
        if as_json:
            terminal.json_line({"run_id": run_id, "healthy": not one.findings, **asdict(one)})
            continue
        verdict = "[green]healthy[/]" if not one.findings else "[red]not healthy[/]"
        console.print(
            f"[bold]{terminal.plain(one.preset)}[/]: {verdict} on {one.episodes} scored episodes; "
            f"quick quality {one.quick:.0%}, stagnation {one.stagnated:.0%}, limits "
            f"{one.limited:.0%}"
        )
        for finding in one.findings:
            console.print(f"  - {finding}")
        if one.never_reached:
            console.print(f"  [dim]thresholds never reached: {', '.join(one.never_reached)}[/]")
