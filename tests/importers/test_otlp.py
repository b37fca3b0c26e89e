"""OTLP as files: which spans are one run, how it ended, what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Head, Intake, otlp
from harness.importers._head import head_of
from harness.importers._spans.otlp import spans_from
from tests.importers.otlp_requests import (
    AGENT,
    ASKED,
    CHAT,
    DONE,
    PLACE,
    TOOL,
    Refused,
    Write,
    attributes,
    read,
    request,
    span,
    trace,
    value,
)

FORMAT = "otlp"


def test_a_trace_is_a_recording(write_json: Write) -> None:
    assert read(write_json(request(*trace()))) == [
        {
            "schema": "harness/scenario@1",
            "id": f"otlp/{1:032x}",
            "title": "invoke_agent cook",
            "source": "otlp:runs.json",
            "goal": "Boil water.",
            "tags": ["otlp"],
            "tools": ["heat"],
            "steps": [
                {
                    "reply": {"text": "I heat.", "finish_reason": "tool_call", "ms": 10},
                    "calls": [
                        {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 5}
                    ],
                },
                {"reply": {"text": "It boils.", "ms": 10}},
            ],
            "recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
        }
    ]


def _snake(value: Any) -> Any:
    if isinstance(value, list):
        return [_snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    words = ("".join(f"_{c.lower()}" if c.isupper() else c for c in key) for key in value)
    return dict(zip(words, map(_snake, value.values()), strict=True))


ONE = request(*trace())
SPREAD = [request(one) for one in trace()]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_text(json.dumps(ONE)),
        lambda path: path.write_text(json.dumps(ONE, indent=2)),
        lambda path: path.write_text(json.dumps(_snake(ONE))),
        lambda path: path.write_text(json.dumps(SPREAD)),
        lambda path: path.write_text("".join(f"{json.dumps(one)}\n" for one in SPREAD)),
        lambda path: path.write_text("".join(f"{json.dumps(_snake(one))}\n" for one in SPREAD)),
    ],
    ids=["object", "indented", "snake_case", "list", "lines", "snake_case lines"],
)
def test_every_way_of_writing_json_is_the_same(
    tmp_path: Path, write: Callable[[Path], int]
) -> None:
    path = tmp_path / "runs.json"
    write(path)
    (found,) = read(path)
    assert len(found["steps"]) == 2
    assert otlp.fits(head_of(path))
    packed = tmp_path / "runs.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == [{**found, "source": "otlp:runs.json.gz"}]


def test_ids_may_be_base64(write_json: Write) -> None:
    """As protobuf's own JSON writes bytes."""
    one = span(1, ASKED)
    one |= {"traceId": "AQEBAQEBAQEBAQEBAQEBAQ==", "spanId": "AgICAgICAgI="}
    (found,) = spans_from(request(one))
    assert (found.trace_id, found.span_id) == ("01" * 16, "02" * 8)


@pytest.mark.parametrize(
    "plain", ["x", 7, -7, 1.5, True, None, [1, "a"], {"a": {"b": [None]}}, "", 2**53 + 1]
)
def test_values(plain: Any) -> None:
    raw = span(1, {}) | {"attributes": [{"key": "k", "value": value(plain)}]}
    (found,) = spans_from(request(raw))
    assert found.attributes == {"k": plain}


# -- how it ended ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spans", "recorded"),
    [
        ([span(1, AGENT, error="boom"), span(2, DONE, parent=1)], {"exit_reason": "error"}),
        ([span(1, {}, error="500"), span(2, ASKED, parent=1)], {"exit_reason": "error"}),
        ([span(1, AGENT), span(2, ASKED, parent=1, error="boom")], {}),
        ([span(2, DONE, error="boom")], {}),
        ([span(1, AGENT), span(2, DONE, parent=1)], {}),
        ([span(1, AGENT), span(2, ASKED, parent=1)], {}),
    ],
    ids=["agent failed", "request failed", "call failed", "alone", "no tools", "asked for a tool"],
)
def test_the_exit_reason(write_json: Write, spans: list[Any], recorded: dict[str, Any]) -> None:
    (found,) = read(write_json(request(*spans)))
    assert found["recorded"] == recorded


