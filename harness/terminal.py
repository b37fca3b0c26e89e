"""What people read: tables at 80 columns, numbers in words, progress; the one importer of rich.

Recorded text is hostile: control characters are shown, never sent to the terminal.
"""

from __future__ import annotations

import json
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

from harness.prices import PICO_PER_USD

GROUP_STYLES = {
    "success": "green", "paused": "yellow", "limit": "magenta", "stuck": "red",
    "undecided": "dim",
}  # fmt: skip
Justify = Literal["left", "right"]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def out() -> Console:
    """Standard output; 80 columns where it is no terminal, so that output is the same anywhere."""
    return Console(width=None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 80,
                   highlight=False, soft_wrap=False)  # fmt: skip


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def plain(text: str, *, most: int | None = None) -> str:
    """Recorded text, safe to print: control characters shown as code points, markup inert."""
    shown = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
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
    return f"[{GROUP_STYLES[group]}]{reason}[/]"


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


def dollars(pico: int | None) -> str:
    """Pico-USD as dollars; ``?`` for unknown."""
    if pico is None:
        return "?"
    value = pico / PICO_PER_USD
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def seconds(ms: int | None) -> str:
    """Milliseconds as seconds; ``?`` for unknown."""
    return "?" if ms is None else f"{ms / 1000:,.1f}s"


def json_line(record: dict[str, Any]) -> None:
    """One JSON object on one line of standard output."""
    sys.stdout.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")


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
