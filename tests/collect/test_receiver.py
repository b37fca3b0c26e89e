"""The receiver over HTTP: a real exporter, both encodings, and what it refuses."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

from harness.collect import Collecting, Counts, collecting
from harness.otlp import otlp_json
from harness.telemetry import Traced
from tests.collect.spans import STEPS, agent_run, lines, request, run_spans, told

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
MOST = 100_000


class Open:
    """A receiver at work, what it said, and what it has written once it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []
        self._block = collecting(path, max_body=MOST, tell=self.said.append)
        self.found: Collecting = self._block.__enter__()
        self.url = self.found.url

    def close(self) -> list[dict[str, Any]]:
        self._block.__exit__(None, None, None)
        return lines(self.path) if self.path.exists() else []

    @property
    def counts(self) -> Counts:
        return self.found.collector.counts


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Open]:
    made = Open(tmp_path / "found.jsonl")
    yield made
    made.close()


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """One receiver for all that is refused; nothing of it is ever written."""
    made = Open(tmp_path_factory.mktemp("refusing") / "found.jsonl")
    yield made
    assert made.close() == []


def json_body(calls: int = 3) -> bytes:
    """A run as OTLP/JSON."""
    return otlp_json(Traced(0, tuple(run_spans(calls)), ())).encode()


@pytest.mark.parametrize("compression", list(Compression))
def test_the_exporter_of_the_sdk(
    receiver: Open, monkeypatch: pytest.MonkeyPatch, compression: Compression
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(compression=compression)))
    agent_run(provider.get_tracer("tests"))
    provider.shutdown()
    (recording,) = receiver.close()
    assert list(told(recording)) == STEPS
    assert receiver.counts == Counts(episodes=1, steps=3, spans=6)


@pytest.mark.parametrize(
    ("headers", "pack"),
    [
        ({}, bytes),
        ({"content-encoding": "identity"}, bytes),
        ({"content-encoding": "gzip"}, gzip.compress),
        ({"content-encoding": "deflate"}, zlib.compress),
        ({"content-type": "Application/JSON; charset=utf-8"}, bytes),
    ],
)
def test_json(receiver: Open, headers: dict[str, str], pack: Any) -> None:
    sent = httpx2.post(
        f"{receiver.url}/v1/traces", content=pack(json_body()), headers={**JSON, **headers}
    )
    assert (sent.status_code, sent.headers["content-type"]) == (200, "application/json")
    assert sent.json() == {}
    (recording,) = receiver.close()
    assert list(told(recording)) == STEPS


DEEP = b'{"resourceSpans":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
BOMB = gzip.compress(b"\0" * 50_000_000)


@pytest.mark.parametrize(
    ("headers", "content", "status", "words"),
    [
        ({"content-type": "text/plain"}, b"", 415, "Content-Type must be application/x-protobuf"),
        ({"content-type": ""}, b"", 415, "Content-Type must be"),
        ({**JSON, "content-encoding": "br"}, b"", 415, "Content-Encoding must be gzip or deflate"),
        ({**JSON, "content-encoding": "gzip"}, b"{}", 400, "cannot be unpacked as gzip"),
        (
            {**JSON, "content-encoding": "gzip"},
            gzip.compress(b"{}", mtime=0)[:-9],
            400,
            "must be gzip from",
        ),
        (
            {**JSON, "content-encoding": "gzip"},
            gzip.compress(b"{}", mtime=0) * 2,
            400,
            "must be gzip from",
        ),
        ({**JSON, "content-encoding": "gzip"}, b"", 400, "must be gzip from"),
        ({**JSON, "content-encoding": "gzip"}, BOMB, 413, "at most 100000 bytes unpacked"),
        ({**PROTOBUF, "content-encoding": "deflate"}, zlib.compress(b" " * MOST * 2), 413, "most"),
        (JSON, b" " * (MOST + 1), 413, "at most 100000 bytes"),
        (PROTOBUF, b"\xff\xff", 400, "no ExportTraceServiceRequest"),
        (PROTOBUF, b"\x0a\xff\xff\xff\xff\x0f", 400, "no ExportTraceServiceRequest"),
        (JSON, b"", 400, "no JSON"),
        (JSON, b"{", 400, "no JSON"),
        (JSON, b"\xff", 400, "no JSON"),
        (JSON, b'{"a": ' + b"9" * 5000 + b"}", 400, "no JSON"),
        (JSON, DEEP, 400, "nested too deeply"),
        (JSON, b"[]", 400, "must be a JSON object"),
        (JSON, b'{"resourceSpans": 1}', 400, "'resourceSpans' must be a list"),
        (JSON, b'{"resourceSpans": [1]}', 400, "'scopeSpans' must be a list"),
    ],
)
def test_what_is_refused(
    refusing: Open, headers: dict[str, str], content: bytes, status: int, words: str
) -> None:
    sent = httpx2.post(f"{refusing.url}/v1/traces", content=content, headers=headers)
    if headers["content-type"] == PROTOBUF["content-type"]:
        found = Status.FromString(sent.content)
        code, message = found.code, found.message
    else:
        code, message = sent.json()["code"], sent.json()["message"]
    assert (sent.status_code, code) == (status, 8 if status == 413 else 3)
    assert words in message
    assert any(words in said for said in refusing.said)


