"""Tables of what stands behind a tuned preset: guarantees, attribution, exit curves, classifiers.

Nothing is printed here: each function gives columns and rows for ``terminal.table``, and records
for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from harness.cli import terminal
from harness.tune.attribution import SCORE_UNIT, Attribution
from harness.tune.classifiers import Roc
from harness.tune.conformal import STEPS, Calibration, observed_guard
from harness.tune.corpus import Corpus
from harness.tune.curves import Incidence
from harness.tune.paths import PathLimit
from harness.tune.roc import Point

#: Iterations at which a curve is shown; the last one is shown too.
SHOWN = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200)


class Shown(NamedTuple):
    """A table as people read it and as JSON has it."""

    columns: list[tuple[str, terminal.Justify]]
    rows: list[list[Any]]
    records: list[dict[str, Any]]


def calibrate_table(corpus: Corpus, found: Sequence[Calibration]) -> Shown:
    """Calibrated guards: the last signal that passes, the threshold, and what it would do."""
    columns: list[tuple[str, terminal.Justify]] = [
        ("guard", "left"), ("passes", "right"), ("stop at", "right"), ("false", "right"),
        ("likely", "right"), ("early", "right"), ("iter.", "right"), ("saved", "right"),
    ]  # fmt: skip
    rows: list[list[Any]] = []
    records: list[dict[str, Any]] = []
    priced = corpus.cost_known[corpus.offsets[1:] - 1].any()
    for one in found:
        shown = str if one.guard == STEPS else observed_guard(corpus, one.guard).shown
        fires = one.comparison if one.comparison != ">=" else ""
        rows.append([
            terminal.plain(one.guard, most=26),
            "-" if math.isnan(one.line) else shown(_whole(one.line)),
            f"{fires} {shown(_whole(one.threshold))}".strip() if one.usable else "off",
            f"{one.stopped}/{one.good}", f"{one.likely:.1%}",
            f"{one.early}/{len(corpus)}", terminal.count(one.iterations),
            terminal.dollars(one.saved if priced else None),
        ])  # fmt: skip
        records.append(
            {"type": "calibration", "run_id": corpus.run_id,
             **{name: getattr(one, name) for name in one.__slots__}}
        )  # fmt: skip
    return Shown(columns, rows, records)


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def path_table(corpus: Corpus, found: PathLimit) -> Shown:
    """The strictest step of a loosened preset that keeps the limit, as thresholds."""
    columns: list[tuple[str, terminal.Justify]] = [("guard", "left"), ("stop at", "right")]
    guards = {n: g for n, g in found.preset.guards.items() if n in corpus.guards}
    rows: list[list[Any]] = [
        [terminal.plain(name), guard.shown(guard.threshold)] for name, guard in guards.items()
    ]
    rows += [
        ["preset", terminal.plain(found.preset.name)],
        ["false stops", f"{found.stopped}/{found.good}, likely at most {found.likely:.1%}"],
        ["ended early", f"{found.early}/{len(corpus) - found.left_out}"],
        ["iterations saved", terminal.count(found.iterations)],
        ["saved", terminal.dollars(found.saved)],
    ]
    plain = {n: getattr(found, n) for n in found.__slots__ if n != "preset"}
    thresholds = {name: guard.threshold for name, guard in guards.items()}
    record = {"type": "path", "run_id": corpus.run_id, **plain, "preset": found.preset.name,
              "thresholds": thresholds}  # fmt: skip
    return Shown(columns, rows, [record])


def attribution_table(found: Attribution) -> Shown:
    """One row a guard: its Shapley share of each measure; cost also alone and left out."""
    columns: list[tuple[str, terminal.Justify]] = [
        ("guard", "left"), ("saved", "right"), ("alone", "right"), ("only it", "right"),
        ("iterations", "right"), ("score lost", "right"), ("false", "right"),
    ]  # fmt: skip
    by = {m: {w.guard: w for w in worth} for m, worth in found.worth.items()}
    rows: list[list[Any]] = []

    def dollars(pico: int) -> str:
        return terminal.dollars(pico if found.priced else None)

    for name, money in by["saved"].items():
        lost = by["lost"][name].share / SCORE_UNIT
        rows.append([
            terminal.plain(name, most=26), dollars(money.share),
            dollars(money.alone), dollars(money.left_out),
            terminal.count(by["iterations"][name].share), f"{lost:.3g}",
            f"{float(by['false_stops'][name].shapley):.1f}",
        ])  # fmt: skip
    whole = found.whole
    rows.append([
        "all", dollars(whole["saved"]), "", "", terminal.count(whole["iterations"]),
        f"{whole['lost'] / SCORE_UNIT:.3g}", f"{whole['false_stops']:.1f}",
    ])  # fmt: skip
    records = _records(found.frame(), "attribution", preset=found.preset, episodes=found.episodes)
    return Shown(columns, rows, records)


def runner_up_table(frame: pd.DataFrame) -> Shown:
    """How often each guard ended an episode, and who would have done so next."""
    columns: list[tuple[str, terminal.Justify]] = [
        ("guard", "left"), ("next", "left"), ("episodes", "right"), ("after", "right"),
        ("cost", "right"),
    ]  # fmt: skip
    pairs = zip(frame["guard"], frame["next_guard"], frame["next_reason"], strict=True)
    later = frame.assign(
        after=frame["next_iteration"] - frame["iteration"],
        # Switched off, a guard comes back where the task itself sets its limit.
        next=["the task's limit" if g == n else n or r or "nobody" for g, n, r in pairs],
    )
    rows: list[list[Any]] = []
    for (guard, then), group in later.groupby(["guard", "next"], sort=True):
        rows.append([
            terminal.plain(str(guard), most=26), terminal.plain(str(then), most=26),
            terminal.count(len(group)), terminal.number(float(group["after"].median()), 1),
            terminal.dollars(int(group["cost_between"].sum())),
        ])  # fmt: skip
    records = _records(frame, "runner_up")
    return Shown(columns, rows, records)


def curve_table(found: Incidence, preset: str) -> Shown:
    """Cumulative incidence at some iterations; records have all of them."""
    columns: list[tuple[str, terminal.Justify]] = [("iteration", "right"), ("running", "right")]
    columns += [(name, "right") for name in found.causes]
    last = int(found.times[-1])
    rows: list[list[Any]] = []
    for t in [*(t for t in SHOWN if t < last), last]:
        at = int(found.times.searchsorted(t, side="right")) - 1
        if at < 0:
            continue
        left = int(found.at_risk[at] if found.times[at] == t else found.at_risk[at + 1])
        cells = [
            f"{share:.0%} {low:.0%}-{high:.0%}".replace("%-", "-")
            for share, low, high in zip(
                found.share[:, at], found.low[:, at], found.high[:, at], strict=True
            )
        ]
        rows.append([t, left, *cells])
    records = _records(found.frame(), "curve", preset=preset)
    return Shown(columns, rows, records)


def roc_table(found: Sequence[Roc]) -> Shown:
    """One row a rule: recall, false alarms and precision; the area with its interval."""
    columns: list[tuple[str, terminal.Justify]] = [
        ("classifier", "left"), ("rule", "left"), ("recall", "right"), ("false", "right"),
        ("prec.", "right"), ("AUC", "right"),
    ]  # fmt: skip
    rows: list[list[Any]] = []
    records: list[dict[str, Any]] = []
    for roc in found:
        head = roc.positive if roc.kind == "triage" else roc.kind
        for number, at in enumerate(roc.operating):
            area = f"{roc.auc:.2f} ({roc.low:.2f}-{roc.high:.2f})"
            rows.append([
                "" if number else head, terminal.plain(at.name, most=30),
                *_percent(at), "" if number else area,
            ])  # fmt: skip
        rows.append(["", "  first, on plain examples", *_percent(roc.plain), ""])
        records.append(_roc_record(roc))
    return Shown(columns, rows, records)


def _percent(at: Point) -> list[str]:
    values = (at.recall, at.false_alarms, at.precision)
    return ["?" if value != value else f"{value:.0%}" for value in values]


def _roc_record(roc: Roc) -> dict[str, Any]:
    def flat(at: Point) -> dict[str, Any]:
        counts = {name: getattr(at, name) for name in at.__slots__}
        return {**counts, "recall": at.recall, "recall_interval": at.recall_interval,
                "false_alarms": at.false_alarms,
                "false_alarms_interval": at.false_alarms_interval,
                "precision": at.precision}  # fmt: skip

    return {
        "type": "classifier", "kind": roc.kind, "positive": roc.positive,
        "positives": roc.positives, "negatives": roc.negatives, "auc": roc.auc, "low": roc.low,
        "high": roc.high, "operating": [flat(at) for at in roc.operating],
        "plain": flat(roc.plain), "curve": roc.frame().to_dict("records"),
        "errors": [{"missed": e.missed, "hard": e.hard, "example": e.shown} for e in roc.errors],
    }  # fmt: skip


def _records(frame: pd.DataFrame, kind: str, **head: object) -> list[dict[str, Any]]:
    """Rows of a frame as JSON records."""
    return [
        {"type": kind, **head, **{str(name): value for name, value in row.items()}}
        for row in frame.to_dict("records")
    ]
