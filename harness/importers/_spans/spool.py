"""Spans of many traces, kept in a temporary file until all that belongs together is there.

A collector writes spans as they end, so that one trace lies spread over a file. No rule about idle
time can tell when a trace is complete; reading to the end can. What is kept in memory does not
grow with the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from harness.errors import ImportFormatError
from harness.importers._spans import own as _own
from harness.importers._spans.conversations import Link, named_by, runs_of
from harness.importers._spans.dialects import kind_of
from harness.importers._spans.otlp import SpanEvent
from harness.importers._spans.rootless import Joined, call_of
from harness.importers._spans.span import Event, Span, in_order, plain

#: Largest run that is put together in memory, in bytes of its spans as JSON.
MAX_RUN_BYTES = 96 * 2**20

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE span (
    trace TEXT, id TEXT, parent TEXT, ranked INTEGER, named TEXT, run TEXT,
    start INTEGER, size INTEGER, kind TEXT, body INTEGER, file INTEGER,
    PRIMARY KEY (trace, id)
) WITHOUT ROWID;
CREATE TABLE body (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE event (trace TEXT, span TEXT, text TEXT);
"""
_ADD = "INSERT OR IGNORE INTO span VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

#: Traces that may be a model call only; what else they need is told by reading them.
_ROOTLESS = """
CREATE TABLE rootless AS SELECT trace, min(start) AS start, sum(size) AS size
FROM span GROUP BY trace
HAVING max(kind = 'llm') AND NOT max(kind IN ('tool', 'agent')) AND count(named) = 0
AND sum(parent IS NULL) = 1 AND sum(size) <= ?
"""


class Spool:
    """Spans and events on the disk; the file has no name and goes with the connection.

    Attributes:
        path: Where what is added comes from, if that is to be known.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._bodies = 0
        self.spans = 0
        self.path: Path | None = None
        self._paths: dict[Path, int] = {}
        self._sql.executescript(_TABLES)

    def add(self, spans: Iterable[Span]) -> None:
        """Keep spans; one that is there already (sent twice) is not kept again."""
        file = None if self.path is None else self._paths.setdefault(self.path, len(self._paths))
        for span in spans:
            kind = kind_of(span)
            # Of spans that tell nothing of an agent only their place in the trace is needed.
            kept = span if kind != "other" or _own.tells(span) else _bare(span)
            text = json.dumps(plain(kept))
            self._bodies += 1
            rank, name = named_by(span) or (None, None)
            row = (span.trace_id, span.span_id, span.parent_id, rank, name, span.trace_id)
            about = (span.start_ns or 0, len(text), kind, self._bodies, file)
            if self._sql.execute(_ADD, row + about).rowcount:
                self._sql.execute("INSERT INTO body VALUES (?, ?)", (self._bodies, text))
                self.spans += 1

    def add_events(self, events: Iterable[SpanEvent]) -> None:
        """Keep events that came apart from their spans."""
        rows = ((e.trace_id, e.span_id, json.dumps(plain(e.event))) for e in events)
        self._sql.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)

    def runs(self) -> Iterator[tuple[str, int, int]]:
        """Name, size in bytes and number of spans of each run that tells of an agent, by start."""
        self._sql.execute("CREATE INDEX event_of ON event (trace, span)")
        self._sql.executemany("UPDATE span SET run = ? WHERE trace = ? AND id = ?", self._named())
        self._join()
        self._sql.execute("CREATE INDEX run_of ON span (run, start)")
        yield from self._sql.execute(
            "SELECT run, sum(size), count(*) FROM span GROUP BY run HAVING max(kind != 'other') "
            "ORDER BY min(start), run"
        )

    def run(self, name: str) -> list[Span]:
        """The spans of one run, by their start, with their events."""
        return self._spans("run", name)

    def path_of(self, name: str) -> Path | None:
        """Where the spans of a run come from, or the folder of all; ``None``: nobody told."""
        if len(self._paths) < 2:
            return next(iter(self._paths), None)
        rows = self._sql.execute("SELECT DISTINCT file FROM span WHERE run = ?", (name,))
        files = {file for (file,) in rows}
        return common([path for path, number in self._paths.items() if number in files])

    def _spans(self, column: str, name: str) -> list[Span]:
        rows = self._sql.execute(
            "SELECT text FROM span JOIN body ON body = body.id "
            f"WHERE {column} = ? ORDER BY start, body",
            (name,),
        )
        found = [_span(text) for (text,) in rows]
        for span in found:
            events = self._sql.execute(
                "SELECT text FROM event WHERE trace = ? AND span = ? ORDER BY rowid",
                (span.trace_id, span.span_id),
            )
            if apart := [Event(**json.loads(text)) for (text,) in events]:
                span.events = in_order([*span.events, *apart])
        return found

    def _join(self) -> None:
        """Put traces of a model call each to the run that they are part of."""
        self._sql.execute(_ROOTLESS, (MAX_RUN_BYTES,))
        found = Joined()
        for (trace,) in self._sql.execute("SELECT trace FROM rootless ORDER BY start, size, trace"):
            if (call := call_of(self._spans("trace", trace))) is not None:
                run = found.run_of(call)
                self._sql.execute("UPDATE span SET run = ? WHERE trace = ?", (run, trace))

    def _named(self) -> list[tuple[str, str, str]]:
        """The run of each span that is not the one of its trace."""
        changed = []
        traces = "SELECT DISTINCT trace FROM span WHERE named IS NOT NULL"
        for (trace,) in self._sql.execute(traces).fetchall():
            rows = self._sql.execute(
                "SELECT id, parent, ranked, named FROM span WHERE trace = ?", (trace,)
            )
            links = [
                Link(i, p, None if name is None else (rank, name)) for i, p, rank, name in rows
            ]
            changed += [(run, trace, own) for own, run in runs_of(trace, links).items()]
        return changed


def common(paths: Sequence[Path]) -> Path | None:
    """The path itself where there is one, the folder that all are in where there are several."""
    if len(paths) < 2:
        return next(iter(paths), None)
    return Path(os.path.commonpath([path.parent.absolute() for path in paths]))


@contextmanager
def spool() -> Iterator[Spool]:
    """A spool for one import.

    Raises:
        ImportFormatError: The temporary file cannot be written, because the disk is full.
    """
    try:
        with closing(sqlite3.connect("", isolation_level=None)) as connection:
            yield Spool(connection)
    except sqlite3.Error as error:
        raise ImportFormatError(
            f"spans cannot be kept in a temporary file: {error}; TMPDIR names another folder"
        ) from error


def _bare(span: Span) -> Span:
    return Span(
        span.trace_id,
        span.span_id,
        span.parent_id,
        span.name,
        span.start_ns,
        span.end_ns,
        status=span.status,
        message=span.message,
    )


def _span(text: str) -> Span:
    data = json.loads(text)
    return Span(**{**data, "events": [Event(**event) for event in data["events"]]})
