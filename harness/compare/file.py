"""The baseline file: how each episode ended, as text for version control.

It is sorted, tab-separated, and free of run ids, times and versions, so that a change of the code
that changes no decision changes no byte of it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from harness.errors import HarnessError, choices
from harness.exits import ExitReason
from harness.trace import Replay

SCHEMA = "harness/baseline@1"
_FIRST = f"# {SCHEMA} written by `harness bless RUN --output FILE`; compared by `harness compare`"
COLUMNS = (
    "scenario", "preset", "repetition", "exit_reason", "iteration", "best_score", "cost_pico_usd",
    "unknowns", "agreement", "replay", "content",
)  # fmt: skip
#: What the view ``agreement`` can say.
AGREEMENT = ("right", "false stop", "late", "missed", "wrong reason", "unknown")
CONTENT_DIGITS = 12

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Ended:
    """How one episode ended: what a baseline keeps of it.

    Attributes:
        best_score: ``None`` if nothing was scored.
        cost_pico_usd: ``None`` if a part of it is unknown.
        unknowns: Readings that no guard could judge.
        agreement: The ending against the scenario's truth; ``None`` where there is none.
        content: First digits of the hash of the scenario's content: equal where the same recording
            was replayed.
    """

    scenario: str
    preset: str
    repetition: int
    exit_reason: str
    iteration: int
    best_score: float | None
    cost_pico_usd: int | None
    unknowns: int
    agreement: str | None
    replay: str
    content: str

    @property
    def key(self) -> Key:
        """By what episodes of two sides are paired."""
        return (self.scenario, self.preset, self.repetition)

    @property
    def success(self) -> bool:
        """Whether the exit reason is in the group success."""
        return ExitReason(self.exit_reason).group == "success"


def text_of(episodes: Iterable[Ended]) -> str:
    """The baseline file of these episodes."""
    made = io.StringIO(newline="")
    made.write(_FIRST + "\n")
    plain = csv.writer(made, dialect="excel-tab", lineterminator="\n")
    # A bare carriage return would not be quoted by every Python.
    quoted = csv.writer(made, dialect="excel-tab", lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(COLUMNS)
    for one in sorted(episodes, key=lambda e: e.key):
        cells = [_cell(getattr(one, column)) for column in COLUMNS]
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
    return made.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    # The shortest digits that read back as the same number.
    return repr(value) if isinstance(value, float) else str(value)


def is_baseline(path: Path) -> bool:
    """Whether the file says that it is a baseline; what it holds may still be broken."""
    with path.open("rb") as file:
        return file.readline(len(SCHEMA) + 3).split() == [b"#", SCHEMA.encode()]


def read(path: Path) -> dict[Key, Ended]:
    """Episodes of a baseline file, by key.

    Raises:
        HarnessError: Not a baseline, a malformed line (named by its number), or one said twice.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise HarnessError(f"baseline {path}: is not UTF-8 (byte {error.start})") from None
    first, _, rest = text.partition("\n")
    if first.split()[:2] != ["#", SCHEMA]:
        raise HarnessError(
            f"baseline {path}:1: must begin with '# {SCHEMA}', found {first.strip()[:60]!r}; "
            "make one with: harness bless RUN --output FILE"
        )
    found: dict[Key, Ended] = {}
    lines: dict[Key, int] = {}
    for line, cells in _records(path, rest):
        where = f"baseline {path}:{line}"
        if line == 2:
            if tuple(cells) != COLUMNS:
                raise HarnessError(f"{where}: columns must be {', '.join(COLUMNS)}")
            continue
        if len(cells) != len(COLUMNS):
            raise HarnessError(
                f"{where}: must have {len(COLUMNS)} columns, separated by tabs, found {len(cells)}"
            )
        one = _ended(where, dict(zip(COLUMNS, cells, strict=True)))
        if one.key in found:
            raise HarnessError(
                f"{where}: scenario {one.scenario!r} under {one.preset!r}, repetition "
                f"{one.repetition}, is already in line {lines[one.key]}"
            )
        found[one.key] = one
        lines[one.key] = line
    if not lines and rest.strip() == "":
        raise HarnessError(f"baseline {path}:2: columns are missing: {', '.join(COLUMNS)}")
    return dict(sorted(found.items()))


def _records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line of the file at which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), dialect="excel-tab", strict=True)
    line = 2
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise HarnessError(f"baseline {path}:{line}: {error}") from None
        yield line, cells
        line = reader.line_num + 2


def _ended(where: str, cells: dict[str, str]) -> Ended:
    for column, allowed in (
        ("exit_reason", [reason.value for reason in ExitReason]),
        ("agreement", ["", *AGREEMENT]),
        ("replay", get_args(Replay)),
    ):
        _one_of(where, column, cells[column], allowed)
    for column in ("scenario", "preset"):
        if not cells[column]:
            raise HarnessError(f"{where}: {column}: is empty")
    content = cells["content"]
    if len(content) != CONTENT_DIGITS or set(content) - set("0123456789abcdef"):
        raise HarnessError(
            f"{where}: content: must be {CONTENT_DIGITS} hex digits, found {content[:40]!r}"
        )
    cost = cells["cost_pico_usd"]
    numbers: dict[str, Any] = {
        column: _whole(where, column, cells[column])
        for column in ("repetition", "iteration", "unknowns")
    }
    return Ended(
        scenario=cells["scenario"],
        preset=cells["preset"],
        exit_reason=cells["exit_reason"],
        best_score=_score(where, cells["best_score"]),
        cost_pico_usd=_whole(where, "cost_pico_usd", cost) if cost else None,
        agreement=cells["agreement"] or None,
        replay=cells["replay"],
        content=content,
        **numbers,
    )


def _one_of(where: str, column: str, found: str, allowed: Sequence[str]) -> None:
    if found not in allowed:
        raise HarnessError(f"{where}: {column}: {choices(found, allowed)}")


def _whole(where: str, column: str, text: str) -> int:
    # `int` would also take signs, spaces, underscores and other scripts' digits.
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise HarnessError(f"{where}: {column}: must be a whole number, found {text[:40]!r}")
    return int(text)


def _score(where: str, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise HarnessError(f"{where}: best_score: must be a finite number, found {text[:40]!r}")
    return value
