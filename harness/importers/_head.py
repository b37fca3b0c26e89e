"""The beginning of a file, by which an importer knows its format."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from harness.errors import ImportFormatError
from harness.importers._intake import Intake
from harness.importers._open import UNPACKING, opened, refuse_endless
from harness.importers._stream import beginning

#: How much of a file is looked at, unpacked.
HEAD_BYTES = 4 * 2**20
#: So many lines of JSON Lines are tried; a damaged first one does not hide the format.
MOST_LINES = 10
#: How many names of a folder or an archive are looked at.
MOST_NAMES = 10_000

Kind = Literal["folder", "zip", "lines", "list", "object", "text", "binary", "empty"]


@dataclass(frozen=True, slots=True)
class Head:
    """What a file looks like.

    Attributes:
        path: The file or folder.
        kind: ``lines`` is JSON Lines, ``list`` and ``object`` a JSON document of that kind.
        first: The first line's value, the first item of a list, or the object; where it is longer
            than ``HEAD_BYTES`` it has what stands before that. ``None`` where nothing is JSON.
        text: The beginning as text, for formats that are no JSON.
        names: Files in a folder or an archive, by their path in it.
    """

    path: Path
    kind: Kind
    first: Any = None
    text: str = ""
    names: tuple[str, ...] = ()

    def has(self, *keys: str) -> bool:
        """Whether the first record is an object with all these keys."""
        return isinstance(self.first, dict) and all(key in self.first for key in keys)

    def get(self, *keys: str) -> Any:
        """A value within the first record, by its keys; ``None`` where there is none."""
        value = self.first
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value


def head_of(path: Path) -> Head:
    """Look at the beginning of ``path``.

    Raises:
        ImportFormatError: It cannot be read.
    """
    refuse_endless(path)
    try:
        if path.is_dir():
            names = (str(p.relative_to(path)) for p in sorted(path.rglob("*")) if p.is_file())
            return Head(path, "folder", names=tuple(islice(names, MOST_NAMES)))
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return Head(path, "zip", names=tuple(archive.namelist()[:MOST_NAMES]))
    except zipfile.BadZipFile as error:
        raise ImportFormatError(f"{path}: cannot be unpacked: {error}") from error
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error
    with opened(path, Intake()) as file:
        return _head(path, _start(file))


def _start(file: IO[bytes]) -> bytes:
    """The first ``HEAD_BYTES``; less where a packed file breaks off before that."""
    parts: list[bytes] = []
    wanted = HEAD_BYTES
    try:
        while wanted > 0 and (data := file.read1(wanted)):  # type: ignore[attr-defined]
            parts.append(data)
            wanted -= len(data)
    except UNPACKING:
        if not parts:
            raise
    return b"".join(parts)


def _sound(body: bytes) -> Any:
    """What the first of the first lines holds that is JSON; ``None`` where none is."""
    lines = (beginning(line.lstrip()) for line in body.split(b"\n", MOST_LINES)[:MOST_LINES])
    return next((value for value, whole in lines if whole), None)


def _lines(path: Path, first: Any, text: str) -> Head:
    """JSON Lines; where a line is a list of records, as pages are, and no chat, lists in a row."""
    item = first[0] if isinstance(first, list) and first else None
    if isinstance(item, dict) and "role" not in item:
        return Head(path, "list", item, text)
    return Head(path, "lines", first, text)


def _head(path: Path, raw: bytes) -> Head:
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    body = raw.lstrip()
    if not body:
        return Head(path, "empty")
    named = path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    line, _, rest = body.partition(b"\n")
    value, whole = beginning(line)
    # A file system that lost what was written last leaves zeros in its place. What begins with
    # a key or an item is JSON nonetheless.
    if (
        b"\0" in raw[:8192]
        and not whole
        and not (beginning(body.partition(b"\0")[0])[0] or (named and _sound(body) is not None))
    ):
        return Head(path, "binary")
    text = raw[:65536].decode("utf-8", "replace")
    # A bracket alone is how a document begins that was laid out over lines.
    if named and line.strip() not in (b"[", b"{"):
        first = _sound(body)
        if first is None and not beginning(body)[1]:
            first = value
        if first is not None:
            return _lines(path, first, text)
    elif whole and rest.strip():
        return _lines(path, value, text)
    value, _ = beginning(body)
    if isinstance(value, list):
        return Head(path, "list", value[0] if value else None, text)
    kind: Kind = "object" if isinstance(value, dict) else "text"
    return Head(path, kind, value, text)
