"""OpenTelemetry: an episode as spans with virtual times; the one importer of opentelemetry.

Spans are a projection of the typed trace, made when an episode is over, and carry the same
fields as the rows in the store. What was found (scores, verdicts, how it ended) are evaluation
results, events of these spans. They are the SDK's own ``ReadableSpan`` objects, built with
their final content, because the recorded times lie in the past and nothing changes afterwards;
that costs a tenth of starting and ending live spans. They reach the store without loss; with
``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``..._TRACES_ENDPOINT``) set they also go to that backend
over OTLP/HTTP, best effort, and what was dropped or refused is counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from harness import conventions as names
from harness.attributes import (
    Attributes,
    call_attributes,
    episode_attributes,
    episode_results,
    iteration_attributes,
    iteration_results,
    reply_attributes,
)
from harness.episode import Episode
from harness.ids import span_ids, trace_id
from harness.trace import Iteration

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_UNSET = Status(StatusCode.UNSET)
_MS = 1_000_000  # ns in a ms


@dataclass(frozen=True, slots=True)
class Traced:
    """The spans of one episode, and which of them belongs to which iteration."""

    trace_id: int
    spans: tuple[ReadableSpan, ...]
    iteration_span_ids: tuple[int, ...]


class Projector:
    """Turns episodes into spans.

    Args:
        version: Version of the harness, for the instrumentation scope.
    """

    def __init__(self, version: str) -> None:
        self.resource = resource()
        self._scope = InstrumentationScope("harness", version, names.SCHEMA_URL)

    def project(self, episode: Episode, episode_id: str, start_ns: int) -> Traced:
        """The spans of an episode.

        Args:
            episode: The typed trace.
            episode_id: Gives the deterministic trace and span ids.
            start_ns: When it began, in ns since the epoch; the times in it are virtual.
        """
        ids = span_ids(episode_id)
        trace = trace_id(episode_id)
        spans: list[ReadableSpan] = []
        root = SpanContext(trace, ids.take(), False, _SAMPLED)
        clock = start_ns
        iteration_ids = []
        for at, iteration in enumerate(episode.iterations):
            context = SpanContext(trace, ids.take(), False, _SAMPLED)
            iteration_ids.append(context.span_id)
            children = list(_children(iteration, clock))
            # Where the iteration's own time is unknown, it spans what is known of it.
            end = max((clock + (iteration.ms or 0) * _MS, *(child[3] for child in children)))
            for name, attributes, start, stop in children:
                child = SpanContext(trace, ids.take(), False, _SAMPLED)
                spans.append(self._span(name, child, context, attributes, start=start, end=stop))
            spans.append(
                self._span(
                    names.ITERATION_SPAN,
                    context,
                    root,
                    iteration_attributes(episode, iteration, at),
                    start=clock,
                    end=end,
                    events=_events(iteration_results(episode, at), end),
                )
            )
            clock = end
        failed = episode.exit_group in ("limit", "stuck", "paused")
        spans.append(
            self._span(
                f"{names.INVOKE_AGENT} {episode.scenario}",
                root,
                None,
                episode_attributes(episode, episode_id),
                start=start_ns,
                end=clock,
                events=_events(episode_results(episode), clock),
                status=Status(StatusCode.ERROR, episode.message) if failed else _UNSET,
            )
        )
        return Traced(trace, tuple(spans), tuple(iteration_ids))

    def _span(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        attributes: Attributes,
        *,
        start: int,
        end: int,
        events: Sequence[Event] = (),
        status: Status = _UNSET,
    ) -> ReadableSpan:
        return ReadableSpan(
            name=name,
            context=context,
            parent=parent,
            resource=self.resource,
            attributes=attributes,
            events=events,
            kind=SpanKind.CLIENT if name.startswith(names.CHAT) else SpanKind.INTERNAL,
            status=status,
            start_time=start,
            end_time=end,
            instrumentation_scope=self._scope,
        )


def _events(results: Iterable[Attributes], at: int) -> tuple[Event, ...]:
    """Evaluation results as events of a span."""
    return tuple(Event(names.EVALUATION_EVENT, result, timestamp=at) for result in results)


def _children(iteration: Iteration, start: int) -> Iterator[tuple[str, Attributes, int, int]]:
    """Name, attributes, start and end of the chat and tool spans.

    Replies come in series, the actor's calls side by side after its reply.
    """
    clock = start
    for position, reply in enumerate(iteration.replies):
        end = clock + (reply.ms or 0) * _MS
        name = f"{names.CHAT} {reply.model}" if reply.model else names.CHAT
        yield name, reply_attributes(reply), clock, end
        clock = end
        if position == 0:
            longest = 0
            for call in iteration.turn.calls:
                duration = call.ms or 0
                longest = max(longest, duration)
                yield (
                    f"{names.EXECUTE_TOOL} {call.tool}",
                    call_attributes(call),
                    clock,
                    clock + duration * _MS,
                )
            clock += longest * _MS


def resource() -> Resource:
    """What the standard variables say; the service is ``harness`` where they name none."""
    found = Resource.create()
    if str(found.attributes["service.name"]).startswith("unknown_service"):
        return found.merge(Resource({"service.name": "harness"}))
    return found


def restored(rows: Iterable[Mapping[str, Any]], version: str) -> Traced:
    """The spans of an episode as they were made, from what the store keeps of them.

    Args:
        rows: Of the table ``spans``, all of one episode.
        version: Of the harness that made them.

    Returns:
        The same ids, times, attributes and events; the resource is this process's.
    """
    scope = InstrumentationScope("harness", version, names.SCHEMA_URL)
    source = resource()
    spans = tuple(_restored(row, source, scope) for row in rows)
    contexts = [span.context for span in spans if span.context is not None]
    iterations = [
        span.context.span_id
        for span in spans
        if span.name == names.ITERATION_SPAN and span.context is not None
    ]
    return Traced(contexts[0].trace_id, spans, tuple(iterations))


def _restored(
    row: Mapping[str, Any], source: Resource, scope: InstrumentationScope
) -> ReadableSpan:
    trace = int(row["trace_id"], 16)
    attributes = json.loads(row["attributes"])
    parent = row["parent_id"]
    # A failed episode says why in its status, and the same in its message.
    words = attributes.get(f"{names.EPISODE}message") if row["status"] == "ERROR" else None
    return ReadableSpan(
        name=row["name"],
        context=SpanContext(trace, int(row["span_id"], 16), False, _SAMPLED),
        parent=SpanContext(trace, int(parent, 16), False, _SAMPLED) if parent else None,
        resource=source,
        attributes=attributes,
        events=tuple(
            Event(event["name"], event["attributes"], timestamp=event["time_ns"])
            for event in json.loads(row["events"])
        ),
        kind=SpanKind[row["kind"]],
        status=Status(StatusCode[row["status"]], words),
        start_time=row["start_ns"],
        end_time=row["end_ns"],
        instrumentation_scope=scope,
    )
