"""Spans as SDKs print them, without OTLP."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from harness.importers import Intake, otel_dump, otlp
from harness.importers._head import head_of
from harness.importers._spans.dump import dumped, span_from
from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare
from tests.importers.otlp_requests import (
    ASKED,
    DONE,
    HEATED,
    PLACE,
    Refused,
    Write,
    event,
    read,
    request,
    span,
    trace,
)

FORMAT = "otel-dump"


def _printed(*, indent: int | None) -> str:
    """What the SDK's own exporter prints of a run."""
    out = io.StringIO()
    show = (lambda span: span.to_json(indent=indent) + "\n") if indent is None else None
    exporter = ConsoleSpanExporter(out=out, **({} if show is None else {"formatter": show}))
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("cook", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for about in (ASKED, HEATED, DONE):
            with tracer.start_as_current_span("part", attributes=about):
                pass
    return out.getvalue()


@pytest.mark.parametrize(
    ("indent", "name"), [(4, "spans.json"), (4, "spans.txt"), (None, "spans.jsonl")]
)
def test_what_python_prints(tmp_path: Path, indent: int | None, name: str) -> None:
    path = tmp_path / name
    path.write_text(_printed(indent=indent))
    assert otel_dump.fits(head_of(path))
    (found,) = read(path, FORMAT)
    asked, done = found["steps"]
    assert (found["goal"], found["title"], found["tools"]) == ("Boil water.", "cook", ["heat"])
    assert (asked["calls"][0]["result"], done["reply"]["text"]) == ("hot", "It boils.")


IDS = {"trace_id": f"0x{1:032x}", "span_id": f"0x{2:016x}"}
ABOUT = {"name": "chat", "attributes": DONE}


@pytest.mark.parametrize(
    ("raw", "ms"),
    [
        (
            {
                "context": IDS,
                "start_time": "2024-01-01T00:00:00.500000Z",
                "end_time": "2024-01-01T00:00:02Z",
            },
            1500,
        ),
        (
            {
                "context": {"trace_id": 1, "span_id": 2},
                "start_time": 10**18,
                "end_time": 10**18 + 10**7,
            },
            10,
        ),
        (
            {
                "spanContext": {"traceId": "01", "spanId": "02"},
                "startTime": [1770131992, 242000000],
                "endTime": [1770131994, 21415667],
            },
            1779,
        ),
        ({"context": IDS, "start_time": "2024-01-01T00:00:00+00:00", "end_time": None}, None),
    ],
    ids=["Python", "numbers", "JavaScript", "unknown end"],
)
def test_ids_and_times(write_json: Write, raw: dict[str, Any], ms: int | None) -> None:
    (found,) = read(write_json([{**ABOUT, **raw}]), FORMAT)
    assert found["steps"][0]["reply"].get("ms") == ms


@pytest.mark.parametrize(
    "parent",
    [
        {"parent_id": f"0x{1:016x}"},
        {"parentSpanId": f"{1:016x}"},
        {"parent": {"trace_id": 1, "span_id": 1}},
        {"parentSpanContext": {"traceId": f"{1:032x}", "spanId": f"{1:016x}"}},
    ],
)
@pytest.mark.parametrize(
    "status",
    [
        {"status": {"status_code": "ERROR", "description": "boom"}},
        {"status": {"code": 2, "message": "boom"}},
        {"status": {"status_code": "StatusCode.ERROR", "description": "boom"}},
        {"status_code": "ERROR", "status_message": "boom"},
    ],
)
def test_parents_and_status(write_json: Write, parent: Any, status: Any) -> None:
    root = {"name": "run", "context": {**IDS, "span_id": f"0x{1:016x}"}, "attributes": {}, **status}
    (found,) = read(write_json([{**ABOUT, "context": IDS, **parent}, root]), FORMAT)
    assert found["recorded"] == {"exit_reason": "error"}


def test_phoenix_keeps_the_kind_beside_the_attributes(write_json: Write) -> None:
    raw = {
        "name": "ChatOpenAI",
        "context": {"trace_id": "a1", "span_id": "b2"},
        "span_kind": "LLM",
        "start_time": "2024-01-01T00:00:00Z",
        "end_time": "2024-01-01T00:00:01Z",
        "attributes": {
            "llm": {"model_name": "m", "output_messages": [{"message": {"content": "Hi."}}]}
        },
    }
    (found,) = read(write_json([raw]), FORMAT)
    assert found["steps"] == [{"reply": {"text": "Hi.", "model": "m", "ms": 1000}}]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([{"a": 1}], "span 1: needs a name, attributes and a context with ids; found: 'a'"),
        ([7], "span 1: needs a name, attributes and a context with ids; found: 7"),
        ([{**ABOUT, "context": {"trace_id": "1"}}], "its context needs the ids"),
        (
            [{**ABOUT, "context": IDS, "start_time": "noon"}],
            "key 'start_time' must be ns since 1970",
        ),
        (
            [{**ABOUT, "context": IDS, "startTime": [1, "x"]}],
            "key 'startTime' must be ns since 1970",
        ),
        ([{**ABOUT, "context": IDS, "events": [3]}], "an event must be an object, found 3"),
        (
            [{**ABOUT, "context": IDS, "attributes": {"x": 1}}],
            "none of the 1 spans is a model call",
        ),
        ("words", "expected spans as JSON, found text"),
    ],
)
def test_what_is_refused(write_json: Write, refused: Refused, raw: Any, words: str) -> None:
    assert words in refused(write_json(raw))


