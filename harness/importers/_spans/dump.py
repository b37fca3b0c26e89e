"""Spans as SDKs print them, without OTLP: Python's ``to_json``, JavaScript's objects, Phoenix's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from harness.importers._base import Place, shown
from harness.importers._spans.otlp_values import attributes_of, status_of
from harness.importers._spans.span import Event, Span

_CONTEXTS = ("context", "spanContext", "span_context")
_KIND = "openinference.span.kind"


def is_span(raw: Any) -> bool:
    """Whether a record is a span: it has a name, attributes, and the ids in a context."""
    return (
        isinstance(raw, dict)
        and "name" in raw
        and isinstance(raw.get("attributes"), dict)
        and any(_ids(raw.get(key)) != (None, None) for key in _CONTEXTS)
    )


def span_from(place: Place, raw: Any) -> Span:
    """One span.

    Raises:
        ImportFormatError: It has no ids, or a part has another type.
    """
    if not is_span(raw):
        keys = ", ".join(map(repr, list(raw)[:12])) if isinstance(raw, dict) else shown(raw)
        raise place.error(f"needs a name, attributes and a context with ids; found: {keys}")
    context = next(raw[key] for key in _CONTEXTS if isinstance(raw.get(key), dict))
    trace, own = (_hex(value, size) for value, size in zip(_ids(context), (32, 16), strict=True))
    if trace is None or own is None:
        raise place.error("its context needs the ids of the trace and the span")
    resource = raw.get("resource")
    return Span(
        trace,
        own,
        _parent(raw),
        str(raw["name"]),
        _time(place, raw, "start_time", "startTime"),
        _time(place, raw, "end_time", "endTime"),
        _attributes(place, raw),
        [_event(place, event) for event in place.get_or_none(raw, "events", list) or ()],
        *_status(raw),
        attributes_of(place, resource.get("attributes")) if isinstance(resource, dict) else {},
        _scope(raw),
    )


def dumped(span: Span) -> dict[str, Any]:
    """A span as ``span_from`` reads it, as JSON-like data."""
    return {
        "name": span.name,
        "context": {"trace_id": span.trace_id, "span_id": span.span_id},
        "parent_id": span.parent_id,
        "start_time": span.start_ns,
        "end_time": span.end_ns,
        "status": {"status_code": span.status, "description": span.message},
        "attributes": span.attributes,
        "events": [
            {"name": event.name, "timestamp": event.at_ns, "attributes": event.attributes}
            for event in span.events
        ],
        "resource": {"attributes": span.resource},
        "instrumentation_scope": {"name": span.scope},
    }


def _attributes(place: Place, raw: dict[str, Any]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for key, value in attributes_of(place, raw["attributes"]).items():
        # Phoenix also gives back the tree that the dots in the names mean.
        about |= {key: value} if "." in key else _flat(key, value)
    # Phoenix keeps OpenInference's kind beside the attributes.
    if (kind := raw.get("span_kind")) is not None and isinstance(kind, str):
        about.setdefault(_KIND, kind)
    return about


def _flat(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {key: value}
    below = (_flat(f"{key}.{name}", item) for name, item in value.items())
    return {name: item for one in below for name, item in one.items()}


def _ids(context: Any) -> tuple[Any, Any]:
    if not isinstance(context, dict):
        return None, None
    pairs = (("trace_id", "traceId"), ("span_id", "spanId"))
    trace, own = (next((context[k] for k in pair if context.get(k)), None) for pair in pairs)
    return trace, own


def _hex(value: Any, size: int) -> str | None:
    """An id in hexadecimal, which Python's SDK has as a number or with ``0x``."""
    if type(value) is int and 0 < value < 16**size:
        return f"{value:0{size}x}"
    return value.removeprefix("0x").lower() or None if isinstance(value, str) else None


def _parent(raw: dict[str, Any]) -> str | None:
    for key in ("parent_id", "parentSpanId", "parentId"):
        if raw.get(key):
            return _hex(raw[key], 16)
    for key in ("parent", "parentSpanContext"):
        if (found := _ids(raw.get(key))[1]) is not None:
            return _hex(found, 16)
    return None


def _status(raw: dict[str, Any]) -> tuple[Any, str]:
    status = raw.get("status")
    if isinstance(status, dict):
        code = status.get("status_code", status.get("code"))
        return status_of(code), str(status.get("description") or status.get("message") or "")
    return status_of(raw.get("status_code")), str(raw.get("status_message") or "")


def _scope(raw: dict[str, Any]) -> str:
    scope = raw.get("instrumentationScope") or raw.get("instrumentation_scope")
    return str(scope.get("name") or "") if isinstance(scope, dict) else ""


def _event(place: Place, raw: Any) -> Event:
    if not isinstance(raw, dict):
        raise place.error(f"an event must be an object, found {shown(raw)}")
    about = attributes_of(place, raw.get("attributes"))
    return Event(str(raw.get("name") or ""), about, _time(place, raw, "timestamp", "time"))


def _time(place: Place, raw: dict[str, Any], *keys: str) -> int | None:
    """A time in ns: a number of them, ISO 8601, or JavaScript's seconds and ns."""
    key = next((key for key in keys if raw.get(key) is not None), None)
    if key is None:
        return None
    value = raw[key]
    if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
        value = value[0] * 10**9 + value[1]
    elif isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
            since = when - datetime(1970, 1, 1, tzinfo=UTC)
            value = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
        except (ValueError, OverflowError):
            pass
    if type(value) is not int or not 0 <= value < 2**63:
        raise place.error(
            f"key {key!r} must be ns since 1970, ISO 8601 or [seconds, ns], found {shown(value)}"
        )
    return value or None
