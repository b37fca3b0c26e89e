"""Which spans belong to one run: those of a conversation where spans name one, else of a trace.

What belongs together of traces that are a model call each is told in ``_rootless``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.importers._spans.dialects import kind_of
from harness.importers._spans.span import Span

#: Attributes that name a conversation; within a trace the first of them that occurs counts.
NAMES = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "langsmith.trace.session_id",
    "traceloop.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
)

#: Longest pause within a run of which only the process is known, in ms. Tools run for minutes;
#: whoever comes back later begins something new.
PAUSE_MS = 300_000

#: The rule for calls of an agent that nobody traces, in words for ``ITERATION``.
LONE = (
    "A trace of nothing but a model call, as an instrumented client makes them where nobody traces "
    "the agent, goes on with the run whose last request's messages begin its own (system messages "
    "aside; of several one whose reply it repeats, then the longest, then the newest; an equal "
    "request only after a failure), else with the one run whose last reply asked for a call of "
    "which it brings the result (tag grouped:prefix). Where messages are not captured, it goes on "
    "with the run of its process (equal resource) that ended last before it, at most "
    f"{PAUSE_MS // 60_000} minutes ago; a run that asked for tools and then stopped by itself is "
    "over (tag grouped:process)."
)
#: The rule, in words for ``ITERATION``.
RULE = (
    "One recording for each conversation (gen_ai.conversation.id, else session.id and its kin, "
    "over all traces that name it), else for each trace. A span without one belongs to the "
    "conversation of the span around it; where a trace names only one, all its spans do. " + LONE
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


def is_rootless(spans: Sequence[Span]) -> bool:
    """Whether a trace holds a model call and nothing of an agent around it.

    Its outermost span is the call; one that is missing is around it all the same.
    """
    roots = [span for span in spans if span.parent_id is None]
    if len(roots) != 1 or any(named_by(span) for span in spans):
        return False
    return kind_of(roots[0]) == "llm" and {*map(kind_of, spans)} <= {"llm", "other"}


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
