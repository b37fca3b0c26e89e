"""A span as plain values, whichever way it came: OTLP as JSON or protobuf, an SDK's dump."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Status = Literal["unset", "ok", "error"]


@dataclass(slots=True)
class Event:
    """Something that happened during a span: an event of it, or a log record that names it.

    Attributes:
        name: Of the event.
        attributes: With the parts of a log record's body, where that is an object.
        at_ns: When, in ns since 1970.
    """

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    at_ns: int | None = None


@dataclass(slots=True)
class Span:
    """One span; ids are hexadecimal, attributes plain JSON-like values.

    Attributes:
        trace_id: Of its trace.
        span_id: Its own.
        parent_id: Of the span around it; ``None`` at the root.
        name: As the instrumentation calls it.
        start_ns: When it began, in ns since 1970.
        end_ns: When it ended.
        attributes: As the instrumentation set them.
        events: Also log records about it, once they are attached.
        status: As its instrumentation set it.
        message: What the status says of an error.
        resource: Attributes of the process that made it.
        scope: The instrumentation's name.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int | None = None
    end_ns: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    status: Status = "unset"
    message: str = ""
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str = ""

    @property
    def error(self) -> str | None:
        """What went wrong, in words, where the status says that something did."""
        if self.status != "error":
            return None
        if self.message:
            return self.message
        for event in self.events:
            if event.name == "exception":
                parts = (event.attributes.get(f"exception.{part}") for part in ("type", "message"))
                return ": ".join(str(part) for part in parts if part) or "exception"
        return str(self.attributes.get("error.type") or "error")


def in_order(events: Iterable[Event]) -> list[Event]:
    """Events by their time; one without stands behind its predecessor.

    A backend may give back the newest first, and messages are told apart by their order only.
    """
    last = 0
    keyed: list[tuple[int, Event]] = []
    for event in events:
        last = event.at_ns or last
        keyed.append((last, event))
    return [event for _, event in sorted(keyed, key=lambda item: item[0])]


def plain(kept: Span | Event) -> dict[str, Any]:
    """A span or event as an object that JSON can hold."""
    found = {part.name: getattr(kept, part.name) for part in fields(kept)}
    if isinstance(kept, Span):
        found["events"] = [plain(event) for event in kept.events]
    return found
