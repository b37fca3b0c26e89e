"""Traces that are still open, within bounds: what has arrived of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.importers.otlp import (
    Call,
    Span,
    SpanEvent,
    attach,
    call_of,
    conversation_of,
    joined,
)

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
        runs: Which its spans were written as part of.
        call: The model call that it is, where it tells of nothing else.
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
    call: Call | None = None

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
        #: Of which something arrived since ``_runs`` was worked out.
        self._news: dict[str, Trace] = {}
        self._runs: dict[str, str] = {}
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

    @property
    def runs(self) -> dict[str, str]:
        """The runs of the open traces that are a model call each, by the rule of the importers."""
        if self._news:
            for trace in self._news.values():
                trace.call = call_of(trace.joined())
            self._runs = joined(each.call for each in self if each.call is not None)
            self._news.clear()
        return self._runs

    def groups(self) -> Iterator[list[Trace]]:
        """The open traces, each together with those that share conversations or runs with it."""
        index, seen = self._index(), set[str]()
        for trace in self:
            if trace.id not in seen:
                group = self._related(trace, index)
                seen |= {each.id for each in group}
                yield group

    def related(self, trace: Trace) -> list[Trace]:
        """The group of one trace."""
        return self._related(trace, self._index())

    def _index(self) -> dict[str, list[Trace]]:
        found: dict[str, list[Trace]] = {}
        for trace in self:
            for name in self._names(trace):
                found.setdefault(name, []).append(trace)
        return found

    def _related(self, trace: Trace, index: dict[str, list[Trace]]) -> list[Trace]:
        found, names = {trace.id: trace}, list(self._names(trace))
        while names:
            for each in index.pop(names.pop(), ()):
                if each.id not in found:
                    found[each.id] = each
                    names += self._names(each)
        return list(found.values())

    def _names(self, trace: Trace) -> set[str]:
        """By what a trace is in a group: conversations, the run that it is in, those it was in."""
        own = self.runs.get(trace.id)
        return {*trace.conversations, *trace.runs, *(() if own is None else (own,))}

    def close(self, trace: Trace) -> None:
        """Forget what has arrived of a trace; what still comes of it is not taken."""
        del self._open[trace.id]
        self._news.pop(trace.id, None)
        self._size -= trace.size
        self._closed[trace.id] = None
        if len(self._closed) > MOST_CLOSED:
            del self._closed[next(iter(self._closed))]

    def too_many(self) -> Trace | None:
        """A trace of the run that was not heard of for longest, if there are more than may be."""
        if len(self._open) <= self._most and self._size <= self._most_bytes:
            return None
        runs = self.runs
        heard: dict[str, int] = {}
        for trace in self:
            run = runs.get(trace.id, trace.id)
            heard[run] = max(trace.seen_ms, heard.get(run, 0))
        return min(self, key=lambda trace: heard[runs.get(trace.id, trace.id)])

    def _of(self, item: Span | SpanEvent, size: int, now_ms: int) -> Trace | str:
        name = item.trace_id
        if not _TRACE_ID.fullmatch(name) or not _SPAN_ID.fullmatch(item.span_id):
            return "a trace id must have 16 bytes and a span id 8"
        if name in self._closed:
            return "the recording of this trace is finished"
        trace = self._open.pop(name, None) or Trace(name)
        self._open[name] = trace
        trace.seen_ms, trace.changed = now_ms, True
        self._news[name] = trace
        trace.size += size
        self._size += size
        return trace
