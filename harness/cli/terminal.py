"""What people read: tables at 80 columns, numbers in words, progress; the one importer of rich.

Recorded text is hostile: control characters are shown, never sent to the terminal.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from harness.errors import ReaderGone
from harness.prices import PICO_PER_USD
from harness.text import CONTROL, inert

GROUP_STYLES = {
    "success": "green", "paused": "yellow", "limit": "magenta", "stuck": "red",
    "undecided": "dim",
}  # fmt: skip
Justify = Literal["left", "right"]
#: Below this width nothing can be read.
MIN_WIDTH = 40


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would make this an error.
        raise ReaderGone


def out() -> Console:
    """Standard output; 80 columns where it is no terminal, so that output is the same anywhere."""
    columns = os.environ.get("COLUMNS", "")
    width = max(int(columns), MIN_WIDTH) if columns.isdecimal() and int(columns) else 80
    known = sys.stdout.isatty() and not columns
    return _Console(width=None if known else width, highlight=False, soft_wrap=False, emoji=False)


def err() -> Console:
    """Standard error."""
    return _Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def plain(text: str, *, most: int | None = None) -> str:
    """Recorded text, safe to print: control characters shown as code points, markup inert."""
    shown = inert(text)
    if most is not None:
        shown = " ".join(shown.split())
        shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    return escape(shown)


def table(
    columns: Sequence[tuple[str, Justify]], rows: Iterable[Sequence[object]], *, title: str = ""
) -> Table:
    """A table; cells may carry rich markup, so recorded text goes through ``plain`` first."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False,
                 padding=(0, 1, 0, 0), header_style="bold")  # fmt: skip
    for name, justify in columns:
        made.add_column(name, justify=justify, overflow="fold", no_wrap=True)
    for row in rows:
        made.add_row(*("" if cell is None else str(cell) for cell in row))
    return made


def styled(reason: str, group: str) -> str:
    """An exit reason in its group's colour."""
    return f"[{GROUP_STYLES.get(group, 'default')}]{plain(reason)}[/]"


def number(value: float | None, digits: int = 3) -> str:
    """A number, short; ``?`` for unknown."""
    if value is None:
        return "?"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def count(value: float | None) -> str:
    """A large count: 12,345 or 1.23M."""
    if value is None:
        return "?"
    return f"{value:,.0f}" if value < 1_000_000 else f"{value / 1_000_000:,.2f}M"


def counted(value: int, noun: str) -> str:
    """A number of things: 1 step, 12,345 steps."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def dollars(pico: int | None) -> str:
    """Pico-USD as dollars; ``?`` for unknown."""
    if pico is None:
        return "?"
    value = pico / PICO_PER_USD
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def seconds(ms: int | None) -> str:
    """Milliseconds as seconds; ``?`` for unknown."""
    return "?" if ms is None else f"{ms / 1000:,.1f}s"


def records(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows one below the other, for more columns than the terminal has room for."""
    names = [plain(name, most=30) for name in columns]
    width = max(map(len, names), default=0)
    return "\n\n".join(
        "\n".join(
            f"[bold]{name}[/]{' ' * (width - len(name))}  {value}"
            for name, value in zip(names, row, strict=True)
        )
        for row in rows
    )


def json_line(record: dict[str, Any]) -> None:
    """One JSON object on one line of standard output."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    try:
        line = json.dumps(record, ensure_ascii=ascii_only, default=str, allow_nan=False)
    except ValueError:
        line = json.dumps(_finite(record), ensure_ascii=ascii_only, default=str)
    # What is left are characters inside texts; escaped they mean the same.
    write(CONTROL.sub(_json_escape, line) + "\n")


def write(text: str) -> None:
    """Text to standard output as it is."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        # Typer would make this an error.
        raise ReaderGone from None


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else json.dumps(match[0])[1:-1]


def _finite(value: Any) -> Any:
    """JSON has neither NaN nor infinity: they become null and texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


class ProgressBar:
    """A bar with the time still needed, shown on anything that takes more than a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._bar: Progress | None = None
        self._task: Any = None

    def update(self, done: int, total: int) -> None:
        """Say how far it is."""
        if self._bar is None:
            if time.monotonic() - self._since < 1 or not sys.stderr.isatty():
                return
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                TextColumn("ETA"), TimeRemainingColumn(), console=err(), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=total)
        self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
