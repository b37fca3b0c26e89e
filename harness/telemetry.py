"""OpenTelemetry: an episode as spans with virtual times; the one importer of opentelemetry.

Spans are a projection of the typed trace, made when an episode is over, and carry the same
fields as the rows in the store. They are the SDK's own ``ReadableSpan`` objects, built with
their final content, because the recorded times lie in the past and nothing changes afterwards;
that costs a tenth of starting and ending live spans. They reach the store without loss; with
``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``..._TRACES_ENDPOINT``) set they also go to that backend
over OTLP/HTTP, best effort, and what was dropped or refused is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from harness import conventions as names
from harness.episode import Episode
from harness.ids import span_ids, trace_id
from harness.trace import Call, Iteration, Reply

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_UNSET = Status(StatusCode.UNSET)
_MS = 1_000_000  # ns in a ms
Attributes = dict[str, AttributeValue]


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
            score = iteration.evaluation.score
            events = (
                ()
                if score is None
                else (
                    Event(
                        names.EVALUATION_EVENT,
                        {names.EVALUATION_NAME: "score", names.EVALUATION_SCORE: score},
                        timestamp=end,
                    ),
                )
            )
            spans.append(
                self._span(
                    names.ITERATION_SPAN,
                    context,
                    root,
                    _iteration_attributes(episode, iteration, at),
                    start=clock,
                    end=end,
                    events=events,
                )
            )
            clock = end
        failed = episode.exit_group in ("limit", "stuck", "paused")
        spans.append(
            self._span(
                f"{names.INVOKE_AGENT} {episode.scenario}",
                root,
                None,
                _episode_attributes(episode, episode_id),
                start=start_ns,
                end=clock,
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


def _children(iteration: Iteration, start: int) -> Iterator[tuple[str, Attributes, int, int]]:
    """Name, attributes, start and end of the chat and tool spans.

    Replies come in series, the actor's calls side by side after its reply.
    """
    clock = start
    for position, reply in enumerate(iteration.replies):
        end = clock + (reply.ms or 0) * _MS
        name = f"{names.CHAT} {reply.model}" if reply.model else names.CHAT
        yield name, _reply_attributes(reply), clock, end
        clock = end
        if position == 0:
            longest = 0
            for call in iteration.turn.calls:
                duration = call.ms or 0
                longest = max(longest, duration)
                yield (
                    f"{names.EXECUTE_TOOL} {call.tool}",
                    _call_attributes(call),
                    clock,
                    clock + duration * _MS,
                )
            clock += longest * _MS


def _reply_attributes(reply: Reply) -> Attributes:
    attributes: Attributes = {
        names.OPERATION: names.CHAT,
        names.ROLE: reply.role,
        names.TIME_KNOWN: reply.ms is not None,
    }
    if reply.model is not None:
        attributes[names.REQUEST_MODEL] = reply.model
    if reply.finish_reason is not None:
        attributes[names.FINISH_REASONS] = (reply.finish_reason,)
    usage = reply.usage
    if usage is not None:
        attributes[names.INPUT_TOKENS] = usage.input_all
        attributes[names.OUTPUT_TOKENS] = usage.output_all
        attributes[names.CACHE_READ_TOKENS] = usage.cache_read
        attributes[names.CACHE_WRITE_TOKENS] = usage.cache_write
        attributes[names.REASONING_TOKENS] = usage.reasoning
    if reply.cost is not None:
        attributes[names.COST] = reply.cost
    if reply.error is not None:
        attributes[names.ERROR_TYPE] = reply.error
    return attributes


def _call_attributes(call: Call) -> Attributes:
    attributes: Attributes = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: call.tool,
        names.TOOL_TYPE: "function",
        names.CALL_OK: call.ok,
        names.TIME_KNOWN: call.ms is not None,
    }
    if call.exit_code is not None:
        attributes[names.CALL_EXIT_CODE] = call.exit_code
    return attributes


def _iteration_attributes(episode: Episode, iteration: Iteration, at: int) -> Attributes:
    decision = episode.decisions[at]
    prefix = names.ITERATION
    attributes: Attributes = {
        prefix + "number": iteration.number,
        prefix + "decision": decision.name,
        prefix + "path": decision.path,
        names.TIME_KNOWN: iteration.ms is not None,
    }
    if decision.exit is not None:
        attributes[prefix + "exit_reason"] = decision.exit.value
    if iteration.overlap is not None:
        attributes[prefix + "overlap"] = iteration.overlap
    if iteration.events:
        attributes[names.MECHANISMS] = tuple(
            f"{e.mechanism}: {e.event}" + (f" ({e.trigger})" if e.trigger else "")
            for e in iteration.events
        )
    if iteration.checks:
        attributes[names.CHECKS] = tuple(
            f"{c.phase}/{c.check}: {'holds' if c.passed else 'missing'}" for c in iteration.checks
        )
    if iteration.phase is not None:
        attributes[prefix + "phase"] = iteration.phase
    if iteration.evaluation.score is not None:
        attributes[prefix + "score"] = iteration.evaluation.score
        attributes[prefix + "score_source"] = iteration.evaluation.score_source or ""
    best, elapsed = episode.best[at], episode.elapsed[at]
    if best is not None:
        attributes[prefix + "best_score"] = best
    if elapsed is not None:
        attributes[prefix + "elapsed_ms"] = elapsed
    held = [c for c in decision.conditions if c.state != "unknown"]
    if held:
        attributes[prefix + "conditions"] = tuple(
            f"{c.name}={c.reason.value}:{c.action}:{c.state}" for c in held
        )
    return attributes | _readings(episode, at)


def _readings(episode: Episode, at: int) -> Attributes:
    """What each guard measured, and which of them fired or could not judge."""
    attributes: Attributes = {}
    fired, unknown = [], []
    for series in episode.series:
        signal = series.signals[at]
        if signal == signal:
            attributes[names.SIGNAL + series.guard] = float(signal)
        if series.fired[at]:
            fired.append(series.guard)
        elif series.unknown[at]:
            unknown.append(series.guard)
    if fired:
        attributes[names.FIRED] = tuple(fired)
    if unknown:
        attributes[names.UNKNOWN] = tuple(unknown)
    return attributes


def _episode_attributes(episode: Episode, episode_id: str) -> Attributes:
    attributes: Attributes = {
        names.OPERATION: names.INVOKE_AGENT,
        names.AGENT_NAME: episode.scenario,
        names.CONVERSATION_ID: episode_id,
    }
    for field in (
        "scenario", "preset", "family", "status", "exit_guard", "exit_reason_source", "message",
        "best_score", "best_iteration", "needs_human", "replay", "diverged_at",
        "unrecorded_calls", "prompt_assumed", "outcome", "pair_key", "observe", "exit_iteration",
    ):  # fmt: skip
        value = getattr(episode, field)
        if value is not None:
            attributes[names.EPISODE + field] = value
    attributes[names.EPISODE + "exit_reason"] = episode.exit_reason.value
    attributes[names.EPISODE + "exit_group"] = episode.exit_group
    for series in episode.series:
        # An infinite threshold never fires, and JSON cannot write it.
        if math.isfinite(series.threshold):
            attributes[names.THRESHOLD + series.guard] = float(series.threshold)
    return attributes


def resource() -> Resource:
    """What the standard variables say; the service is ``harness`` where they name none."""
    found = Resource.create()
    if str(found.attributes["service.name"]).startswith("unknown_service"):
        return found.merge(Resource({"service.name": "harness"}))
    return found
