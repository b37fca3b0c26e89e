"""A study as Markdown, as records, and as rows of the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from harness.store.database import Store
from harness.store.queries import query
from harness.text import inert
from harness.tune.corpus import Flags
from harness.tune.evidence import (
    about,
    amount,
    false_words,
    harm,
    harm_name,
    notes,
    over_splits,
    per_episode,
    verdict,
    wanted,
)
from harness.tune.study import Study
from harness.tune.totals import Outcome, Row, figures
from harness.tune.view import Pick

#: So many presets of the front are shown; the store and --json have up to ``_KEPT``.
SHOWN = 8
_KEPT = 60
#: Columns of the table ``tuning``, in order.
COLUMNS = (
    "run_id", "grouping", "role", "part", "words", "preset", "objective", "unit", "episodes",
    "tasks", "iterations", "cost_pico_usd", "role_cost_pico_usd", "tokens", "saved_pico_usd",
    "judged", "false_stops", "false_low", "false_high", "best_score", "lost", "success_low",
    "success_high", "exact", "censored", "diverged", "reasons",
)  # fmt: skip


def thinned(rows: Sequence[int], most: int) -> list[int]:
    """Both ends and an even choice between them."""
    if len(rows) <= most:
        return list(rows)
    return [rows[at] for at in np.unique(np.linspace(0, len(rows) - 1, most).round().astype(int))]


def records(study: Study, ends: dict[int, Outcome]) -> Iterator[dict[str, Any]]:
    """One record a policy and side, as the store keeps it.

    Args:
        study: What was found.
        ends: Where the presets of the front end the episodes, by candidate.
    """
    for pick in (study.common, *study.groups):
        for judged in pick.policies:
            data = json.dumps(pick.preset.as_data(), default=str, sort_keys=True)
            preset = data if judged.role == "chosen" else None
            for part, row in (("train", judged.train), ("held_out", judged.held_out)):
                yield _record(study, pick.group, judged.role, part, judged.words, preset, row)
    labels = study.units.labels
    for at, found in ends.items():
        preset = json.dumps(study.candidates.preset(at).as_data(), default=str, sort_keys=True)
        sides: tuple[tuple[str, Flags], ...] = (
            ("train", study.split.train), ("held_out", study.split.held_out),
        )  # fmt: skip
        for part, members in sides:
            row = figures(study.corpus, found, members, labels, unit=study.unit, intervals=False)
            yield _record(study, "", "front", part, study.candidates.words(at), preset, row)


def _record(
    study: Study, group: str, role: str, part: str, words: str, preset: str | None, row: Row
) -> dict[str, Any]:
    values = (
        study.corpus.run_id, group, role, part, words, preset, study.request.objective.words,
        study.unit, row["episodes"], row["tasks"], row["iterations"], row["cost"],
        row["role_cost"], row["tokens"], row["saved"], row["judged"], row["false_stops"],
        row.get("false_low"), row.get("false_high"), row["best"], row["lost"],
        row["success_low"], row["success_high"], row["exact"], row["censored"], row["diverged"],
        json.dumps(row["reasons"]),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def front_rows(study: Study, most: int = _KEPT) -> list[int]:
    """Candidates on the front, thinned."""
    return thinned(study.front.tolist(), most)


def store_rows(store: Store, run_id: str, rows: Sequence[dict[str, Any]]) -> None:
    """Keep the records in the table ``tuning``, in place of earlier ones of this run."""
    store.create()
    store.execute(query("forget_tuning"), {"run": run_id})
    marks = "(" + ", ".join("?" for _ in COLUMNS) + ")"
    store.execute(
        f"INSERT INTO tuning ({', '.join(COLUMNS)}) VALUES {', '.join(marks for _ in rows)}",
        [row[column] for row in rows for column in COLUMNS],
    )


def markdown(study: Study, ends: dict[int, Outcome]) -> str:
    """The report, deterministic and without dates."""
    over = study.repeated
    parts = [
        f"# Tuning of run {_cell(study.corpus.run_id)}", verdict(study), about(study) + ".",
        f"Objective: {wanted(study)}. Tried: {study.candidates.told}.",
        "## What was chosen", _picked(study, study.common), over_splits(over, study.unit) + ".",
    ]  # fmt: skip
    if study.groups:
        parts += [f"## By {study.request.by}"]
        if study.by_group is not None:
            parts.append("A preset a group, " + over_splits(study.by_group, study.unit) + ".")
        for pick in study.groups:
            why = f"The common preset: {pick.why_common}.\n\n" if pick.why_common else ""
            parts.append(f"### {_cell(pick.group)}\n\n{why}{_picked(study, pick)}")
    parts += ["## The front", "Presets that none is better than on the tasks chosen by.",
              _front(study, ends)]  # fmt: skip
    found = notes(study)
    if found:
        parts += ["## What weakens this", "\n".join(f"- {_cell(note)}" for note in found)]
    return "\n\n".join(parts) + "\n"


def _picked(study: Study, pick: Pick) -> str:
    head = ("policy", "side", study.unit, "saved", "of it roles", "iterations", "false stops",
            "quality lost", "best", "success", "exact, censored, diverged")  # fmt: skip
    rows = [
        (f"{judged.role}: {judged.words}", side, *_cells(study, row))
        for judged in pick.policies
        for side, row in (("train", judged.train), ("held-out", judged.held_out))
    ]
    reasons = ", ".join(f"{name} {n}" for name, n in pick.policies[0].held_out["reasons"].items())
    return f"{_grid(head, rows)}\n\nHeld-out endings of the chosen preset: {reasons}."


def _cells(study: Study, row: Row) -> tuple[str, ...]:
    return (
        amount(per_episode(row, "effort"), study.unit), amount(per_episode(row, "saved"), "cost"),
        amount(per_episode(row, "role_cost"), "cost"),
        f"{per_episode(row, 'iterations') or 0:.3g}", false_words(row), _short(row["lost"]),
        _short(row["best"]), f"{row['success_low']} to {row['success_high']}",
        f"{row['exact']}, {row['censored']}, {row['diverged']}",
    )  # fmt: skip


def _front(study: Study, ends: dict[int, Outcome]) -> str:
    rows = []
    for at in thinned(list(ends), SHOWN * 2):
        sides = (study.split.train, study.split.held_out)
        cells = [
            cell
            for members in sides
            for row in [
                figures(
                    study.corpus,
                    ends[at],
                    members,
                    study.units.labels,
                    unit=study.unit,
                    intervals=False,
                )
            ]
            for cell in (amount(per_episode(row, "effort"), study.unit), harm(study, row))
        ]
        rows.append((study.candidates.words(at), *cells))
    name = harm_name(study)
    head = ("preset", f"train {study.unit}", name, f"held-out {study.unit}", name)
    return _grid(head, rows)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    """Recorded text as plain words in Markdown."""
    shown = inert(" ".join(text.split()))
    for mark in "\\`*_[]<>|#":
        shown = shown.replace(mark, f"\\{mark}") if mark in "\\|`<>[]*" else shown
    return shown


def _short(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}"
