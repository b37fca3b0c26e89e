"""Stored spans to a backend and into a file: the same spans, each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.errors import HarnessError
from harness.export.spans import send, traces, write
from harness.export.stored import episodes
from harness.otlp import traces_url
from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store
from tests.examples import scenario, scored
from tests.stored import ODD, jsonl
from tests.test_otlp import Backend, as_row

SCENARIOS = [ODD, *(scenario(scored(0.1 * n, 0.5), id=f"made/{n}") for n in range(5))]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("spans")
    made = Store(folder / "store.duckdb")
    file = jsonl(folder / "some.jsonl", *SCENARIOS)
    run([file], load_presets(["observe", "balanced"]), made, run_id="one")
    return made


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend(200)
    yield made
    made.close()


def kept(store: Store) -> dict[tuple[str, str], dict[str, Any]]:
    """The stored spans by id."""
    found = {}
    for row in store.rows("SELECT * EXCLUDE (run_id, episode_id) FROM spans"):
        row |= {name: json.loads(row[name]) for name in ("attributes", "events")}
        found[row["trace_id"], row["span_id"]] = row
    return found


def received(spans: list[Any]) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [as_row(span) for span in spans]
    return {(row["trace_id"], row["span_id"]): row for row in rows}


def quiet(done: int) -> None:
    """Nobody watches."""


def test_a_backend_gets_every_span_as_it_is_stored(store: Store, backend: Backend) -> None:
    found = episodes(store, [])
    sent = send(traces(store, found), backend.url, quiet)
    assert received(backend.spans) == kept(store)
    assert (sent.episodes, sent.confirmed, sent.lost) == (12, len(backend.spans), 0)
    assert set(backend.paths) == {"/v1/traces"}


def test_a_failed_span_says_why(store: Store, backend: Backend) -> None:
    send(traces(store, episodes(store, [])), backend.url, quiet)
    words = {span.status.message for span in backend.spans if span.status.code == 2}
    rows = store.rows("FROM episodes WHERE exit_group IN ('limit', 'stuck', 'paused')")
    assert words == {row["message"] for row in rows} != set()


def test_a_second_export_is_the_same_trace(store: Store, backend: Backend) -> None:
    for _ in range(2):
        send(traces(store, episodes(store, ["made/3"], presets=["balanced"])), backend.url, quiet)
    half = len(backend.spans) // 2
    assert received(backend.spans[:half]) == received(backend.spans[half:])
    assert len(received(backend.spans)) == half > 2


@pytest.mark.parametrize("status", [400, 503])
def test_what_a_backend_refuses_is_lost(store: Store, backend: Backend, status: int) -> None:
    backend.status = status
    sent = send(traces(store, episodes(store, ["odd/one"])), f"{backend.url}/v1/traces", quiet)
    assert (sent.confirmed, sent.lost) == (0, sent.spans)
    assert sent.spans > 0


def test_a_file_holds_requests_that_anybody_can_post(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    told: list[int] = []
    sent = write(path, traces(store, episodes(store, [])), told.append)
    spans = []
    for line in path.read_text("utf-8").splitlines():
        (resource,) = json.loads(line)["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        assert scope["scope"]["name"] == "harness"
        for span in scope["spans"]:
            # Hexadecimal here; protobuf's own JSON has base64.
            ids = {k: v for k, v in span.items() if k.endswith("Id")}
            plain = ParseDict(
                {"resourceSpans": [{"scopeSpans": [{"spans": [
                    {k: v for k, v in span.items() if k not in ids}]}]}]},
                ExportTraceServiceRequest(),
            )  # fmt: skip
            (parsed,) = plain.resource_spans[0].scope_spans[0].spans
            parsed.trace_id = bytes.fromhex(ids["traceId"])
            parsed.span_id = bytes.fromhex(ids["spanId"])
            parsed.parent_span_id = bytes.fromhex(ids.get("parentSpanId", ""))
            spans.append(parsed)
    assert received(spans) == kept(store)
    assert (sent.spans, told) == (len(spans), list(range(1, 13)))


URLS = {
    "http://localhost:4318": "http://localhost:4318/v1/traces",
    "http://localhost:4318/": "http://localhost:4318/v1/traces",
    "https://host/otlp/v1/traces": "https://host/otlp/v1/traces",
    "https://host/api/otel": "https://host/api/otel",
}


@pytest.mark.parametrize("url", URLS)
def test_an_endpoint_without_a_path_means_the_usual_one(url: str) -> None:
    assert traces_url(url) == URLS[url]


@pytest.mark.parametrize("url", ["", "localhost:4318", "ftp://x", "http://", "http://x:port"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(HarnessError, match="must be a URL such as http://localhost:4318, found"):
        traces_url(url)
