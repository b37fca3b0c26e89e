"""Which spans belong to one run: those of a conversation where spans name one, else of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.importers._span import Span

#: Attributes that name a conversation; within a trace the first of them that occurs counts.
NAMES = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "langsmith.trace.session_id",
    "traceloop.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
)

#: The rule, in words for ``ITERATION``.
RULE = (
    "One recording for each conversation (gen_ai.conversation.id, else session.id and its kin, "
    "over all traces that name it), else for each trace. A span without one belongs to the "
    "conversation of the span around it; where a trace names only one, all its spans do."
)


@dataclass(frozen=True, slots=True)
class Link:
    """What of a span decides to which run it belongs.

    Attributes:
        own: The conversation that the span names, as its place in ``NAMES`` and the id.
    """

    span_id: str
    parent_id: str | None
    own: tuple[int, str] | None


def named_by(span: Span) -> tuple[int, str] | None:
    """The same, with the place of the attribute in ``NAMES``."""
    for rank, name in enumerate(NAMES):
        value = span.attributes.get(name) or span.resource.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return rank, str(value)
    return None


def conversation_of(span: Span) -> str | None:
    """The conversation that a span or its process names."""
    named = named_by(span)
    return None if named is None else named[1]


def runs_of(trace_id: str, links: Sequence[Link]) -> dict[str, str]:
    """The run of each span of one trace, by the span's id."""
    owners = [link.own for link in links if link.own is not None]
    if not owners:
        return {link.span_id: trace_id for link in links}
    rank = min(rank for rank, _ in owners)
    own = {k.span_id: k.own[1] for k in links if k.own is not None and k.own[0] == rank}
    if len(names := set(own.values())) == 1:
        return dict.fromkeys((link.span_id for link in links), names.pop())
    parents = {link.span_id: link.parent_id for link in links}
    return {link.span_id: _nearest(link.span_id, own, parents) or trace_id for link in links}


def _nearest(span_id: str, own: dict[str, str], parents: dict[str, str | None]) -> str | None:
    seen: set[str] = set()
    at: str | None = span_id
    while at is not None and at not in seen:
        if at in own:
            return own[at]
        seen.add(at)
        at = parents.get(at)
    return None


def grouped(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """Spans in memory by their run, in the order in which the runs came."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    runs: dict[str, list[Span]] = {}
    for trace_id, members in traces.items():
        links = [Link(span.span_id, span.parent_id, named_by(span)) for span in members]
        of = runs_of(trace_id, links)
        for span in members:
            runs.setdefault(of[span.span_id], []).append(span)
    return runs
