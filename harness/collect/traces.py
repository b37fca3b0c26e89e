"""Traces that are still open, within bounds: what has arrived of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.importers.otlp import Span, SpanEvent, attach, conversation_of

#: Traces that are closed are known to be so until there are this many more.
MOST_CLOSED = 10_000

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(slots=True)
class Trace:
    """What has arrived of one trace.

    Attributes:
        seen_ms: When the last of it did.
        size: Its bytes, about.
        whole: Its outermost span has ended.
        changed: Something arrived since it was last written.
        conversations: That its spans name.
        spans: By their id.
        events: Log records about spans that have not arrived.
        runs: Which its spans were written as part of, and those of the traces that share them.
    """

    id: str
    seen_ms: int = 0
    size: int = 0
    whole: bool = False
    changed: bool = False
    conversations: set[str] = field(default_factory=set)
    spans: dict[str, Span] = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)

    def joined(self) -> list[Span]:
        """Its spans, with the events that belong to them."""
        self.events = attach(self.spans.values(), self.events)
        return list(self.spans.values())


class Traces:
    """The open traces; the one that was heard of last stands at the end.

    Args:
        most: So many may be open.
        most_bytes: So many bytes may they have together, about.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._size = 0
        self._open: dict[str, Trace] = {}
        self._closed: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Trace]:
        return iter(list(self._open.values()))

    def span(self, span: Span, size: int, now_ms: int) -> str | None:
        """Take in a span.

        Args:
            span: The span.
            size: Its bytes, about.
            now_ms: When it arrived.

        Returns:
            Why it is not taken, or ``None``.
        """
        trace = self._of(span, size, now_ms)
        if isinstance(trace, str):
            return trace
        trace.spans.setdefault(span.span_id, span)
        trace.whole |= span.parent_id is None
        if (conversation := conversation_of(span)) is not None:
            trace.conversations.add(conversation)
        return None

    def event(self, event: SpanEvent, size: int, now_ms: int) -> str | None:
        """Take in a log record about a span; as ``span``."""
        trace = self._of(event, size, now_ms)
        if isinstance(trace, str):
            return trace
        trace.events.append(event)
        return None

    def related(self, trace: Trace) -> list[Trace]:
        """The open traces that share conversations with this one, itself among them."""
        found, names = {trace.id: trace}, set(trace.conversations)
        while names:
            more = [t for t in self if t.id not in found and t.conversations & names]
            names = {name for t in more for name in t.conversations} - names
            found |= {t.id: t for t in more}
        return list(found.values())

    def close(self, trace: Trace) -> None:
        """Forget what has arrived of a trace; what still comes of it is not taken."""
        del self._open[trace.id]
        self._size -= trace.size
        self._closed[trace.id] = None
        if len(self._closed) > MOST_CLOSED:
            del self._closed[next(iter(self._closed))]

    def too_many(self) -> Trace | None:
        """The trace that was not heard of for longest, where there are more than may be."""
        if len(self._open) > self._most or self._size > self._most_bytes:
            return next(iter(self._open.values()))
        return None

    def _of(self, item: Span | SpanEvent, size: int, now_ms: int) -> Trace | str:
        name = item.trace_id
        if not _TRACE_ID.fullmatch(name) or not _SPAN_ID.fullmatch(item.span_id):
            return "a trace id must have 16 bytes and a span id 8"
        if name in self._closed:
            return "the recording of this trace is finished"
        trace = self._open.pop(name, None) or Trace(name)
        self._open[name] = trace
        trace.seen_ms, trace.changed = now_ms, True
        trace.size += size
        self._size += size
        return trace
