"""OpenTelemetry: an episode as spans with virtual times; the one importer of opentelemetry.

Spans are a projection of the typed trace, made when an episode is over, and carry the same
fields as the rows in the store. They are the SDK's own ``ReadableSpan`` objects, built with
their final content, because the recorded times lie in the past and nothing changes afterwards;
that costs a tenth of starting and ending live spans. They reach the store without loss; with
``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``..._TRACES_ENDPOINT``) set they also go to that backend
over OTLP/HTTP, best effort, and what was dropped or refused is counted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from harness import conventions as names
from harness.ids import span_ids, trace_id
from harness.trace import Call, Episode, Iteration, Reply

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
        self._resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "harness")})
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
            end = clock + (iteration.ms or 0) * _MS
            for name, attributes, start, stop in _children(iteration, clock):
                child = SpanContext(trace, ids.take(), False, _SAMPLED)
                spans.append(
                    self._span(name, child, context, attributes, start, min(stop, end)))
            score = iteration.evaluation.score
            events = () if score is None else (
                Event(
                    names.EVALUATION_EVENT,
                    {names.EVALUATION_NAME: "score", names.EVALUATION_SCORE: score},
                    timestamp=end,
                ),
            )
            spans.append(
                self._span(names.ITERATION_SPAN, context, root,
                           _iteration_attributes(episode, iteration, at), clock, end, events))
            clock = end
        failed = episode.exit_group in ("limit", "stuck", "paused")
        spans.append(
            self._span(
                f"{names.INVOKE_AGENT} {episode.scenario}",
                root,
                None,
                _episode_attributes(episode, episode_id),
                start_ns,
                clock,
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
        start: int,
        end: int,
        events: Sequence[Event] = (),
        status: Status = _UNSET,
    ) -> ReadableSpan:
        return ReadableSpan(
            name=name,
            context=context,
            parent=parent,
            resource=self._resource,
            attributes=attributes,
            events=events,
            kind=SpanKind.CLIENT if name.startswith(names.CHAT) else SpanKind.INTERNAL,
            status=status,
            start_time=start,
            end_time=end,
            instrumentation_scope=self._scope,
        )


def _children(
    iteration: Iteration, start: int
) -> Iterator[tuple[str, Attributes, int, int]]:
    """Name, attributes, start and end of the chat and tool spans: replies in series, the actor's
    calls side by side after its reply."""
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
                yield (f"{names.EXECUTE_TOOL} {call.tool}", _call_attributes(call), clock,
                       clock + duration * _MS)
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
    }
    if decision.exit is not None:
        attributes[prefix + "exit_reason"] = decision.exit.value
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
        attributes[prefix + "conditions"] = tuple(
            f"{c.name}={c.reason.value}:{c.action}:{c.state}"
            for c in decision.conditions
            if c.state != "unknown"
        )
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
        "unrecorded_calls", "outcome", "pair_key", "observe", "exit_iteration",
    ):  # fmt: skip
        value = getattr(episode, field)
        if value is not None:
            attributes[names.EPISODE + field] = value
    attributes[names.EPISODE + "exit_reason"] = episode.exit_reason.value
    attributes[names.EPISODE + "exit_group"] = episode.exit_group
    for series in episode.series:
        attributes[names.THRESHOLD + series.guard] = float(series.threshold)
    return attributes


class _Counting(SpanExporter):
    """Passes spans on and counts what the backend took."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.taken = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.taken += len(spans)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class OtlpSink:
    """Sends spans to the OTLP/HTTP endpoint that the standard variables name, best effort.

    The batch processor drops silently when its queue is full; ``lost`` is counted after
    ``close``: spans handed in that the backend did not confirm.
    """

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            exporter = OTLPSpanExporter()
        self._exporter = _Counting(exporter)
        self._processor = BatchSpanProcessor(self._exporter)
        # The provider is asked for nothing but the sampler that the standard variables name.
        self._sampler = TracerProvider(shutdown_on_exit=False).sampler
        self._lock = threading.Lock()
        self.sent = 0

    def send(self, traced: Traced) -> None:
        """Hand in the spans of one episode; sampled by trace id where a sampler is configured."""
        root = traced.spans[-1]
        decision = self._sampler.should_sample(None, traced.trace_id, root.name)
        if not decision.decision.is_sampled():
            return
        for span in traced.spans:
            self._processor.on_end(span)
        with self._lock:
            self.sent += len(traced.spans)

    def close(self) -> int:
        """Flush, shut down, and return how many spans were lost."""
        self._processor.force_flush()
        self._processor.shutdown()
        return self.sent - self._exporter.taken


def otlp_wanted() -> bool:
    """Whether the standard variables name an OTLP endpoint (and do not disable the SDK)."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if os.environ.get("OTEL_TRACES_EXPORTER", "otlp") not in ("otlp", ""):
        return False
    return bool(
        os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    )
