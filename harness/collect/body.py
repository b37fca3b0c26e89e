"""Bodies of OTLP/HTTP: what an exporter sends, and what it is answered.

The rules are those of the OpenTelemetry Protocol specification 1.x: two encodings, the answer in
the encoding of the request, a ``google.rpc.Status`` for what is refused, a partial success for
what is taken in part.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, Literal

from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

from harness.text import mended

Signal = Literal["traces", "logs", "metrics"]
PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_REQUESTS: dict[Signal, type[Message]] = {
    "traces": traces.ExportTraceServiceRequest,
    "logs": logs.ExportLogsServiceRequest,
}
_RESPONSES: dict[Signal, type[Message]] = {
    "traces": traces.ExportTraceServiceResponse,
    "logs": logs.ExportLogsServiceResponse,
    "metrics": metrics.ExportMetricsServiceResponse,
}
_REJECTED: dict[Signal, str] = {
    "traces": "rejectedSpans",
    "logs": "rejectedLogRecords",
}
#: Code of ``google.rpc.Status`` for a status of HTTP.
_INVALID_ARGUMENT = 3
_CODES = {413: 8, 503: 14}


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is answered with a status of 4xx or 5xx.

    Args:
        status: Of HTTP.
        words: Why, for whoever reads the exporter's log.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


def encoding_of(method: str, content_type: str) -> str:
    """The encoding of a request, ``PROTOBUF`` or ``JSON``.

    Raises:
        Refused: It is neither (415), or this is no ``POST`` (405).
    """
    if method != "POST":
        raise Refused(405, f"this takes POST, found {method}")
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise Refused(415, f"Content-Type must be {PROTOBUF} or {JSON}, found {kind[:80]!r}")
    return kind


def unpacked(raw: bytes, coding: str, most: int) -> bytes:
    """A body as it was before it was compressed.

    Args:
        raw: As it came.
        coding: Its ``Content-Encoding``: ``gzip``, ``deflate``, ``identity`` or empty.
        most: How many bytes it may have afterwards.

    Raises:
        Refused: Another coding (415), a body that cannot be unpacked (400), or one that would be
            too large (413).
    """
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return raw
    if coding not in ("gzip", "deflate"):
        raise Refused(415, f"Content-Encoding must be gzip or deflate, found {coding[:80]!r}")
    # Finds out by itself whether it is gzip or zlib.
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        found = reader.decompress(raw, most + 1)
    except zlib.error as error:
        raise Refused(400, f"the body cannot be unpacked as {coding}: {error}") from None
    if len(found) > most:
        raise too_large(most)
    if not reader.eof or reader.unused_data:
        raise Refused(400, f"the body must be {coding} from its beginning to its end")
    return found


def too_large(most: int) -> Refused:
    """The refusal of a body that has more bytes than ``most``."""
    return Refused(413, f"a body may have at most {most} bytes unpacked (--max-body)")


def request_from(raw: bytes, encoding: str, signal: Signal) -> Any:
    """A request as ``spans_from`` and ``events_from`` read it.

    Args:
        raw: Its body, unpacked.
        encoding: ``PROTOBUF`` or ``JSON``.
        signal: ``traces`` or ``logs``.

    Raises:
        Refused: It cannot be read (400).
    """
    kind = _REQUESTS[signal]
    if encoding == PROTOBUF:
        try:
            return kind.FromString(raw)
        except DecodeError as error:
            raise Refused(400, f"the body is no {kind.DESCRIPTOR.name}: {error}") from None
    try:
        found = json.loads(raw)
        found = mended(found) if b"\\ud" in raw.lower() else found
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise Refused(400, f"the body is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body must be a JSON object")
    return found


def success(signal: Signal, encoding: str, rejected: int = 0, words: str = "") -> bytes:
    """The answer to a request that was taken.

    Args:
        signal: Of the request.
        encoding: Of the request.
        rejected: How many spans or log records were not taken.
        words: Why.
    """
    partial = {_REJECTED[signal]: str(rejected), "errorMessage": words} if rejected else None
    if encoding == JSON:
        return json.dumps({"partialSuccess": partial} if partial else {}).encode()
    answer: Any = _RESPONSES[signal]()
    if signal == "traces" and partial:
        answer.partial_success.rejected_spans = rejected
    elif partial:
        answer.partial_success.rejected_log_records = rejected
    if partial:
        answer.partial_success.error_message = words
    return bytes(answer.SerializeToString())


def refusal(refused: Refused, encoding: str) -> bytes:
    """The body of an answer with a status of 4xx or 5xx."""
    code = _CODES.get(refused.status, _INVALID_ARGUMENT)
    if encoding == PROTOBUF:
        return bytes(Status(code=code, message=refused.words).SerializeToString())
    return json.dumps({"code": code, "message": refused.words}).encode()
