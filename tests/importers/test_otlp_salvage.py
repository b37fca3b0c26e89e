"""Files with one resource that is damaged, broken off or too large: the sound spans are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.importers import Intake, otlp
from harness.importers._reading import MAX_LINE_BYTES
from harness.importers._spans import salvage_json
from harness.importers._spans.salvage_json import Walk
from tests.importers.otlp_requests import CHAT, request, span, trace
from tests.importers.test_otlp_protobuf import message, varint

SPANS = [made for number in range(1, 5) for made in trace(number, at=100 * number)]
WHOLE = json.dumps(request(*SPANS))
# It changes what it is given.
PROTO = message(*deepcopy(SPANS))
REST = "the rest of the file cannot be read: "
SESSION = {"session.id": "s"}


def taken(path: Path) -> tuple[int, list[str]]:
    """How many steps were read, and what was told, without the path."""
    intake = Intake()
    steps = sum(len(one["steps"]) for one in otlp.read(path, intake))
    return steps, [words.removeprefix(f"{path}: ") for words in intake.problems]


def damaged(at: int, change: Callable[[str], str]) -> str:
    """The document, with a change to the span at a position."""
    own = json.dumps(SPANS[at])
    assert WHOLE.count(own) == 1
    return WHOLE.replace(own, change(own))


def with_first(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "steps", "told"),
    [
        pytest.param(WHOLE[:-1500], 6, [f"after resource 1, spans 12: {REST}the file ends"],
                     id="broken off"),
        pytest.param(f"[{WHOLE}, {WHOLE[:500]}", 8, [f"after resource 1, spans 16: {REST}the file"],
                     id="a list that breaks off"),
        pytest.param(damaged(2, with_first(":", "")), 7, ["resource 1, spans 3: not JSON"],
                     id="a colon lost"),
        pytest.param(damaged(2, with_first('"', "")), 7, ["resource 1, spans 3: not JSON"],
                     id="a quote lost"),
        pytest.param(damaged(2, with_first("[", "")), 7, ["resource 1, spans 3: not JSON"],
                     id="an opening bracket lost"),
        pytest.param(damaged(2, lambda text: text[:-1]), 7,
                     ["resource 1, spans 3: not JSON"], id="a closing bracket lost"),
        pytest.param(damaged(2, lambda text: text + "}"), 8, ["resource 1: not JSON"],
                     id="a brace too many"),
        pytest.param(damaged(2, lambda text: text + "]"), 8, ["resource 1: not JSON"],
                     id="a bracket too many"),
        pytest.param(damaged(2, with_first("[", "[[")), 7, ["resource 1, spans 3: not JSON"],
                     id="an opening bracket too many"),
        pytest.param(damaged(-1, lambda text: text[:-1]), 8, ["resource 1, spans 16: not JSON"],
                     id="the last brace of the last span lost"),
        pytest.param(damaged(2, with_first("0", "\0")), 7, ["resource 1, spans 3: not JSON"],
                     id="a zero byte"),
        pytest.param(damaged(2, lambda text: text[:90]), 7, ["resource 1, spans 3: not JSON"],
                     id="the end of a span lost"),
        pytest.param(damaged(2, with_first("0", "\udc80")), 7, ["resource 1, spans 3: not UTF-8"],
                     id="no UTF-8"),
        pytest.param(WHOLE.replace('"service', 'service'), 8, ["resource 1: not JSON"],
                     id="the resource"),
    ],
)  # fmt: skip
def test_json_loses_what_is_broken(tmp_path: Path, text: str, steps: int, told: list[str]) -> None:
    path = tmp_path / "runs.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    found, problems = taken(path)
    assert found == steps
    assert [words[: len(start)] for words, start in zip(problems, told, strict=True)] == told


def large() -> Any:
    """One resource that holds more than is read at once."""
    text = "x" * (MAX_LINE_BYTES // 8)
    about = {**CHAT, "gen_ai.output.messages": text}
    more = [span(9, about, trace=f"{number:032x}") for number in range(9, 18)]
    return request(*SPANS, *more, resource=SESSION)


def as_proto(made: Any) -> bytes:
    found = message(*deepcopy(made["resourceSpans"][0]["scopeSpans"][0]["spans"]))
    # Its resource instead of the made-up one.
    read = ExportTraceServiceRequest.FromString(found)
    read.resource_spans[0].resource.Clear()
    ParseDict(made["resourceSpans"][0]["resource"], read.resource_spans[0].resource)
    raw: bytes = read.SerializeToString()
    return raw


@pytest.mark.slow
@pytest.mark.parametrize("name", ["runs.json", "runs.binpb"])
def test_a_sound_resource_that_is_large_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(as_proto(large()) if name == "runs.binpb" else json.dumps(large()).encode())
    intake = Intake(strict=True)
    (found,) = otlp.read(path, intake)
    # Its session is what makes them one run.
    assert (found["id"], len(found["steps"])) == ("otlp/s", 17)


def flipped(at: int) -> bytes:
    return PROTO[:at] + bytes([PROTO[at] ^ 0xFF]) + PROTO[at + 1 :]


THIRD = PROTO.index(bytes.fromhex(f"{3:016x}"))


@pytest.mark.parametrize(
    ("raw", "steps", "told"),
    [
        pytest.param(PROTO[:-400], 7, [f"message 1: {REST}it ends within a message"], id="cut"),
        pytest.param(flipped(PROTO.index(b"span", THIRD)), 8,
                     ["message 1, span 2: is damaged", "message 1: is no ExportTraceService"],
                     id="a text"),
        pytest.param(PROTO[:2] + b"\x20" + PROTO[3:], 8,
                     ["message 1: is no"], id="the length of the resource"),
        pytest.param(PROTO + b"\x12\x01x" + PROTO, 8,
                     [f"message 2: {REST}expected a resource, found the tag 0x12"], id="between"),
        pytest.param(varint(len(PROTO) + 9) + PROTO, 8,
                     [f"message 1: {REST}it ends within a message"], id="behind a length"),
    ],
)  # fmt: skip
def test_protobuf_loses_what_is_broken(
    tmp_path: Path, raw: bytes, steps: int, told: list[str]
) -> None:
    path = tmp_path / "runs.binpb"
    path.write_bytes(raw)
    found, problems = taken(path)
    assert found == steps
    assert [words[: len(start)] for words, start in zip(problems, told, strict=True)] == told


def reader(raw: bytes) -> Callable[[int], bytes]:
    left = memoryview(raw)

    def read(size: int) -> bytes:
        nonlocal left
        # Little at a time, so that pieces lie across what is read.
        size = min(size, 7)
        taken, left = bytes(left[:size]), left[size:]
        return taken

    return read


LATE = {"resourceSpans": [{"scopeSpans": [{"spans": [{"a": 1}, {"a": 2}]}], "resource": {"r": 1}}]}
NONE = {"resource_spans": [{"scope_spans": [{"spans": [{"a": 1}, {"a": 2}]}]}]}
LOGS = {"resourceLogs": [{"resource": {"r": 1}, "scopeLogs": [{"logRecords": [{"a": 1}]}]}]}


@pytest.mark.parametrize(
    ("made", "held", "expected"),
    [
        (LATE, 100, [("span", 1, 1, '{"r": 1}'), ("span", 1, 2, '{"r": 1}')]),
        (LATE, 1, [("span", 1, 1, None), ("span", 1, 2, None)]),
        (NONE, 100, [("span", 1, 1, None), ("span", 1, 2, None)]),
        (
            [LOGS, NONE],
            100,
            [("log", 1, 1, '{"r": 1}'), ("span", 2, 1, None), ("span", 2, 2, None)],
        ),
        ({"other": NONE}, 100, []),
        ({"resourceSpans": [{"scopeSpans": {"spans": [{}]}}]}, 100, []),
    ],
)
def test_pieces_know_their_resource(
    monkeypatch: pytest.MonkeyPatch, made: Any, held: int, expected: list[Any]
) -> None:
    monkeypatch.setattr(salvage_json, "_MOST_HELD", held)
    found = Walk(reader(json.dumps(made).encode()), 1000, lambda _: True).pieces()
    assert [
        (p.kind, p.group, p.number, p.resource and p.resource.decode()) for p in found
    ] == expected


def test_a_piece_that_is_too_long_is_lost_alone() -> None:
    spans = [{"traceId": "1", "spanId": "2", "name": "x" * n} for n in (10, 5000, 10)]
    made = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    found = Walk(reader(made), 1000, lambda _: True).pieces()
    assert [(p.number, p.raw is None) for p in found] == [(1, False), (2, True), (3, False)]


def test_broken_spans_are_not_read_again_without_end() -> None:
    """Each of them has lost a quote, so that each takes all behind it along."""
    one = b'{"traceId": "1", "spanId": "2", "name": x", "a": []}'
    raw = b'{"resourceSpans": [{"scopeSpans": [{"spans": [' + b", ".join([one] * 2000) + b"]}]}]}"
    asked = 0

    def sound(_: bytes) -> bool:
        nonlocal asked
        asked += 1
        return False

    assert len(list(Walk(reader(raw), 10_000, sound).pieces())) <= 2001
    assert asked <= 2001
