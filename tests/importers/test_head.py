"""The beginning of a file: its kind and its first record."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers import _head, available
from harness.importers._head import Head, head_of

A = {"role": "user", "content": "hi"}
LONG = {"id": 1, "text": "a" * 500}


@pytest.mark.parametrize(
    ("name", "content", "kind", "first"),
    [
        ("a.jsonl", b'{"a": 1}\n', "lines", {"a": 1}),
        ("a.jsonl", b'{"a": 1}', "lines", {"a": 1}),
        ("a.ndjson", b'\xef\xbb\xbf\n{"a": 1}\n{"a": 2}', "lines", {"a": 1}),
        # Pages, one a line, are lists in a row.
        ("a.jsonl", b'[{"a": 1}]\n', "list", {"a": 1}),
        ("a.jsonl", b'# no JSON\n{"a": \n{"b": 1}\n', "lines", {"b": 1}),
        ("a.jsonl", b'{"a": 1, "b": ', "lines", {"a": 1}),
        ("a.jsonl", b'{\n "a": 1\n}', "object", {"a": 1}),
        ("a.jsonl", b'[\n {"a": 1}\n]', "list", {"a": 1}),
        ("a.log", b'{"a": 1}\n{"a": 2}\n', "lines", {"a": 1}),
        ("a.json", b'{"a": 1}\n', "object", {"a": 1}),
        ("a.json", b'{\n "a": 1\n}', "object", {"a": 1}),
        ("a.json", b'{"a": {"b": [1, {"c": "x', "object", {"a": {"b": [1, {}]}}),
        ("a.json", b'[{"a": 1}, {"a": 2}]', "list", {"a": 1}),
        ("a.json", b'[{"a": 1}, {"a"', "list", {"a": 1}),
        ("a.json", b"[]", "list", None),
        ("a.json", b'{"a": "\xff"}', "object", {}),
        ("a.json", b'"text"', "text", None),
        ("a.json", b"12", "text", None),
        ("a.tsv", b"name\tval_bpb\n", "text", None),
        ("a.json", b"[" * 100_000, "list", []),
        ("a.json", b"", "empty", None),
        ("a.json", b"\xef\xbb\xbf \n\t", "empty", None),
        # Zeros that a file system left in a document.
        ("a.json", b'{"a": [{"b": "\0\0"}]}', "object", {"a": [{}]}),
        ("a.json", b'{\n "a": 1, "b": \0\0}', "object", {"a": 1}),
        ("a.bin", b"{\0\0", "binary", None),
        ("a.bin", b"\x7fELF\0\0", "binary", None),
        ("a.json", '{"a": 1}'.encode("utf-16"), "binary", None),
    ],
)
def test_kinds(tmp_path: Path, name: str, content: bytes, kind: str, first: Any) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    head = head_of(path)
    assert (head.kind, head.path) == (kind, path)
    if first != []:
        assert head.first == first
    if kind != "empty":
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(content))
        assert head_of(packed).kind == kind


@pytest.mark.parametrize("kind", ["lines", "list", "object"])
def test_a_record_longer_than_the_head_shows_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(_head, "HEAD_BYTES", 100)
    text = {"lines": json.dumps(LONG), "object": json.dumps(LONG), "list": json.dumps([LONG])}
    path = tmp_path / ("a.jsonl" if kind == "lines" else "a.json")
    path.write_text(text[kind])
    head = head_of(path)
    assert (head.kind, head.first) == (kind, {"id": 1})


def test_a_packed_file_that_breaks_off_still_shows_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    packed = gzip.compress(b'{"a": 1}\n' + os.urandom(500_000).hex().encode())
    path.write_bytes(packed[:-100_000])
    assert head_of(path).first == {"a": 1}
    path.write_bytes(b"no gzip")
    with pytest.raises(ImportFormatError, match="cannot be unpacked"):
        head_of(path)


def test_folders_and_archives_show_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    (folder / "deep").mkdir(parents=True)
    for name in ("b.json", "deep/a.json"):
        (folder / name).write_text("{}")
    assert head_of(folder) == Head(folder, "folder", names=("b.json", "deep/a.json"))
    archive = tmp_path / "runs.eval"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("header.json", "{}")
    assert head_of(archive) == Head(archive, "zip", names=("header.json",))


def test_values_within_the_first_record() -> None:
    head = Head(Path("a.json"), "object", {"a": {"b": 1}, "c": None})
    assert head.has("a", "c")
    assert not head.has("a", "d")
    assert head.get("a", "b") == 1
    assert head.get("a", "x", "y") is head.get("c", "x") is None
    assert not Head(Path("a.json"), "list", ["a"]).has("a")


@pytest.mark.parametrize(
    "first", [None, [], {}, [None], "text", 1, {"messages": 1}, {"_header": True}, {"info": []}]
)
@pytest.mark.parametrize("kind", ["lines", "list", "object", "text", "binary", "empty", "zip"])
def test_no_importer_claims_what_says_nothing(tmp_path: Path, kind: Any, first: Any) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\0\1 nothing")
    head = Head(path, kind, first)
    assert [name for name, module in available().items() if module.fits(head)] == []
