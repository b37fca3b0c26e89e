"""Files that hold more than their first document: all of it is read, or what is not is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers import Intake, _reading
from harness.importers._head import head_of
from harness.importers._open import CHUNK_BYTES
from harness.importers._reading import json_items, json_records
from harness.importers._stream import split
from tests.importers.chat_runs import ASK

A, B, C = {"n": 1}, {"n": 2, "t": ']}"[{'}, {"n": 3, "deep": [[{}], {"x": []}]}
REST = "the rest of the file cannot be read"
ELSE = f"{REST}: something else stands behind the end of the list"
ALL = [A, B, C]


def dumped(*values: Any, between: str = "\n", indent: int | None = None) -> str:
    return between.join(json.dumps(value, indent=indent) for value in values)


LISTS = dumped([A], [B, C])
UNDER = dumped({"k": [A], "more": [{"k": [0]}]}, {"a": {}, "k": [B, C]})


@pytest.mark.parametrize(
    ("content", "found", "problems"),
    [
        (LISTS, ALL, []),
        (dumped([A, B, C], []), ALL, []),
        (dumped([], [A, B, C], between=" \r\n\t"), ALL, []),
        (dumped([A], [B], [C], between=""), ALL, []),
        (dumped([A, B], [C], between="\n\ufeff", indent=1) + "\n\n", ALL, []),
        # A bracket too many is lost alone.
        ('[{"n": 1}}, {"n": 3}]', [A, {"n": 3}], ["record 2: not JSON"]),
        ('[{"n": 1}], {"n": 3}]', [A, {"n": 3}], ["record 2: not JSON"]),
        ('[{"n": 1}] , [2]]', [A, [2]], ["record 2: not JSON"]),
        ('[{"n": {"n": 1}}, "m": 2}, {"n": 3}]', [{"n": A}, {"n": 3}], ["record 2: not JSON"]),
        ('[{"n": [1]], "m": 2}, {"n": 3}]', [{"n": 3}],
         ["record 1: not JSON", "record 2: not JSON"]),
        ('[{"n": 1}}}, {"n": 3}]', [A, {"n": 3}], ["record 2: not JSON", "record 3: not JSON"]),
        # What is no list is named.
        ('[{"n": 1}] the end', [A], [f"after record 1: {ELSE}"]),
        ('[{"n": 1}] the [end]', [A], [f"after record 1: {ELSE}"]),
        ('[{"n": 1}],', [A], [f"after record 1: {ELSE}"]),
        ('[{"n": 1}]]', [A], [f"after record 1: {ELSE}"]),
        ('[{"n": 1}]\n{"n": 2}', [A], [f"after record 1: {ELSE}"]),
        ('[{"n": 1}]\n\0\0\0', [A], [f"after record 1: {ELSE}"]),
        ('[{"n": 1}]\n[{"n": 2', [A], [f"after record 1: {REST}: the file ends"]),
    ],
)  # fmt: skip
def test_lists(tmp_path: Path, content: str, found: list[Any], problems: list[str]) -> None:
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    read_as(path, "", found, problems)
    # The same wherever a chunk ends.
    path.write_text(f"[{' ' * (CHUNK_BYTES - 9)}{content[1:]}", encoding="utf-8")
    read_as(path, "", found, problems)


@pytest.mark.parametrize(
    ("content", "found", "problems"),
    [
        (UNDER, ALL, []),
        (UNDER.replace("\n", ""), ALL, []),
        ('{"k": [{"n": 1}}, {"n": 3}], "more": [[4]]}', [A, {"n": 3}], ["record 2: not JSON"]),
        ('{"k": [{"n": 1}], {"n": 3}], "more": [[4]]}', [A, {"n": 3}], ["record 2: not JSON"]),
        ('{"k": [{"n": 1}], "more": [[4]', [A], [f"after record 1: {REST}: the file ends"]),
        ('{"k": [{"n": 1}]} {"j": []}', [A],
         [f"after record 1: {REST}: the next document has no list under 'k'"]),
        ('{"k": [{"n": 1}]} and', [A],
         [f"after record 1: {REST}: the next document has no list under 'k'"]),
    ],
)  # fmt: skip
def test_lists_under_a_key(
    tmp_path: Path, content: str, found: list[Any], problems: list[str]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    read_as(path, "k", found, problems)


def read_as(path: Path, under: str, found: list[Any], problems: list[str]) -> None:
    intake = Intake()
    assert [value for _, value in json_items(path, intake, under=under)] == found
    assert intake.broken == len(problems)
    for problem, words in zip(intake.problems, problems, strict=True):
        assert problem.startswith(f"{path}: {words}")
    if problems:
        with pytest.raises(ImportFormatError) as caught:
            list(json_items(path, Intake(strict=True), under=under))
        assert str(caught.value) == intake.problems[0]


@pytest.mark.parametrize(
    ("content", "found", "problems"),
    [
        (dumped(A, B, indent=1), [("document", A), ("document 2", B)], []),
        (dumped(A, B, between=""), [("document", A), ("document 2", B)], []),
        (dumped([A], [B]), [("record 1", A), ("record 2", B)], []),
        (dumped([A], [B], between=""), [("record 1", A), ("record 2", B)], []),
        (dumped(A, indent=1) + " end", [("document", A)],
         [f"after document 1: {REST}: line 3: not JSON: Expecting value (column 3)"]),
        (dumped(A, indent=1) + dumped(B, indent=1)[:-9], [("document", A)],
         [f"after document 1: {REST}: line "]),
        (dumped({"t": r"\ud83d"}, {"t": "\ud83d"}, between=""),
         [("document", {"t": r"\ud83d"}), ("document 2", {"t": "\ufffd"})], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_documents(
    tmp_path: Path, name: str, content: str, found: list[Any], problems: list[str]
) -> None:
    path = tmp_path / name
    raw = content.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    intake = Intake()
    assert [(place.spot, value) for place, value in json_records(path, intake)] == found
    for problem, words in zip(intake.problems, problems, strict=True):
        assert problem.startswith(f"{path}: {words}")


def test_a_packed_list_whose_end_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(dumped([A]).encode())[:-4])
    intake = Intake()
    assert [value for _, value in json_items(path, intake)] == [A]
    (problem,) = intake.problems
    assert f"after record 1: {REST}: it cannot be unpacked" in problem


class Endless:
    """A list, and behind it white space without end."""

    def __init__(self) -> None:
        self.given = 0

    def read1(self, size: int) -> bytes:
        self.given += size
        return b"[{}]" if self.given == size else b" " * size


def test_what_stands_behind_the_end_fills_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 4 * CHUNK_BYTES
    endless = Endless()
    items = split(endless, (), most)  # type: ignore[arg-type]
    assert next(items) == b"{}"
    with pytest.raises(Exception, match=f"a record may hold at most {most} bytes"):
        next(items)
    assert endless.given < 4 * most
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", most)
    path = tmp_path / "a.json"
    # Long values behind the list are passed over.
    path.write_text(dumped({"k": [A], "more": [["x" * CHUNK_BYTES]] * 9}), encoding="utf-8")
    read_as(path, "k", [A], [])


@pytest.mark.parametrize(
    ("content", "name", "kind", "first"),
    [
        (dumped([A], [B]), "a.json", "list", A),
        (dumped([A], [B]), "a.jsonl", "list", A),
        (dumped([A], [B], indent=1), "a.json", "list", A),
        (dumped(A, B, indent=1), "a.json", "object", A),
        (dumped([ASK], [ASK]), "a.jsonl", "lines", [ASK]),
        (dumped([1], [2]), "a.json", "lines", [1]),
        # What a file system lost.
        (dumped(A, B) + "\n" + "\0" * 9, "a.jsonl", "lines", A),
        ("\0" * 9 + "\n" + dumped(A, B), "a.jsonl", "lines", A),
        (dumped(A, B) + "\n" + "\0" * 9, "a.json", "lines", A),
        ("\0" * 9 + dumped(A, B), "a.jsonl", "lines", B),
        ("\0" * 9, "a.jsonl", "binary", None),
        (dumped(A, B).encode("utf-16").decode("latin-1"), "a.jsonl", "binary", None),
    ],
)
def test_what_such_a_file_looks_like(
    tmp_path: Path, content: str, name: str, kind: str, first: Any
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    head = head_of(path)
    assert (head.kind, head.first) == (kind, first)
