"""JSON Lines of OTLP, as the Collector writes them: a broken line loses its broken spans only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.importers import Intake, _reading, otlp
from harness.importers._open import CHUNK_BYTES
from harness.importers._spans.salvage_json import Walk
from tests.importers.otlp_requests import request, trace

LINES = [json.dumps(request(*trace(n, at=100 * n))).encode() for n in range(1, 5)]
A, B, C, D = LINES
# Its third span is a call of a model.
THIRD = json.dumps(trace(2, at=200)[2]).encode()
BAD = B.replace(THIRD, THIRD.replace(b'"name"', b'"n\xffme"', 1))


@pytest.mark.parametrize(
    ("raw", "steps", "told"),
    [
        (b"\n".join(LINES), 8, []),
        (b"".join(LINES), 8, []),
        (b"\n".join([A, BAD, C, D]), 7, ["line 2, resource 1, spans 3: not UTF-8"]),
        (A + b"\n" + B[:-60] + C + b"\n" + D, 8, ["line 2, resource 1, spans 4: not JSON"]),
        (b"\n".join(LINES)[:-60], 8, ["line 4: not JSON"]),
        (A + b"\nno JSON\n" + B, 4, ["line 2: not JSON"]),
    ],
)
def test_a_broken_line_keeps_its_sound_spans(
    tmp_path: Path, raw: bytes, steps: int, told: list[str]
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(raw)
    intake = Intake()
    assert sum(len(one["steps"]) for one in otlp.read(path, intake)) == steps
    problems = [words.removeprefix(f"{path}: ") for words in intake.problems]
    assert [words[: len(start)] for words, start in zip(problems, told, strict=True)] == told


def test_a_line_that_is_too_long_is_read_span_by_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", len(A) // 2)
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"\n".join(LINES))
    intake = Intake(strict=True)
    assert sum(len(one["steps"]) for one in otlp.read(path, intake)) == 8


CHANGES: dict[str, tuple[bytes, bytes]] = {
    "a byte": (b"xx", b"x\xe9"),
    "a quote": (b'"kind"', b'"kind'),
    "a bracket": (b"[", b"[["),
}


@pytest.mark.parametrize("change", CHANGES)
def test_many_broken_spans_do_not_make_the_window_grow(change: str) -> None:
    text = "x" * 500
    one = b'{"traceId":"1","spanId":"2","name":"n","kind":1,"a":[{"b":"%s"}]}' % text.encode()
    bad = one.replace(*CHANGES[change], 1)
    raw = b'{"resourceSpans":[{"scopeSpans":[{"spans":['
    raw += b",".join([bad, *[one] * 9] * 400) + b"]}]}]}"
    left, asked = memoryview(raw), [0]

    def read(size: int) -> bytes:
        nonlocal left
        asked[0] = max(asked[0], size)
        taken, left = bytes(left[:size]), left[size:]
        return taken

    sound: Callable[[bytes], bool] = lambda piece: piece == one  # noqa: E731
    walk = Walk(read, 2**26, sound)
    found = [piece.raw == one for piece in walk.pieces()]
    assert (len(found), sum(found), walk.whole) == (4000, 3600, True)
    assert asked[0] == CHUNK_BYTES
