"""otel-dump: spans as an OpenTelemetry SDK prints or keeps them, without OTLP.

Reads what Python's ``ConsoleSpanExporter`` prints (``ReadableSpan.to_json``, one object after
another), JavaScript's finished spans (``spanContext``, ``startTime`` in seconds and ns) and spans
that Phoenix gives back: one object, a list, JSON Lines, or objects without anything between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._head import Head, head_of
from harness.importers._intake import Intake
from harness.importers._open import opened
from harness.importers._reading import (
    MAX_LINE_BYTES,
    json_items,
    json_lines,
    json_records,
    json_value,
)
from harness.importers._spans.dump import is_span, span_from
from harness.importers._spans.spool import spool
from harness.importers._spans.traces import EXIT_REASON, ITERATION, LACKS, TOKENS, recordings_in
from harness.importers._stream import BrokenOffError, split

__all__ = ["EXIT_REASON", "ITERATION", "LACKS", "NAME", "TITLE", "TOKENS", "fits", "read"]

NAME = "otel-dump"
TITLE = "spans as OpenTelemetry's SDKs for Python and JavaScript print them"


def fits(head: Head) -> bool:
    """A span with its context, attributes and name as the first record."""
    return is_span(head.first) or _is_page(head.first)


def _is_page(record: Any) -> bool:
    """Whether it is what Phoenix answers for spans: a list of them as ``data``."""
    data = record.get("data") if isinstance(record, dict) else None
    return isinstance(data, list) and bool(data) and is_span(data[0])


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each conversation or trace, once the file is read.

    Raises:
        ImportFormatError: The file holds no spans, or no trace holds a model call.
    """
    with spool() as kept:
        for place, raw in _records(path, intake):
            try:
                kept.add([span_from(place, raw)])
            except ImportFormatError as error:
                intake.note(error)
        yield from recordings_in(kept, path, intake, source=NAME)


def _records(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    head = head_of(path)
    if _is_page(head.first):
        return _paged(path, intake)
    match head.kind:
        case "lines":
            return json_lines(path, intake)
        case "list":
            return json_items(path, intake, what="span")
        case "object":
            return _printed(path, intake)
        case kind:
            raise ImportFormatError(f"{path}: expected spans as JSON, found {kind}")


def _paged(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    for place, page in json_records(path, intake, what="page"):
        for number, raw in enumerate(place.get(page, "data", list), 1):
            yield place.at(f"span {number}"), raw


def _printed(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    """Objects one after another, read as the list that they would be in brackets."""
    with opened(path, intake) as file:
        number = 0
        listed = cast("IO[bytes]", _Bracketed(file))
        try:
            for number, raw in enumerate(split(listed, (), MAX_LINE_BYTES), 1):
                place = Place(path, f"span {number}")
                try:
                    if raw is None:
                        raise place.error(f"may hold at most {MAX_LINE_BYTES} bytes")
                    yield place, json_value(raw, place)
                except ImportFormatError as error:
                    intake.note(error)
        except BrokenOffError as error:
            intake.note(Place(path, f"after span {number}").error(f"the rest is lost: {error}"))


class _Bracketed:
    """A file with a bracket before and behind it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._parts = [b"]", b"["]

    def read1(self, size: int) -> bytes:
        if len(self._parts) == 2:
            return self._parts.pop()
        data: bytes = self._file.read1(size)  # type: ignore[attr-defined]
        return data or (self._parts.pop() if self._parts else b"")