def test_a_failed_model_call_says_so(write_json: Write) -> None:
    (found,) = read(write_json(request(span(1, CHAT, error="rate limit"))))
    assert found["steps"] == [{"reply": {"ms": 10, "error": "rate limit"}}]
    assert found["tags"] == ["otlp", "content:none"]


# -- what is refused or lost -------------------------------------------------------------------

TOKENS = "gen_ai.usage.input_tokens"
NO_CALL = "none of the 1 spans is a model call with gen_ai.*, llm.*, ai.* or openinference.*"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"resourceSpans": []}, "the list is empty"),
        (request(span(1, {"http.route": "/"})), NO_CALL),
        (request(span(1, {"ai.operationId": "ai.embed.doEmbed"})), NO_CALL),
        (request(span(1, TOOL)), NO_CALL),
        (request(span(1, AGENT)), f"run '{1:032x}': holds no model call; found spans: 1 agent"),
        ([{"spans": []}], "request 1: needs the key 'resourceSpans'; found keys: 'spans'"),
        ([7], "request 1: must be an object with the key 'resourceSpans'"),
        ({"resourceSpans": [7]}, "key 'scopeSpans' must be a list of objects, found 7"),
        (request({"name": "x"}), "spans 1: needs a 'traceId' and a 'spanId'"),
        (request(span(1, CHAT) | {"spanId": "0000000000000000"}), "needs a 'traceId'"),
        (request(span(1, CHAT) | {"spanId": 7}), "key 'spanId' must be a text, found 7"),
        (request(span(1, CHAT) | {"startTimeUnixNano": "noon"}), "be ns since 1970, found 'noon'"),
        (request(span(1, CHAT) | {"startTimeUnixNano": 2**70}), "must be ns since 1970"),
        (request(span(1, CHAT) | {"events": 3}), "key 'events' must be a list of objects, found 3"),
        (request(span(1, CHAT) | {"attributes": [3]}), "an attribute needs a 'key' and a 'value'"),
        (request(span(1, {**CHAT, "gen_ai.usage.input_tokens": "many"})), "found 'many'"),
    ],
)  # fmt: skip
def test_what_is_refused(write_json: Write, refused: Refused, raw: Any, words: str) -> None:
    assert words in refused(write_json(raw))


def test_an_empty_folder_is_refused(tmp_path: Path, refused: Refused) -> None:
    assert "the folder holds no OTLP file" in refused(tmp_path)


def test_only_what_is_broken_is_lost(write_lines: Write) -> None:
    broken = trace(2)
    broken[0]["attributes"] = attributes({**CHAT, "gen_ai.usage.input_tokens": -1})
    path = write_lines("{", request(*trace(1), {"name": "x"}), request(*broken), {"a": 1})
    intake = Intake()
    found = list(otlp.read(path, intake))
    assert [one["id"] for one in found] == [f"otlp/{1:032x}"]
    assert [words.partition(": ")[2] for words in intake.problems] == [
        "line 1: not JSON: Expecting property name enclosed in double quotes (column 2)",
        "line 2, spans 5: needs a 'traceId' and a 'spanId'",
        "line 4: needs the key 'resourceSpans'; found keys: 'a'",
        f"run '{2:032x}', span {2:016x}: key {TOKENS!r} must be 0 to {2**53}, found -1",
    ]


def test_a_collector_is_told_which_spans_are_broken() -> None:
    lost: list[str] = []
    found = spans_from(request({"name": "x"}, *trace()), PLACE, lambda e: lost.append(str(e)))
    assert (len(found), lost) == (4, ["runs: run 1, spans 1: needs a 'traceId' and a 'spanId'"])


@pytest.mark.parametrize(
    ("first", "fits"),
    [
        ({"resourceSpans": []}, True),
        ({"resource_spans": []}, True),
        ({"resourceLogs": []}, True),
        ({"spans": []}, False),
        (None, False),
    ],
)
def test_fits(first: Any, fits: bool) -> None:
    assert otlp.fits(Head(Path("x"), "object", first)) is fits
