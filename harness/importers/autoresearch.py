"""autoresearch: logs of an agent that runs one experiment after another against one figure.

Reads a tab-separated log with a header line, or a folder of ``*.tsv``. The column of the score is
known by its name; the first column names the experiment, ``status`` (or ``correctness``) says what
became of it, ``description`` what was tried.

Two traps. A crash is written as a score of 0, which would be the best ever where lower is better:
it has no score. And one log can hold several quantities: with a column ``kernel_type`` every kernel
is a recording of its own, and where its descriptions name another unit than the column, nobody can
tell which rows are in which, so that recording has no scores at all and the tag ``unscored:unit``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import SCHEMA, Place, is_finite, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import text_lines

NAME = "autoresearch"
TITLE = "autoresearch experiment logs (results.tsv)"
LACKS: tuple[str, ...] = (
    "replies (only a line on what was tried)",
    "tool calls",
    "token counts",
    "cost",
    "times",
    "model name",
    "goal (made from the name of the score)",
    "outcome",
    "exit reason",
    "scores of crashed, failed and blocked experiments",
    "scores where the unit changes within one kernel_type",
)
TOKENS = "None recorded; usage is unknown, not zero."
ITERATION = (
    "One row; its status and description stand as the plan. The score is the column val_bpb, "
    "val_loss or val_rmse (lower is better) or throughput_tflops (higher is better). It is "
    "unknown where the experiment crashed, failed or was blocked, and where it is 0, which logs "
    "write for 'not measured'. Discarded experiments were measured and count."
)
EXIT_REASON = "Unknown: a log ends where somebody stopped looking."

#: Columns that are a score, and which way is better.
METRICS = {
    "val_bpb": "lower",
    "val_loss": "lower",
    "val_rmse": "lower",
    "throughput_tflops": "higher",
}
#: What an experiment is that has no result; any other status had one.
UNMEASURED = frozenset({"blocked", "crash", "crashed", "deferred", "error", "fail", "failed"})
_NO_NUMBER = frozenset({"", "-", "n/a", "na", "nan", "none", "null"})
#: A unit that the column throughput_tflops is not in.
_OTHER_UNIT = re.compile(r"\btok(en)?s?/s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Row:
    """One experiment."""

    group: str
    plan: str
    score: float | None
    foreign: bool


def fits(head: Head) -> bool:
    """A tab-separated log whose header has a description and one score."""
    if head.kind != "text":
        return False
    header = [name.strip() for name in head.text.lstrip().partition("\n")[0].split("\t")]
    return "description" in header and sum(name in METRICS for name in header) == 1


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each log: a file, or all ``*.tsv`` files of a folder.

    Raises:
        ImportFormatError: A file has no column that is a known score, a row has more or fewer
            fields than the header, or a score is no number.
    """
    files = sorted(path.glob("*.tsv")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.tsv file")
    seen: dict[str, int] = {}
    for file in files:
        with intake.record(Place(file, "file")):
            yield from _log(file, intake, seen)


def _log(path: Path, intake: Intake, seen: dict[str, int]) -> Iterator[dict[str, Any]]:
    lines = text_lines(path, "a header and tab-separated rows", intake)
    place, first = next(lines, (Place(path, "line 1"), ""))
    header = [name.strip() for name in first.split("\t")]
    metric = _metric(place, header)
    groups: dict[str, list[_Row]] = {}
    for place, line in lines:
        with intake.record(place):
            row = _row(place, header, metric, line)
            groups.setdefault(row.group, []).append(row)
    if not groups:
        raise ImportFormatError(f"{path}: holds a header but no row")
    for group, rows in groups.items():
        yield _recording(path, metric, group, rows, seen)


def _metric(place: Place, header: list[str]) -> str:
    found = [name for name in header if name in METRICS]
    if len(found) != 1 or "description" not in header:
        raise place.error(
            f"the header must have a column 'description' and exactly one of the scores "
            f"{', '.join(METRICS)}; found {', '.join(map(shown, header[:12]))}"
        )
    return found[0]


def _row(place: Place, header: list[str], metric: str, line: str) -> _Row:
    fields = line.split("\t")
    if len(fields) != len(header):
        raise place.error(
            f"a row must have {len(header)} tab-separated fields as the header has, "
            f"found {len(fields)}"
        )
    values = {key: field.strip() for key, field in zip(header, fields, strict=True)}
    status = values.get("status") or values.get("correctness") or ""
    text = values["description"]
    score = _score(place, metric, values[metric])
    return _Row(
        group=values.get("kernel_type", ""),
        plan=": ".join(filter(None, (status, text))),
        score=None if status.lower() in UNMEASURED else score,
        foreign=metric == "throughput_tflops" and _OTHER_UNIT.search(text) is not None,
    )


def _score(place: Place, metric: str, text: str) -> float | None:
    if text.lower() in _NO_NUMBER:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("inf")
    if not is_finite(value):
        raise place.error(f"column {metric!r} must be a finite number, found {shown(text)}")
    return value or None


def _recording(
    path: Path, metric: str, group: str, rows: list[_Row], seen: dict[str, int]
) -> dict[str, Any]:
    name = path.stem
    foreign = any(row.foreign for row in rows)
    steps: list[dict[str, Any]] = []
    for row in rows:
        step: dict[str, Any] = {"plan": row.plan} if row.plan else {}
        if row.score is not None and not foreign:
            step["score"] = row.score
        steps.append(step)
    tags = [NAME, metric, *(["unscored:unit"] if foreign else [])]
    way = METRICS[metric]
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(name)}" + (f"/{slug(group)}" if group else ""), seen),
        "title": f"{name}, {group}" if group else name,
        "source": f"{NAME}:{path.name}",
        "goal": f"Improve {metric} ({way} is better)" + (f" of {group}." if group else "."),
        "direction": way,
        "tags": tags,
        "steps": steps,
    }
