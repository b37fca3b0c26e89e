"""`harness validate --secrets`: secrets in files that exist; what they are is never shown."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import typer

from harness.cli import terminal
from harness.errors import HarnessError
from harness.redact import find, known_keys, places
from harness.secretrules import Finder

#: Folders within a folder that are left out: histories, and what others wrote.
LEFT_OUT = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__"})
#: A virtual environment, whatever it is called, holds this file.
_ENVIRONMENT = "pyvenv.cfg"
#: So many bytes at a time, and on to the end of the line.
_PART = 16 << 20
#: So many bytes at the beginning tell text from binary data.
_HEAD = 1 << 16
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: So many names are told of what was not looked into.
_TOLD = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret: in which file and line, of which recording, by which rule, at which key."""

    path: str
    line: int
    rule: str
    id: str | None = None
    at: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}: "
        return where + (f"{self.id}: " if self.id else "") + self.rule + (
            f" at {self.at}" if self.at else ""
        )  # fmt: skip


class NotTextError(Exception):
    """A file is no text."""


@dataclass(slots=True)
class _Looked:
    """What was found, and what was not looked into."""

    found: list[Finding] = field(default_factory=list)
    files: int = 0
    binary: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)

    def left_out(self) -> Iterator[str]:
        """What was not looked into, a line for each reason."""
        for noun, names in (("binary file", self.binary), ("folder", self.folders),
                            ("dangling link", self.links), ("special file", self.special),
                            ("unreadable file", self.unreadable)):  # fmt: skip
            if names:
                more = f" and {len(names) - _TOLD:,} more" if len(names) > _TOLD else ""
                told = ", ".join(names[:_TOLD])
                yield f"not looked into: {terminal.counted(len(names), noun)}: {told}{more}"


def check(paths: Sequence[str], *, as_json: bool) -> None:
    """List the secrets; exit code 1 where there are any, else 2 where a file cannot be read."""
    looked = _Looked()
    files = list(dict.fromkeys(_files(paths, looked)))
    if not files and not looked.unreadable:
        raise HarnessError(f"validate: --secrets: no files in {', '.join(paths)}")
    _look(files, looked)
    for finding in looked.found:
        if as_json:
            terminal.json_line(asdict(finding))
        else:
            terminal.out().print(terminal.plain(str(finding)), soft_wrap=True)
    for line in looked.left_out():
        terminal.err().print(terminal.plain(line))
    if not as_json:
        told = terminal.counted(len(looked.found), "secret")
        terminal.err().print(f"{told} in {terminal.counted(looked.files, 'file')}")
    if looked.found or looked.unreadable:
        raise typer.Exit(1 if looked.found else 2)


def _look(files: Sequence[Path], looked: _Looked) -> None:
    """All secrets, told only at the end: a bar stands where they would be."""
    total = sum(file.stat().st_size for file in files)
    known = known_keys(os.environ)
    bar = terminal.ProgressBar("looking for secrets, MB")
    done = 0
    try:
        for file in files:
            try:
                for size, findings in findings_in(file, known):
                    looked.found += findings
                    done += size
                    bar.update(done >> 20, total >> 20)
                looked.files += 1
            except NotTextError:
                looked.binary.append(str(file))
            except (OSError, EOFError, zlib.error) as error:
                looked.unreadable.append(_told(file, error))
    finally:
        bar.close()


def _told(path: object, error: Exception) -> str:
    return f"{path} ({getattr(error, 'strerror', None) or error})"


def _files(paths: Sequence[str], looked: _Looked) -> Iterator[Path]:
    """Files that are named, whatever they are, and all in folders, hidden ones too."""
    for name in paths:
        path = Path(name)
        if path.is_dir():
            yield from _inside(path, looked)
        elif path.is_file():
            yield path
        else:
            raise HarnessError(f"validate: --secrets: {path} {_wrong_with(path)}")


def _wrong_with(path: Path) -> str:
    """Why something that is named is neither a file nor a folder."""
    try:
        path.stat()
    except FileNotFoundError:
        return "is a link to nothing" if path.is_symlink() else "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "is neither a file nor a folder"


def _inside(root: Path, looked: _Looked) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        looked.unreadable.append(_told(Path(error.filename), error))

    for here, folders, files in os.walk(root, onerror=unreadable):
        folder = Path(here)
        if folder != root and (folder.name in LEFT_OUT or _ENVIRONMENT in files):
            looked.folders.append(str(folder))
            folders.clear()
            continue
        folders.sort()
        looked.folders += (str(folder / each) for each in folders if (folder / each).is_symlink())
        for name in sorted(files):
            try:
                if stat.S_ISREG((folder / name).stat().st_mode):
                    yield folder / name
                else:
                    # A pipe or a device, which may never come to an end.
                    looked.special.append(str(folder / name))
            except FileNotFoundError:
                looked.links.append(str(folder / name))
            except OSError as error:
                looked.unreadable.append(_told(folder / name, error))


def findings_in(path: Path, *more: Finder) -> Iterator[tuple[int, list[Finding]]]:
    """What each part of a file holds, with the part's size in bytes on the disk.

    Args:
        path: A text; one whose name ends in ``.gz`` is unpacked. Of JSON Lines each line is a part.
        more: What finds further secrets.

    Raises:
        NotTextError: It is no text.
        OSError: It cannot be read.
        EOFError, zlib.error: It cannot be unpacked.
    """
    lines = path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    number, before = 1, 0
    with path.open("rb") as packed:
        file = gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed
        for text in _texts(cast("IO[bytes]", file), lines=lines):
            look = _in_line if lines else _in_text
            size, before = packed.tell() - before, packed.tell()
            yield size, list(look(path, number, text, more))
            number += text.count("\n")


def _texts(file: IO[bytes], *, lines: bool) -> Iterator[str]:
    """The parts of a file; what is no UTF-8 in them cannot be read, the rest can."""
    parts = file if lines else iter(lambda: b"".join(file.readlines(_PART)), b"")
    for number, raw in enumerate(parts):
        if number == 0 and raw.startswith(_WIDE):
            yield (raw + file.read()).decode("utf-16", "replace")
            return
        if number == 0 and b"\0" in raw[:_HEAD]:
            raise NotTextError
        yield raw.decode("utf-8-sig" if number == 0 else "utf-8", "replace")


def _in_text(path: Path, line: int, text: str, more: Iterable[Finder]) -> Iterator[Finding]:
    for each in find(text, *more):
        yield Finding(str(path), line + text.count("\n", 0, each.start), each.rule)


def _in_line(path: Path, number: int, line: str, more: Iterable[Finder]) -> Iterator[Finding]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        yield from _in_text(path, number, line, more)
        return
    name = data.get("id") if isinstance(data, dict) else None
    if not isinstance(name, str) or find(name, *more):
        name = None
    for rule, at in places(data, *more):
        yield Finding(str(path), number, rule, name, at or None)
