"""Files as records: what is damaged is lost and named, and nothing else."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers import Intake, _reading
from harness.importers._base import Place
from harness.importers._open import CHUNK_BYTES
from harness.importers._reading import (
    json_document,
    json_items,
    json_lines,
    json_records,
    text_lines,
)

Make = Callable[..., Path]
A, B, C = {"n": 1}, {"n": 2, "t": 'a "]" \\ {'}, {"n": 3, "deep": [[{}], {"x": []}]}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(content: bytes | str, name: str = "runs.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def got(records: Iterator[tuple[Place, Any]]) -> list[tuple[str, Any]]:
    return [(place.spot, value) for place, value in records]


def lines(*values: Any) -> bytes:
    return b"".join(
        (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n"
        for value in values
    )


@pytest.mark.parametrize(
    ("content", "found", "problems"),
    [
        (lines(A, B), [("line 1", A), ("line 2", B)], []),
        (b"\xef\xbb\xbf" + lines(A), [("line 1", A)], []),
        (b"\n  \n" + lines(A), [("line 3", A)], []),
        (lines(A, b"")[:-2], [("line 1", A)], []),
        (lines(A).replace(b"\n", b"\r\n"), [("line 1", A)], []),
        (lines(A, b'{"n": ', B), [("line 1", A), ("line 3", B)], ["line 2: not JSON"]),
        (lines(A, b'{"n": "\xff"}', B), [("line 1", A), ("line 3", B)],
         ["line 2: not UTF-8: byte 7 is 0xff"]),
        (lines(A, B)[:-5], [("line 1", A)], ["line 2: not JSON"]),
        (lines(b"[" * 100_000 + b"]" * 100_000, A), [("line 2", A)],
         ["line 1: nested too deeply"]),
        (lines(b"9" * 10_000, A), [("line 2", A)], ["line 1: holds an integer of too many"]),
        (lines(rb'{"t": "\ud83d"}'), [("line 1", {"t": "\ufffd"})], []),
        (lines(rb'{"t": "\ud83d\ude00"}'), [("line 1", {"t": "\U0001f600"})], []),
    ],
)  # fmt: skip
def test_lines(make: Make, content: bytes, found: list[Any], problems: list[str]) -> None:
    path = make(content, "runs.jsonl")
    intake = Intake()
    assert got(json_lines(path, intake)) == found
    noted(intake, path, problems)
    packed = make(gzip.compress(content), "runs.jsonl.gz")
    assert got(json_lines(packed, Intake())) == found


def noted(intake: Intake, path: Path, problems: list[str]) -> None:
    assert intake.broken == len(intake.problems) == len(problems)
    for problem, words in zip(intake.problems, problems, strict=True):
        assert problem.startswith(f"{path}: {words}")
        assert "\n" not in problem


def test_numbers_that_are_no_json_are_read_and_left_to_the_importer(make: Make) -> None:
    ((_, value),) = json_lines(make(b"[NaN, Infinity, 1e999]\n", "runs.jsonl"), Intake())
    assert value[0] != value[0]
    assert value[1:] == [float("inf")] * 2


@pytest.mark.parametrize("most", [40, 50_000, CHUNK_BYTES + 3])
@pytest.mark.parametrize("read", [json_lines, json_items])
def test_a_record_over_the_limit_is_lost_alone(
    make: Make, monkeypatch: pytest.MonkeyPatch, most: int, read: Any
) -> None:
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", most)
    fitting, over = {"t": "a" * (most - 9)}, {"t": "a" * (most - 8)}
    parts = [json.dumps(value) for value in (fitting, A, over, B, fitting)]
    assert len(parts[0]) == most
    if read is json_lines:
        # A line's end counts.
        parts = [part.replace("a", "", 1) for part in parts]
        path = make("\n".join(parts) + "\n")
    else:
        path = make(f"[{', '.join(parts)}]")
    intake = Intake()
    found = [place.spot[-1] for place, _ in read(path, intake)]
    assert found == ["1", "2", "4", "5"]
    (problem,) = intake.problems
    assert f"3: {'a line ' if read is json_lines else ''}may hold at most {most} bytes" in problem


@pytest.mark.parametrize("length", [7, CHUNK_BYTES - 1, CHUNK_BYTES, 3 * CHUNK_BYTES])
def test_a_packed_file_that_breaks_off_keeps_what_stands_before(make: Make, length: int) -> None:
    values = [{"n": n, "noise": os.urandom(length // 2).hex()} for n in range(6)]
    for content, read, what in (
        (lines(*values), json_lines, "line"),
        (json.dumps(values).encode(), json_items, "record"),
    ):
        packed = gzip.compress(content, 1)
        path = make(packed[: len(packed) * 3 // 4], "runs.json.gz")
        intake = Intake()
        found = [value for _, value in read(path, intake)]
        assert found == values[: len(found)]
        assert len(found) >= (3 if length > 1000 else 0)
        (problem,) = intake.problems
        assert problem.startswith(f"{path}: ")
        assert "the rest of the file cannot be" in problem
        assert "end-of-stream marker" in problem
        assert what in problem


def test_a_damaged_packed_file_is_named(make: Make) -> None:
    packed = bytearray(gzip.compress(lines(*({"n": n} for n in range(100_000)))))
    packed[len(packed) // 2] ^= 0xFF
    intake = Intake()
    assert list(json_lines(make(bytes(packed), "runs.jsonl.gz"), intake))
    assert "the rest of the file cannot be unpacked" in intake.problems[-1]


@pytest.mark.parametrize(
    ("content", "found", "problems"),
    [
        (json.dumps([A, B, C]), [("record 1", A), ("record 2", B), ("record 3", C)], []),
        (json.dumps([A, B], indent=2), [("record 1", A), ("record 2", B)], []),
        (b"\xef\xbb\xbf \n" + json.dumps([A]).encode(), [("record 1", A)], []),
        ('[{"n": 1}, {"n": x}, {"n": 3}]', [("record 1", A), ("record 3", {"n": 3})],
         ["record 2: not JSON: Expecting value (column 7)"]),
        (b'[{"n": 1}, {"n": "\xff"}, {"n": 3}]', [("record 1", A), ("record 3", {"n": 3})],
         ["record 2: not UTF-8: byte 7 is 0xff"]),
        ('[{"n": 1}, {"n": 2]', [("record 1", A)],
         ["record 2: not JSON",
          "after record 2: the rest of the file cannot be read: the file ends"]),
        ('[{"n": 1}, {"n": "2', [("record 1", A)],
         ["after record 1: the rest of the file cannot be read: the file ends"]),
        ('[{"n": 1}, {"n": 2}', [("record 1", A), ("record 2", {"n": 2})],
         ["after record 2: the rest of the file cannot be read: the file ends"]),
        ("[{", [], ["before the first record: the rest of the file cannot be read"]),
        (rb'[{"t": "\ud83d"}, {"t": "\\\""}]',
         [("record 1", {"t": "\ufffd"}), ("record 2", {"t": '\\"'})], []),
        ('[null, {"n": 1}, "[", [2]]',
         [("record 1", None), ("record 2", A), ("record 3", "["), ("record 4", [2])], []),
        ("[1, 2]", [], ["record 1: not JSON: Extra data"]),
        (f"[{'9' * 10_000}, {{}}]", [("record 2", {})],
         ["record 1: holds an integer of too many digits"]),
        ("[" * 90_000 + "]" * 90_000, [], ["record 1: nested too deeply"]),
    ],
)  # fmt: skip
def test_a_list(make: Make, content: str | bytes, found: list[Any], problems: list[str]) -> None:
    path = make(content)
    intake = Intake()
    assert got(json_items(path, intake)) == found
    noted(intake, path, problems)
    if problems:
        with pytest.raises(ImportFormatError) as caught:
            list(json_items(path, Intake(strict=True)))
        assert str(caught.value) == intake.problems[0]


@pytest.mark.parametrize(
    ("under", "document"),
    [
        ("data", {"data": [A, B]}),
        ("data", {"other": [C, {"data": [C]}], "data": [A, B], "more": 1}),
        ("data.items", {"data": {"x": {"items": [C]}, "items": [A, B]}}),
        ("data.items", {"items": [C], "text": '"data": [', "data": {"items": [A, B]}}),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_under_a_key(make: Make, under: str, document: Any, indent: int | None) -> None:
    path = make(json.dumps(document, indent=indent))
    assert got(json_items(path, Intake(), under=under)) == [("record 1", A), ("record 2", B)]


@pytest.mark.parametrize(
    ("content", "under", "words"),
    [
        ("", "", "expected a list, found no JSON"),
        ("hello", "", "expected a list, found no JSON"),
        ("hello [1]", "", "expected a list, found no JSON"),
        ("}", "", "expected a list, found no JSON"),
        ('{"a": [1]}', "", "expected a list, found an object"),
        ("[]", "", "the list is empty; expected at least one record"),
        ('{"a": []}', "a", "the list is empty; expected at least one record"),
        ('[{"a": [1]}]', "a", "expected a list under 'a', found a list"),
        ('{"b": [1]}', "a", "expected a list under 'a', found none under 'a'"),
        ('{"b": {"a": [1]}}', "a", "expected a list under 'a', found none under 'a'"),
        ('{"a": {"c": [1]}}', "a.b", "expected a list under 'a.b', found none under 'b'"),
        ('{"a": {"c": 1', "a.b", "expected a list under 'a.b', found an object"),
    ],
)
def test_no_list(make: Make, content: str, under: str, words: str) -> None:
    path = make(content)
    with pytest.raises(ImportFormatError) as caught:
        list(json_items(path, Intake(), under=under))
    assert str(caught.value) == f"{path}: {words}"


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.json", json.dumps(A), [("document", A)]),
        ("a.json", json.dumps(C, indent=1), [("document", C)]),
        ("a.json", json.dumps([A, B]), [("record 1", A), ("record 2", B)]),
        ("a.json", lines(A, B), [("line 1", A), ("line 2", B)]),
        ("a.jsonl", lines(A), [("line 1", A)]),
        ("a.jsonl.gz", gzip.compress(lines(A), mtime=0), [("line 1", A)]),
        ("a.json.gz", gzip.compress(json.dumps([A]).encode(), mtime=0), [("record 1", A)]),
        ("a.jsonl", json.dumps([A, B], indent=1), [("record 1", A), ("record 2", B)]),
    ],
)
def test_records_of_any_shape(make: Make, name: str, content: Any, found: list[Any]) -> None:
    assert got(json_records(make(content, name), Intake())) == found


def test_files_that_cannot_be_read(make: Make, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    cases = [
        (tmp_path / "absent.jsonl", "cannot be read: No such file or directory"),
        (tmp_path, "cannot be read: Is a directory"),
        (pipe, "is a pipe or a device; name a file"),
        (make("", "empty.jsonl"), "the file is empty; expected JSON Lines"),
        (make("no gzip", "a.jsonl.gz"), "line 1: the rest of the file cannot be unpacked"),
    ]
    for path, words in cases:
        with pytest.raises(ImportFormatError) as caught:
            list(json_lines(path, Intake(strict=True)))
        assert str(caught.value).startswith(f"{path}: {words}")
    with pytest.raises(ImportFormatError, match="the file is empty; expected JSON"):
        json_document(make(" \n"), Intake())
    with pytest.raises(ImportFormatError, match="line 2: not JSON"):
        json_document(make('{"a":\n x}'), Intake())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(make: Make) -> None:
    path = make(lines(A))
    path.chmod(0)
    with pytest.raises(ImportFormatError, match="cannot be read: Permission denied"):
        list(json_lines(path, Intake()))


def test_an_empty_file_behind_a_broken_one_is_named_too(make: Make) -> None:
    intake = Intake()
    list(json_lines(make("{\n", "a.jsonl"), intake))
    with pytest.raises(ImportFormatError, match="the file is empty"):
        list(json_lines(make("", "b.jsonl"), intake))


def test_lines_of_text(make: Make) -> None:
    intake = Intake()
    path = make(b"\xef\xbb\xbfa\tb\n\n\xff\nc\n", "log.tsv")
    assert got(text_lines(path, "rows", intake)) == [("line 1", "a\tb"), ("line 4", "c")]
    assert intake.problems == [f"{path}: line 3: not UTF-8: byte 0 is 0xff"]


def test_progress_adds_up(make: Make) -> None:
    intake = Intake()
    content = lines(*({"n": n} for n in range(100_000)))
    paths = [make(content, "a.jsonl"), make(gzip.compress(content), "b.jsonl.gz"),
             make(json.dumps([A] * 50_000), "c.json"), make(json.dumps(A), "d.json")]  # fmt: skip
    shares = []
    for path in paths:
        shares += [intake.read_bytes for _ in json_records(path, intake)]
    assert shares == sorted(shares)
    assert intake.read_bytes == intake.total_bytes == sum(path.stat().st_size for path in paths)
    # It is told on the way, not at the end.
    assert len(set(shares)) > 5


def test_a_broken_record_loses_only_itself_and_leaves_nothing_behind() -> None:
    place = Place(Path("runs.json"), "record 1")
    intake = Intake()
    with intake.record(place, {"raw": 1}):
        assert (intake.place, intake.raw) == (place, {"raw": 1})
        raise place.error("is odd")
    assert (intake.place, intake.raw, intake.broken) == (None, None, 1)
    assert intake.problems == ["runs.json: record 1: is odd"]
    with pytest.raises(ImportFormatError), Intake(strict=True).record(place):
        raise place.error("is odd")
    # A fault of an importer is no broken record.
    with pytest.raises(ZeroDivisionError), intake.record(place):
        raise ZeroDivisionError
