"""otlp: traces of any agent that is instrumented with OpenTelemetry, as OTLP files.

Reads JSON (one request, a list of requests, or one a line, as the Collector's file exporter
writes), protobuf (one message, or messages behind their lengths), each also packed (``.gz``), and
all such files of a folder together. Log records in the same files are put to their spans.

Conventions: OpenTelemetry's for generative AI (old and new), OpenLLMetry, OpenInference and
Vercel's AI SDK. A program that receives spans itself uses ``spans_from``, ``events_from`` and
``attach`` for what arrives, ``grouped`` for which of them are one run, ``recording_of`` for a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._head import Head, head_of
from harness.importers._intake import Intake
from harness.importers._reading import MAX_LINE_BYTES, json_items, json_records
from harness.importers._spans.conversations import conversation_of
from harness.importers._spans.dialects import is_model_call
from harness.importers._spans.grouped import grouped
from harness.importers._spans.otlp import SpanEvent, attach, events_from, spans_from
from harness.importers._spans.protobuf import is_request, requests
from harness.importers._spans.rootless import Call, call_of, joined
from harness.importers._spans.salvage import lines, salvaged
from harness.importers._spans.span import Event, Span
from harness.importers._spans.spool import Spool, common, spool
from harness.importers._spans.traces import (
    EXIT_REASON,
    ITERATION,
    LACKS,
    TOKENS,
    recording_of,
    recordings_in,
)

__all__ = [
    "EXIT_REASON", "ITERATION", "LACKS", "NAME", "TITLE", "TOKENS", "Call", "Event", "Span",
    "SpanEvent", "attach", "call_of", "conversation_of", "events_from", "fits", "grouped",
    "is_model_call", "joined", "read", "read_all", "recording_of", "spans_from",
]  # fmt: skip

NAME = "otlp"
TITLE = "OpenTelemetry traces as OTLP files, JSON or protobuf"

_SPANS = ("resourceSpans", "resource_spans")
_LOGS = ("resourceLogs", "resource_logs")
_LINES = (".jsonl", ".ndjson")
_REST = "the rest of the file cannot be read"
_NEXT = "the next document"
_ENDINGS = (".json", *_LINES, ".pb", ".binpb", ".bin", ".proto", ".otlp")


def fits(head: Head) -> bool:
    """JSON whose first record has ``resourceSpans``, protobuf that begins as a request does.

    Also a folder of such files, since a collector that rotates its files parts traces.
    """
    if head.kind == "folder":
        return any(_named(name) for name in head.names)
    if head.kind in ("binary", "text"):
        return is_request(head.path)
    return any(head.has(key) for key in (*_SPANS, *_LOGS)) or _is_page(head.first)


def _is_page(record: Any) -> bool:
    """Whether it is what Phoenix answers for spans as OTLP: ``data``, with no resource."""
    data = record.get("data") if isinstance(record, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and "span_id" in first and "start_time_unix_nano" in first


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each conversation or trace, once all files are read.

    Raises:
        ImportFormatError: A file is not of this format, a folder has none, or no trace holds a
            model call.
    """
    yield from read_all([path], intake)


def read_all(paths: Sequence[Path], intake: Intake) -> Iterator[dict[str, Any]]:
    """The same for several files and folders, of which a run may be spread over all.

    One of several that cannot be read is noted.

    Raises:
        ImportFormatError: As ``read``.
    """
    with spool() as kept:
        for path in paths:
            kept.path = path
            try:
                for file in _files(path):
                    _take(file, intake, kept)
            except ImportFormatError as error:
                if len(paths) == 1:
                    raise
                intake.note(error)
        yield from recordings_in(kept, common(paths) or Path(), intake, source=NAME)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    named = [p for p in sorted(path.rglob("*")) if _named(p.name)]
    if not (files := [file for file in named if file.is_file() and fits(head_of(file))]):
        raise ImportFormatError(
            f"{path}: the folder holds no OTLP file ({', '.join(_ENDINGS)}, each also with .gz)"
        )
    return files


def _named(name: str) -> bool:
    return name.removesuffix(".gz").endswith(_ENDINGS)


def _take(file: Path, intake: Intake, kept: Spool) -> None:
    for place, request in _requests(file, intake):
        try:
            if isinstance(request, dict) and any(key in request for key in _LOGS):
                kept.add_events(events_from(request, place, intake.note))
            if not isinstance(request, dict) or any(key in request for key in _SPANS):
                kept.add(spans_from(request, place, intake.note))
            elif not any(key in request for key in _LOGS):
                keys = ", ".join(map(repr, list(request)[:12])) or "none"
                raise place.error(f"needs the key 'resourceSpans'; found keys: {keys}")
        except ImportFormatError as error:
            intake.note(error)


def _requests(file: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    head = head_of(file)
    if head.kind in ("object", "list") and any(head.has(key) for key in (*_SPANS, *_LOGS)):
        yield from _document(head, intake)
        return
    if head.kind == "lines" or file.name.removesuffix(".gz").endswith(_LINES):
        # Also where the first line is broken.
        yield from _objects(lines(file, intake), intake)
        return
    if head.kind in ("binary", "text"):
        yield from requests(file, intake)
        return
    yield from _objects(json_records(file, intake, what="request"), intake)


def _document(head: Head, intake: Intake) -> Iterator[tuple[Place, Any]]:
    """Resources as they are; where one is broken or too large, all spans one by one.

    The spool keeps what comes twice once.
    """
    keys = [key for key in _SPANS if head.has(key)]
    first = Intake()
    broken: list[str] = []
    try:
        if head.kind == "object" and keys and not any(head.has(key) for key in _LOGS):
            for place, item in json_items(head.path, first, under=keys[0], what="resource"):
                yield place, {keys[0]: [item]}
        else:
            yield from _objects(json_records(head.path, first, what="request"), intake)
        broken = first.problems
    except ImportFormatError as error:
        broken = [str(error)]
    finally:
        intake.read_bytes += first.read_bytes
        intake.total_bytes += first.total_bytes
    if not broken:
        return
    before = intake.broken
    last, whole = yield from salvaged(head.path, intake)
    lost = intake.broken > before
    # All that follows from one bracket too many is told of once.
    for words in broken if lost or not whole else broken[:1]:
        _, ended, why = words.partition(_REST)
        if last is not None and f"hold at most {MAX_LINE_BYTES} bytes" in words:
            continue
        # A bracket too many or too few looks like another end of the document.
        if ended and last is not None and not (lost and (whole or _NEXT in why)):
            intake.note(Place(head.path, f"after {last.spot}").error(_REST + why))
        elif not lost:
            intake.note(ImportFormatError(words))


def _objects(
    records: Iterator[tuple[Place, Any]], intake: Intake
) -> Iterator[tuple[Place, dict[str, Any]]]:
    for place, record in records:
        if isinstance(record, dict) and _is_page(record):
            yield place, {_SPANS[0]: [{"scopeSpans": [{"spans": record["data"]}]}]}
        elif isinstance(record, dict):
            yield place, record
        else:
            intake.note(place.error("must be an object with the key 'resourceSpans'"))
