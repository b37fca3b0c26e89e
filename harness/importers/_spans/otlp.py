"""OTLP requests as plain spans and events: JSON as files and HTTP carry it, and protobuf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._spans.otlp_values import (
    any_value,
    attributes_of,
    id_in,
    list_in,
    status_of,
    time_in,
    value_in,
)
from harness.importers._spans.span import Event, Span, in_order

Lost = Callable[[ImportFormatError], None]

_REQUEST = Place(Path("request"), "OTLP")


@dataclass(slots=True)
class SpanEvent:
    """An event that came apart from its span, as a log record."""

    trace_id: str
    span_id: str
    event: Event


def spans_from(request: Any, place: Place = _REQUEST, lost: Lost | None = None) -> list[Span]:
    """The spans of one ``ExportTraceServiceRequest`` (or ``TracesData``, which looks the same).

    Args:
        request: The message of protobuf, or the object of OTLP/JSON; keys may be written in
            lowerCamelCase or snake_case, ids in hexadecimal or base64.
        place: Where it came from, for messages.
        lost: Told of each span that is broken; left out, the first one is raised.

    Raises:
        ImportFormatError: It is no such request, or without ``lost`` a span is broken.
    """
    plain = request if isinstance(request, dict) else _plain(request)
    return list(_each(plain, place, lost, _SPANS, _span))


def events_from(request: Any, place: Place = _REQUEST, lost: Lost | None = None) -> list[SpanEvent]:
    """The log records of one ``ExportLogsServiceRequest`` that belong to a span.

    Official instrumentations send messages as log records, beside the span that they belong to.
    Arguments and errors are as in ``spans_from``.
    """
    plain = request if isinstance(request, dict) else _plain(request)
    found = _each(plain, place, lost, _LOGS, _log)
    return [event for event in found if event.trace_id and event.span_id]


def attach(spans: Iterable[Span], events: Iterable[SpanEvent]) -> list[SpanEvent]:
    """Put events to the spans they belong to, in order of time.

    Returns:
        Those whose span is not there (yet).
    """
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    left = []
    grown: dict[tuple[str, str], Span] = {}
    for found in events:
        if (span := by_id.get((found.trace_id, found.span_id))) is None:
            left.append(found)
        else:
            span.events.append(found.event)
            grown[(found.trace_id, found.span_id)] = span
    for span in grown.values():
        span.events = in_order(span.events)
    return left


#: When a log record without a time of its own was received.
_OBSERVED = ("observedTimeUnixNano", "observed_time_unix_nano")
#: Keys from the request down to its records.
_SPANS = (
    ("resourceSpans", "resource_spans"),
    ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"),
    ("spans",),
)
_LOGS = (
    ("resourceLogs", "resource_logs"),
    ("scopeLogs", "scope_logs"),
    ("logRecords", "log_records"),
)


def _each(
    request: Any,
    place: Place,
    lost: Lost | None,
    keys: tuple[tuple[str, ...], ...],
    make: Callable[[Place, Any, dict[str, Any], str], Any],
) -> Iterator[Any]:
    outer, middle, inner = keys
    number = 0
    for group in list_in(place, request, *outer):
        resource = attributes_of(place, value_in(value_in(group, "resource") or {}, "attributes"))
        for library in list_in(place, group, *middle):
            scope = value_in(library, "scope", "instrumentationLibrary") or {}
            name = scope.get("name") if isinstance(scope, dict) else None
            for raw in list_in(place, library, *inner):
                number += 1
                try:
                    yield make(place.at(f"{inner[0]} {number}"), raw, resource, str(name or ""))
                except ImportFormatError as error:
                    if lost is None:
                        raise
                    lost(error)


def _span(spot: Place, raw: Any, resource: dict[str, Any], scope: str) -> Span:
    trace, own = (
        id_in(spot, raw, *keys) for keys in (("traceId", "trace_id"), ("spanId", "span_id"))
    )
    if not trace or not own:
        raise spot.error("needs a 'traceId' and a 'spanId'")
    status = value_in(raw, "status") or {}
    code = value_in(status, "code") if isinstance(status, dict) else None
    return Span(
        trace,
        own,
        id_in(spot, raw, "parentSpanId", "parent_span_id") or None,
        str(value_in(raw, "name") or ""),
        time_in(spot, raw, "startTimeUnixNano", "start_time_unix_nano"),
        time_in(spot, raw, "endTimeUnixNano", "end_time_unix_nano"),
        attributes_of(spot, value_in(raw, "attributes")),
        [_event(spot, event) for event in list_in(spot, raw, "events")],
        status_of(code),
        str(value_in(status, "message") or "") if isinstance(status, dict) else "",
        resource,
        scope,
    )


def _event(spot: Place, raw: Any) -> Event:
    return Event(
        str(value_in(raw, "name") or ""),
        attributes_of(spot, value_in(raw, "attributes")),
        time_in(spot, raw, "timeUnixNano", "time_unix_nano"),
    )


def _log(spot: Place, raw: Any, resource: dict[str, Any], scope: str) -> SpanEvent:
    attributes = attributes_of(spot, value_in(raw, "attributes"))
    body = any_value(spot, value_in(raw, "body"))
    name = value_in(raw, "eventName", "event_name") or attributes.get("event.name") or ""
    if isinstance(body, dict):
        attributes = {**body, **attributes}
    elif body is not None:
        attributes = {"content": body, **attributes}
    at = time_in(spot, raw, "timeUnixNano", "time_unix_nano")
    return SpanEvent(
        id_in(spot, raw, "traceId", "trace_id"),
        id_in(spot, raw, "spanId", "span_id"),
        Event(str(name), attributes, at or time_in(spot, raw, *_OBSERVED)),
    )


def _plain(message: Any) -> dict[str, Any]:
    """A message of protobuf as the object that OTLP/JSON would be, ids as bytes."""
    found: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            found[descriptor.name] = value
        elif descriptor.is_repeated:
            found[descriptor.name] = [_plain(item) for item in value]
        else:
            found[descriptor.name] = _plain(value)
    return found
