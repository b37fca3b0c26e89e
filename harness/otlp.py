"""Spans on their way to an OTLP endpoint: best effort, with what was lost counted."""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from harness.errors import HarnessError
from harness.telemetry import Traced

#: Spans that may wait for the OTLP endpoint; more are dropped and counted.
QUEUE_SPANS = 2**17
#: A failed export that took longer than this found no backend, its retries included ...
PATIENCE_S = 1.0
#: ... which is then left alone for this long, so that not every batch waits for it.
COOL_DOWN_S = 30.0
#: Says why an export failed, once for each batch; the exporter itself only tells that it did.
_EXPORTER = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
#: Variables that name a session with credentials, which the exporter then uses.
_CREDENTIALS = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
)


class _Listening(logging.Filter):
    """Keeps the exporter's complaints off the user's terminal, and remembers the first cause.

    Whoever asked for log messages at the level INFO or below gets them all the same.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cause: str | None = None
        self._thread: int | None = None
        self._loud, self._level = False, logging.NOTSET

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        self._loud, self._level = _EXPORTER.isEnabledFor(logging.INFO), _EXPORTER.level
        if not self._loud:
            # The cause is told as a warning; the error behind it only says that it was in vain.
            _EXPORTER.setLevel(logging.WARNING)
        _EXPORTER.addFilter(self)

    def __exit__(self, *raised: object) -> None:
        _EXPORTER.removeFilter(self)
        _EXPORTER.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        self.cause = self.cause or _cause(record)
        return self._loud


def _cause(record: logging.LogRecord) -> str:
    """What lies behind a complaint in one line: the first exception, or its own words."""
    args = record.args if isinstance(record.args, tuple) else ()
    for error in (arg for arg in args if isinstance(arg, BaseException)):
        first = error
        while (behind := first.__cause__ or first.__context__) is not None:
            first = behind
        return " ".join(f"{type(first).__name__}: {first}".split())
    return " ".join(record.getMessage().partition(", retrying")[0].split()).rstrip(".")


class _Rejections:
    """What a backend says in its answers of spans that it did not keep; the exporter drops it."""

    def __init__(self) -> None:
        self.spans = 0
        self.cause: str | None = None

    def session(self) -> Any:
        """A session for the exporter; ``None`` where a variable names another one.

        Such a one brings credentials, and what its answers say is not read.
        """
        import requests

        if any(os.environ.get(name) for name in _CREDENTIALS):
            return None
        session = requests.Session()
        session.hooks["response"] = [self._read]
        return session

    def _read(self, response: Any, *args: Any, **kwargs: Any) -> None:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceResponse,
        )

        if not response.ok:
            return
        try:
            said = ExportTraceServiceResponse.FromString(response.content).partial_success
        except DecodeError:
            # Some backends answer in words; the status says that all was taken.
            return
        if said.rejected_spans > 0:
            self.spans += said.rejected_spans
            self.cause = self.cause or " ".join(said.error_message.split()) or "rejected"


class _Counting(SpanExporter):
    """Passes spans on and counts what the backend took."""

    def __init__(self, inner: SpanExporter, rejections: _Rejections) -> None:
        self._inner = inner
        self._rejections = rejections
        self._resume_at = 0.0
        self._listening = _Listening()
        self.taken = 0

    @property
    def cause(self) -> str | None:
        """Why the first batch that failed did, or the first spans that were rejected were."""
        return self._listening.cause or self._rejections.cause

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        begun = time.monotonic()
        if begun < self._resume_at:
            return SpanExportResult.FAILURE
        before = self._rejections.spans
        with self._listening:
            result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.taken += max(0, len(spans) - (self._rejections.spans - before))
        elif time.monotonic() - begun > PATIENCE_S:
            self._resume_at = time.monotonic() + COOL_DOWN_S
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class OtlpSink:
    """Sends spans to an OTLP/HTTP endpoint, best effort.

    The batch processor drops silently when its queue is full, so what is lost is counted here:
    spans handed in that the backend did not confirm.

    Args:
        exporter: Sends them; left out: one to the endpoint, set up by the standard variables.
        endpoint: URL; left out: the one that the standard variables name.

    Raises:
        HarnessError: A standard variable has a value that cannot be used.
    """

    def __init__(self, exporter: SpanExporter | None = None, endpoint: str | None = None) -> None:
        rejections = _Rejections()
        try:
            if exporter is None:
                from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

                url = traces_url(endpoint) if endpoint else None
                exporter = OTLPSpanExporter(endpoint=url, session=rejections.session())
            self._exporter = _Counting(exporter, rejections)
            # A replay makes spans faster than any backend takes them; the SDK's own queue of 2,048
            # would drop most of a healthy run.
            queue = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else QUEUE_SPANS
            self._processor = BatchSpanProcessor(self._exporter, max_queue_size=queue)
            # The provider is asked for nothing but the sampler that the variables name.
            self._sampler = TracerProvider(shutdown_on_exit=False).sampler
        except ValueError as error:
            raise HarnessError(f"telemetry: a variable OTEL_*: {error}") from None
        self._lock = threading.Lock()
        self._told = 0
        self.sent = 0

    @property
    def confirmed(self) -> int:
        """Spans that the backend has taken so far."""
        return self._exporter.taken

    @property
    def cause(self) -> str | None:
        """Why the backend did not take the first spans that it refused; ``None``: it took all."""
        return self._exporter.cause

    def send(self, traced: Traced) -> None:
        """Hand in the spans of one episode; sampled by trace id where a sampler is configured."""
        root = traced.spans[-1]
        decision = self._sampler.should_sample(None, traced.trace_id, root.name)
        if not decision.decision.is_sampled():  # type: ignore[no-untyped-call]
            return
        for span in traced.spans:
            self._processor.on_end(span)
        with self._lock:
            self.sent += len(traced.spans)

    def flush(self) -> int:
        """Wait for what is on its way; how many spans were lost since the last flush.

        A dead backend delays this by one export, as long as the exporter's timeout.
        """
        self._processor.force_flush()
        lost = self.sent - self._exporter.taken
        newly, self._told = lost - self._told, lost
        return newly

    def close(self) -> int:
        """Flush and shut down; how many spans were lost since the last flush."""
        lost = self.flush()
        self._processor.shutdown()  # type: ignore[no-untyped-call]
        return lost


def traces_url(endpoint: str) -> str:
    """Where traces go at an endpoint; one without a path means the usual path.

    Raises:
        HarnessError: It is no URL that can be sent to.
    """
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise HarnessError(
            f"telemetry: endpoint: must be a URL such as http://localhost:4318, found {endpoint!r}"
        )
    return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"


def otlp_json(traced: Traced) -> str:
    """The spans of an episode as one line of OTLP/JSON: an ``ExportTraceServiceRequest``.

    Ids are hexadecimal and enumerations are numbers, as the OTLP specification asks, otherwise it
    is protobuf's own JSON.
    """
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    request: dict[str, Any] = MessageToDict(encode_spans(traced.spans), use_integers_for_enums=True)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    return json.dumps(request, ensure_ascii=False, separators=(",", ":"))


def otlp_wanted() -> bool:
    """Whether the standard variables name an OTLP endpoint (and do not disable the SDK)."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporters = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    if "otlp" not in (name.strip() for name in exporters.split(",")):
        return False
    return bool(
        os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    )