def test_a_print_that_breaks_off_keeps_what_was_whole(tmp_path: Path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(_printed(indent=4)[:-20])
    intake = Intake()
    (found,) = otel_dump.read(path, intake)
    assert (len(found["steps"]), intake.broken) == (2, 1)
    assert "after span 3" in intake.problems[0]


def test_what_is_kept_of_a_span_reads_as_the_same_span(write_json: Write) -> None:
    raw = request(*trace(), span(9, {}, events=[event("exception", {"a": 1})], error="boom"))
    for one in otlp.spans_from(raw):
        assert span_from(PLACE, json.loads(json.dumps(dumped(one)))) == one
    intake = Intake()
    for found in otlp.read(write_json(raw), intake):
        spans = [span_from(PLACE, item) for item in intake.raw["spans"]]
        assert otlp.recording_of(spans, f"{1:032x}", intake.place) == found


# -- the corpus --------------------------------------------------------------------------------


def test_vercel(corpora: Path) -> None:
    """Each of its spans has a trace of its own, so the calls around calls hold none."""
    path = corpora / "otel/openinference_vercel/all-spans.json"
    spans = json.loads(path.read_text("utf-8"))
    about = [span["attributes"] for span in spans]
    called = [one for one in about if one["ai.operationId"].endswith((".doGenerate", ".doStream"))]
    kinds = Counter(one["ai.operationId"].rpartition(".")[2] for one in about)
    assert (len(called), kinds["doEmbed"] + kinds["embed"]) == (4, 2)
    intake = Intake()
    found = list(otel_dump.read(path, intake))
    replies = [step["reply"] for one in found for step in one["steps"]]
    assert len(replies) == len(called)
    assert intake.broken == len(spans) - len(called) - 2
    assert all("holds no model call; found spans: 1 agent" in words for words in intake.problems)
    for ours, theirs in (
        ("input", "gen_ai.usage.input_tokens"),
        ("output", "gen_ai.usage.output_tokens"),
    ):
        total = sum(reply["usage"][ours] for reply in replies)
        assert total == sum(one[theirs] for one in called)
    observed = load_preset("balanced").observed()
    ends = [run_episode(prepare(Scenario.model_validate(one)), observed) for one in found]
    assert [end.exit_iteration for end in ends] == [1] * len(called)
