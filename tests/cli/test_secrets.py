"""`harness validate --secrets`: every text is looked into, and what is not is said."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

SECRET = ("gh" + "p_" + "a1B2" * 9).encode()

#: Name of a file, its content, and what is told of it.
TEXTS = {
    "plain": ("a.txt", b"x\n%s", "a.txt:2: github"),
    "log": ("a.log", b"%s", "a.log:1: github"),
    "no ending": ("LICENSE", b"%s", "LICENSE:1: github"),
    "hidden": (".env", b"KEY=%s", ".env:1: github"),
    "in a hidden folder": (".github/workflows/a.yml", b"%s", ".github/workflows/a.yml:1: github"),
    "code": ("a.py", b"key = '%s'", "a.py:1: github"),
    "table": ("a.csv", b"a,b\r\n1,%s\r\n", "a.csv:2: github"),
    "not quite UTF-8": ("a.md", b"caf\xe9\n%s", "a.md:2: github"),
    "lines not quite UTF-8": ("a.jsonl", b'{"a": "\xe9"}\n{"a": "%s"}', "a.jsonl:2: github at a"),
    "no JSON": ("a.jsonl", b"{\n%s", "a.jsonl:2: github"),
    "mark": ("a.txt", b"\xef\xbb\xbf%s", "a.txt:1: github"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_every_text_of_a_folder_is_looked_into(here: Path, harness: Any, case: str) -> None:
    name, content, told = TEXTS[case]
    (here / name).parent.mkdir(parents=True, exist_ok=True)
    (here / name).write_bytes(content % SECRET)
    found = harness("validate", "--secrets", ".")
    assert (found.code, found.out, found.err) == (1, told + "\n", "1 secret in 1 file\n")


def test_packed_and_wide_texts_are_read(here: Path, harness: Any) -> None:
    (here / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": "x"}\n{"a": "%s"}\n' % SECRET))
    (here / "b.txt.gz").write_bytes(gzip.compress(b"\n%s\n" % SECRET))
    (here / "c.txt").write_bytes(("one\n" + SECRET.decode()).encode("utf-16"))
    found = harness("validate", "--secrets", ".")
    assert found.out == "a.jsonl.gz:2: github at a\nb.txt.gz:2: github\nc.txt:2: github\n"
    assert (found.code, found.err) == (1, "3 secrets in 3 files\n")


def test_what_is_left_out_is_said(here: Path, harness: Any) -> None:
    left_out = (".git/config", "node_modules/m/a.js", "src/__pycache__/a.txt")
    environment = ("tools/env/pyvenv.cfg", "tools/env/lib/a.py")
    for name in (*left_out, *environment, "src/a.py", "notes.txt"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(SECRET)
    (here / "a.png").write_bytes(b"\x89PNG\0" + SECRET)
    (here / "link").symlink_to("src")
    (here / "nowhere.txt").symlink_to("nothing")
    found = harness("validate", "--secrets", ".")
    assert found.out == "notes.txt:1: github\nsrc/a.py:1: github\n"
    assert found.err == (
        "not looked into: 1 binary file: a.png\n"
        "not looked into: 5 folders: link, .git, node_modules, src/__pycache__, tools/env\n"
        "not looked into: 1 dangling link: nowhere.txt\n"
        "2 secrets in 2 files\n"
    )
    # Named, it is meant.
    assert harness("validate", "--secrets", ".git").out == ".git/config:1: github\n"
    told = harness("validate", "--secrets", ".", "--json")
    assert ([each["path"] for each in told.lines], told.err.count("\n")) == (
        ["notes.txt", "src/a.py"], 3,
    )  # fmt: skip


@pytest.mark.parametrize(("others", "code"), [(b"nothing", 2), (SECRET, 1)])
def test_what_cannot_be_read_hides_nothing(
    here: Path, harness: Any, others: bytes, code: int
) -> None:
    (here / "a.gz").write_bytes(gzip.compress(SECRET)[:-12])
    (here / "b.gz").write_bytes(b"no gzip")
    (here / "c.txt").write_bytes(others)
    found = harness("validate", "--secrets", ".")
    assert found.code == code
    assert "not looked into: 2 unreadable files: a.gz (Compressed file ended before" in found.err
    assert found.out == ("" if code == 2 else "c.txt:1: github\n")


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
def test_what_is_no_file_is_said(here: Path, harness: Any) -> None:
    os.mkfifo(here / "pipe")
    (here / "loop").symlink_to("loop")
    (here / "nowhere").symlink_to("nothing")
    found = harness("validate", "--secrets", ".")
    told = found.err.splitlines()
    assert told[:2] == [
        "not looked into: 1 dangling link: nowhere",
        "not looked into: 1 special file: pipe",
    ]
    assert told[2].startswith("not looked into: 1 unreadable file: loop (")
    assert (found.code, told[3:]) == (2, ["0 secrets in 0 files"])


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pipe", "pipe is neither a file nor a folder"),
        ("nowhere", "nowhere is a link to nothing"),
        ("nothing", "nothing does not exist"),
        ("loop", "loop cannot be read: "),
    ],
)
def test_what_is_named_and_no_file_is_refused(
    here: Path, harness: Any, name: str, words: str
) -> None:
    os.mkfifo(here / "pipe")
    (here / "nowhere").symlink_to("nothing")
    (here / "loop").symlink_to("loop")
    found = harness("validate", "--secrets", name)
    assert found.code == 2
    assert f"validate: --secrets: {words}" in found.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="everything is permitted")
def test_what_is_forbidden_is_said(here: Path, harness: Any) -> None:
    (here / "a.txt").write_bytes(SECRET)
    (here / "a.txt").chmod(0)
    (here / "b").mkdir(0)
    (here / "c.txt").write_bytes(SECRET)
    found = harness("validate", "--secrets", ".")
    (here / "b").chmod(0o700)
    assert found.out == "c.txt:1: github\n"
    assert found.err.startswith(
        "not looked into: 2 unreadable files: b (Permission denied), a.txt (Permission denied)"
    )


def test_many_names_are_cut(here: Path, harness: Any) -> None:
    for number in range(12):
        (here / f"{number:02}.bin").write_bytes(b"\0")
    found = harness("validate", "--secrets", ".")
    assert found.code == 0
    assert "12 binary files: 00.bin, 01.bin" in found.err
    assert found.err.endswith("09.bin and 2 more\n0 secrets in 0 files\n")


def test_keys_of_the_environment_are_looked_for(
    here: Path, harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2horse9")
    (here / "a.jsonl").write_text('{"id": "x", "goal": "it is hunter2horse9"}\n')
    found = harness("validate", "--secrets", "a.jsonl")
    assert (found.code, found.out) == (1, "a.jsonl:1: x: client_key at goal\n")