def test_a_body_of_unknown_length_is_refused_when_it_is_too_long(receiver: Open) -> None:
    chunks = (b" " * 1000 for _ in range(1000))
    with httpx2.Client() as client:
        try:
            status = client.post(
                f"{receiver.url}/v1/traces", content=chunks, headers=JSON
            ).status_code
        except httpx2.WriteError:
            status = 413  # it hung up on the rest
    assert status == 413


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/", 200, "harness collect takes OTLP/HTTP"),
        ("POST", "/", 404, "POST /v1/traces"),
        ("POST", "/v1/profiles", 404, "POST /v1/traces"),
        ("GET", "/v1/traces", 405, "this takes POST, found GET"),
    ],
)
def test_other_addresses(refusing: Open, method: str, path: str, status: int, words: str) -> None:
    sent = httpx2.request(method, f"{refusing.url}{path}")
    assert sent.status_code == status
    assert words in sent.text


@pytest.mark.parametrize("headers", [JSON, PROTOBUF])
def test_metrics_are_taken_and_not_used(receiver: Open, headers: dict[str, str]) -> None:
    for _ in range(3):
        sent = httpx2.post(f"{receiver.url}/v1/metrics", content=b"whatever", headers=headers)
        assert sent.status_code == 200
    assert receiver.said == ["metrics are not used"]


@pytest.mark.parametrize("lead", [{}, {"resourceSpans": []}])
def test_nothing_is_a_request_too(receiver: Open, lead: dict[str, Any]) -> None:
    url = f"{receiver.url}/v1/traces"
    assert httpx2.post(url, content=json.dumps(lead), headers=JSON).json() == {}
    assert httpx2.post(url, content=b"", headers=PROTOBUF).content == b""


def test_part_of_a_request_is_taken(receiver: Open) -> None:
    url = f"{receiver.url}/v1/traces"
    body = json.loads(json_body())
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    broken = [
        {"name": "no ids"},
        {**spans[0], "spanId": "not hexadecimal"},
        {**spans[0], "spanId": "00"},
        {**spans[0], "traceId": 7},
        {**spans[0], "startTimeUnixNano": "yesterday"},
        {**spans[0], "attributes": [{"value": {}}]},
        "no span",
    ]
    spans += broken
    told_json = httpx2.post(url, content=json.dumps(body), headers=JSON).json()["partialSuccess"]
    assert told_json["rejectedSpans"] == str(len(broken))
    assert "needs a 'traceId'" in told_json["errorMessage"]

    message = request(run_spans())
    message.resource_spans[0].scope_spans[0].spans.add()
    sent = httpx2.post(url, content=message.SerializeToString(), headers=PROTOBUF)
    answer = ExportTraceServiceResponse.FromString(sent.content).partial_success
    assert answer.rejected_spans == 1
    assert "needs a 'traceId'" in answer.error_message
    assert [list(told(recording)) for recording in receiver.close()] == [STEPS, STEPS]


def test_log_records_are_taken(receiver: Open) -> None:
    url = f"{receiver.url}/v1/logs"
    records = [{"traceId": "1" * 32, "spanId": "2" * 16}, {"body": {"stringValue": "no span"}}]
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [*records, {"traceId": 7}]}]}]}
    answer = httpx2.post(url, content=json.dumps(body), headers=JSON).json()["partialSuccess"]
    assert answer["rejectedLogRecords"] == "1"
    assert receiver.counts.events == 1


def test_many_send_at_once(receiver: Open) -> None:
    def send() -> None:
        exporter = OTLPSpanExporter(endpoint=f"{receiver.url}/v1/traces")
        for _ in range(10):
            spans = run_spans(2)
            results.append(exporter.export(spans[:2]))
            results.append(exporter.export(spans[2:]))

    results: list[SpanExportResult] = []
    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [SpanExportResult.SUCCESS] * 160
    found = receiver.close()
    assert [len(recording["steps"]) for recording in found] == [2] * 80
    assert receiver.counts == Counts(episodes=80, steps=160, spans=320)
