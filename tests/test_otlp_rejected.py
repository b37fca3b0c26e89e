"""A backend that takes a batch and says that it did not keep all of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from harness.otlp import OtlpSink
from harness.telemetry import Projector
from tests.examples import call, preset, step
from tests.examples import run as replay

TOO_FAT = ExportTraceServiceResponse()
TOO_FAT.partial_success.rejected_spans = 2
TOO_FAT.partial_success.error_message = "attributes\ntoo large"
WARNED = ExportTraceServiceResponse()
WARNED.partial_success.error_message = "old protocol"


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A backend that answers every batch with these bytes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("answer", "lost", "cause"),
    [
        pytest.param(TOO_FAT.SerializeToString(), 2, "attributes too large", id="rejected"),
        pytest.param(WARNED.SerializeToString(), 0, None, id="warned"),
        pytest.param(b"", 0, None, id="all taken"),
        pytest.param(b"\xffthanks", 0, None, id="words"),
    ],
)
def test_spans_that_the_backend_rejects_are_lost(answer, lost, cause):
    traced = Projector("0").project(
        replay([step(call("read"), ms=5)], preset(observe=True)), "e", 1
    )
    with answering(answer) as url:
        sink = OtlpSink(endpoint=url)
        sink.send(traced)
        assert sink.close() == lost
    assert (sink.sent - sink.confirmed, sink.cause) == (lost, cause)
