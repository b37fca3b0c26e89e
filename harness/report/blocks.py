"""What a report is made of, before any format: sentences, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.text import inert


class Recorded(str):
    """Text that was recorded, or named by a user's file: never markup, in any format."""

    __slots__ = ()


#: Our own words and recorded ones, in order.
Sentence = tuple[str, ...]

#: Longest recorded text in a cell.
_CELL = 160


@dataclass(frozen=True, slots=True)
class Table:
    """A table of finished cells; a column that begins with ``>`` in ``header`` is of numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names as people read them."""
        return tuple(name.lstrip(">") for name in self.header)

    @property
    def right(self) -> tuple[bool, ...]:
        """Which columns are of numbers."""
        return tuple(name.startswith(">") for name in self.header)


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with the same numbers as a table under it.

    Attributes:
        name: Unique in the report; begins the ids inside the picture.
        question: What it answers.
        draw: Makes the altair chart, in the colours of the page around it. Markdown has no use
            for it, so that it is only made where it is shown.
        table: The numbers.
    """

    name: str
    question: Sentence
    draw: Callable[[], Any]
    table: Table


@dataclass(frozen=True, slots=True)
class Text:
    """A recorded text, cut where it is huge."""

    what: str
    text: Recorded
    length: int


@dataclass(frozen=True, slots=True)
class Look:
    """An episode that deserves a look."""

    name: str
    head: Sentence
    pictures: tuple[Picture, ...]
    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report."""

    name: str
    title: str
    sentences: tuple[Sentence, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    title: Sentence
    sections: tuple[Section, ...] = field(default=())


def table(header: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> Table:
    """A table of finished cells."""
    return Table(tuple(header), tuple(tuple(row) for row in rows), more)


def recorded(text: object, most: int = _CELL) -> Recorded:
    """Recorded text in one line, cut; what is hidden in it is shown."""
    if missing(text):
        return Recorded("")
    # Cut first: nobody reads five megabytes, and cleaning them takes time.
    plain = inert(" ".join(str(text)[: 4 * most].split()))
    return Recorded(plain if len(plain) <= most else plain[: most - 1] + "…")


def missing(value: object) -> bool:
    """Whether a cell of a frame holds nothing: ``None``, NaN or pandas' own missing value."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


# -- numbers in words ----------------------------------------------------------------------------


def count(value: Any) -> str:
    """A count; ``?`` for unknown."""
    return "?" if missing(value) else f"{int(value):,}"


def share(value: Any) -> str:
    """A share of 1 in per cent."""
    return "?" if missing(value) else f"{float(value):.1%}"


def score(value: Any) -> str:
    """A score, or another small number."""
    if missing(value):
        return "?"
    shown = f"{float(value):,.3f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown


def usd(value: Any, unknown: int = 0) -> str:
    """An amount in USD; at least, where some of its parts are unknown."""
    if missing(value):
        return "?"
    amount = float(value)
    sign, size = ("-" if amount < 0 else ""), abs(amount)
    shown = f"{size:,.2f}" if size >= 0.1 or size == 0 else f"{size:.4f}"
    if size < 0.00005 and size:
        shown = f"{size:.7f}".rstrip("0")
        shown = "0.00" if shown == "0." else shown
    return f"{'≥ ' if unknown else ''}{sign}${shown}"


def signed(value: Any, shown: Callable[[Any], str]) -> str:
    """A difference with its sign."""
    if missing(value):
        return "?"
    return f"+{shown(value)}" if float(value) > 0 else shown(value)


def of(part: Any, whole: Any) -> str:
    """``3 of 9``."""
    return f"{count(part)} of {count(whole)}"


def rows(frame: Any) -> list[Mapping[str, Any]]:
    """Rows of a frame as mappings."""
    found: list[Mapping[str, Any]] = frame.to_dict("records")
    return found
