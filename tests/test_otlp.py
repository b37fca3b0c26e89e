"""Spans over OTLP/HTTP to a real server, and what happens where none takes them."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from harness.errors import HarnessError
from harness.otlp import OtlpSink
from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store
from harness.telemetry import Projector
from tests.examples import call, preset, scenario, scored, step
from tests.examples import run as replay
from tests.stored import ODD, jsonl

GZIP = {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
SCENARIOS = [ODD, *(scenario(scored(0.1 * n, 0.5), id=f"made/{n}") for n in range(5))]


class Backend:
    """An OTLP/HTTP backend on this machine: keeps the spans, and answers with one status."""

    def __init__(self, status):
        backend = self
        self.status = status
        self.paths = Counter()
        self.spans = []
        self.services = set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                backend.take(self.path, ExportTraceServiceRequest.FromString(body))
                self.send_response(backend.status)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def take(self, path, request):
        self.paths[path] += 1
        for resource in request.resource_spans:
            self.services |= {a.value.string_value for a in resource.resource.attributes
                              if a.key == "service.name"}  # fmt: skip
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def backend(monkeypatch):
    """A backend that the standard variables name; it takes everything until told otherwise."""
    made = Backend(200)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    yield made
    made.close()


def replayed(tmp_path, workers=1):
    """A run of the scenarios: its result and its stored spans by id."""
    file = jsonl(tmp_path / "some.jsonl", *SCENARIOS)
    store = Store(tmp_path / "store.duckdb")
    result = run([file], load_presets(["observe", "balanced"]), store, workers=workers)
    return result, {(row["trace_id"], row["span_id"]): row for row in store.rows("FROM spans")}


def as_row(span):
    """A received span as the store keeps it."""
    return {
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_id": span.parent_span_id.hex() or None,
        "name": span.name,
        "kind": {1: "INTERNAL", 3: "CLIENT"}[span.kind],
        "start_ns": span.start_time_unix_nano,
        "end_ns": span.end_time_unix_nano,
        "status": {0: "UNSET", 2: "ERROR"}[span.status.code],
        "attributes": {a.key: value(a.value) for a in span.attributes},
        "events": [
            {"name": e.name, "time_ns": e.time_unix_nano,
             "attributes": {a.key: value(a.value) for a in e.attributes}}
            for e in span.events
        ],
    }  # fmt: skip


def value(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value(item) for item in any_value.array_value.values]
    return getattr(any_value, kind)


@pytest.mark.parametrize(
    ("variables", "workers"), [({}, 1), (GZIP, 1), (GZIP, 2)], ids=["plain", "gzip", "workers"]
)
def test_every_span_arrives_once_as_it_is_stored(
    backend, tmp_path, monkeypatch, variables, workers
):
    for name, setting in variables.items():
        monkeypatch.setenv(name, setting)
    result, stored = replayed(tmp_path, workers)
    received = [as_row(span) for span in backend.spans]
    assert len(received) == len(stored)
    for row in received:
        kept = stored[row["trace_id"], row["span_id"]]
        kept |= {name: json.loads(kept[name]) for name in ("attributes", "events")}
        assert {name: kept[name] for name in row} == row
    assert (set(backend.paths), backend.services) == ({"/v1/traces"}, {"harness"})
    assert result.spans_lost == 0


@pytest.mark.parametrize(("status", "workers"), [(400, 1), (401, 1), (500, 1), (503, 1), (503, 2)])
def test_a_backend_that_refuses_costs_the_run_nothing(backend, tmp_path, status, workers):
    backend.status = status
    result, stored = replayed(tmp_path, workers)
    assert (result.episodes, result.spans_lost) == (2 * len(SCENARIOS), len(stored))


def test_what_a_backend_took_before_it_refused_is_not_lost(backend):
    sink, traced = OtlpSink(), spans_of("e1")
    sink.send(traced)
    assert sink.flush() == 0
    backend.status = 500
    sink.send(spans_of("e2"))
    assert sink.flush() == len(traced.spans)
    backend.status = 200
    sink.send(spans_of("e3"))
    assert sink.close() == 0
    assert {s.trace_id for s in backend.spans} >= {traced.trace_id.to_bytes(16, "big")}


def spans_of(identity):
    episode = replay([step(call("read"), ms=5)], preset(observe=True))
    return Projector("0").project(episode, identity, 1)


def test_a_closed_port_delays_the_run_by_one_export(tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
    begun = time.monotonic()
    result, stored = replayed(tmp_path)
    assert time.monotonic() - begun < 2 * 3
    assert len(stored) > 10 * 5
    assert (result.episodes, result.spans_lost) == (2 * len(SCENARIOS), len(stored))


class Slow(SpanExporter):
    """Takes everything, one batch after the gate opens."""

    def __init__(self):
        self.gate = threading.Event()

    def export(self, spans):
        self.gate.wait(10)
        return SpanExportResult.SUCCESS


def test_what_a_full_queue_drops_is_counted(monkeypatch):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    exporter = Slow()
    sink = OtlpSink(exporter)
    for number in range(100):
        sink.send(spans_of(f"e{number}"))
    exporter.gate.set()
    lost = sink.close()
    # At most a full queue and the batch that was under way could be kept.
    assert sink.sent - 20 - 10 <= lost < sink.sent


SILENT = {
    "the SDK is disabled": ({"OTEL_SDK_DISABLED": "true"}, None),
    "nothing is sampled": ({"OTEL_TRACES_SAMPLER": "always_off"}, 0),
}


@pytest.mark.parametrize("case", SILENT)
def test_nothing_is_sent_and_nothing_lost_where(case, backend, tmp_path, monkeypatch):
    variables, lost = SILENT[case]
    for name, setting in variables.items():
        monkeypatch.setenv(name, setting)
    result, stored = replayed(tmp_path)
    assert (backend.spans, result.spans_lost, len(stored) > 0) == ([], lost, True)


def test_a_sampler_takes_whole_episodes(backend, tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    result, stored = replayed(tmp_path)
    every = Counter(trace for trace, _ in stored)
    received = Counter(span.trace_id.hex() for span in backend.spans)
    assert received == {trace: every[trace] for trace in received}
    assert result.spans_lost == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_variable_that_cannot_be_used_is_one_line(backend, tmp_path, monkeypatch, workers):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")
    with pytest.raises(HarnessError, match=r"^telemetry: a variable OTEL_\*: [^\n]+$"):
        replayed(tmp_path, workers)
