"""OTLP as protobuf: one message, or messages behind their lengths."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.importers import Intake, otlp
from harness.importers._head import head_of
from tests.importers.otlp_requests import Refused, read, request, span, trace

FORMAT = "otlp"
Write = Callable[..., Path]


def message(*spans: dict[str, object]) -> bytes:
    """A request as protobuf; its JSON has bytes in base64, which OTLP's own has not."""
    raw = request(*spans)
    for one in raw["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in one:
                one[key] = base64.b64encode(bytes.fromhex(one[key])).decode()
    made: bytes = ParseDict(raw, ExportTraceServiceRequest()).SerializeToString()
    return made


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


MESSAGES = [message(one) for one in trace()]
WAYS = {
    "one message": message(*trace()),
    "messages without lengths": b"".join(MESSAGES),
    "lengths in four bytes": b"".join(len(m).to_bytes(4, "big") + m for m in MESSAGES),
    "lengths as varint": b"".join(varint(len(m)) + m for m in MESSAGES),
}


@pytest.fixture
def write_bytes(tmp_path: Path) -> Write:
    def write(raw: bytes, name: str = "runs.binpb") -> Path:
        path = tmp_path / name
        path.write_bytes(raw)
        return path

    return write


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_writing_it_is_the_same_as_json(
    way: str, write_bytes: Write, write_json: Write
) -> None:
    path = write_bytes(WAYS[way])
    (found,) = read(path)
    (same,) = read(write_json(request(*trace())))
    assert found == {**same, "source": "otlp:runs.binpb"}
    assert otlp.fits(head_of(path))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "one message"])
def test_a_file_that_breaks_off_keeps_what_was_whole(way: str, write_bytes: Write) -> None:
    intake = Intake()
    (found,) = otlp.read(write_bytes(WAYS[way][:-5]), intake)
    assert len(found["steps"]) == 2
    (words,) = intake.problems
    assert "message 4: the rest of the file cannot be read: it ends within a message" in words


def test_a_broken_message_behind_its_length_is_lost_alone(write_bytes: Write) -> None:
    first, *rest = MESSAGES
    broken = first[:40] + b"\xff" * (len(first) - 40)
    raw = b"".join(len(m).to_bytes(4, "big") + m for m in (first, broken, *rest))
    intake = Intake()
    (found,) = otlp.read(write_bytes(raw), intake)
    assert len(found["steps"]) == 2
    assert intake.broken == 1
    assert "message 2: is no ExportTraceServiceRequest" in intake.problems[0]


@pytest.mark.parametrize("lost", [1, 7, 50])
@pytest.mark.parametrize("way", ["lengths in four bytes", "lengths as varint"])
def test_bytes_lost_in_a_message_lose_no_other(way: str, lost: int, write_bytes: Write) -> None:
    many = [message(*trace(number, at=100 * number)) for number in range(1, 9)]
    fixed = way == "lengths in four bytes"
    framed = [(len(m).to_bytes(4, "big") if fixed else varint(len(m))) + m for m in many]
    # In the last span, the agent's, so that every call of a model is still sound.
    framed[2] = framed[2][: -lost - 20] + framed[2][-20:]
    intake = Intake()
    found = list(otlp.read(write_bytes(b"".join(framed)), intake))
    assert sum(len(one["steps"]) for one in found) == 16
    assert "message 3: is no ExportTraceServiceRequest" in intake.problems[-1]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\x00\x01\x02", "is neither OTLP/JSON nor an ExportTraceServiceRequest of protobuf"),
        (b"plain words", "is neither OTLP/JSON nor"),
        (b"\x0a\x05\x0a\x03", "it ends within a message"),
        (WAYS["one message"] + b"\x12\x01x", "expected a resource, found the tag 0x12"),
        (b"\x0a\xff\xff\xff\xff\x0f\x0a", "a message of 4294967295 bytes is longer than"),
        (message(span(1, {"http.route": "/"})), "none of the 1 spans is a model call"),
    ],
)
def test_what_is_refused(write_bytes: Write, refused: Refused, raw: bytes, words: str) -> None:
    assert words in refused(write_bytes(raw))


@pytest.mark.parametrize(
    "raw", [b"plain words", b"\x00\x01", b"\x0a", b"\x0a\x02\x08\x01", b"PK\x03\x04"]
)
def test_other_files_do_not_fit(write_bytes: Write, raw: bytes) -> None:
    assert not otlp.fits(head_of(write_bytes(raw)))


def test_values_of_protobuf_are_those_of_json(write_bytes: Write, write_json: Write) -> None:
    about = {"i": 2**40, "f": 0.5, "b": False, "l": [1, "a"], "d": {"x": None}, "s": ""}
    one = span(1, {"gen_ai.operation.name": "chat", **about})
    plain, packed = (
        otlp.spans_from(raw)[0].attributes
        for raw in (request(one), ExportTraceServiceRequest.FromString(message(one)))
    )
    assert plain == packed
    assert json.dumps(packed)
