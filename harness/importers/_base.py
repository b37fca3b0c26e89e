"""What an importer is, and what all of them need: careful reading and errors with a place.

An importer is a plain module. Its constants say in words what its source can and cannot tell,
because a figure made from recordings is worth only as much as these answers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeVar

from harness.errors import ImportFormatError

T = TypeVar("T")
ExitSource = Literal["explicit", "inferred", "unknown"]

SCHEMA = "harness/scenario@1"

#: Longest line, and largest single JSON document, that is read. A hostile file must not be
#: able to fill the memory.
MAX_LINE_BYTES = 64 * 2**20
MAX_DOCUMENT_BYTES = 512 * 2**20

#: Largest whole number taken as a count or an id: what JSON readers everywhere keep exact.
MAX_COUNT = 2**53

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class ImporterModule(Protocol):
    """The parts of an importer module.

    Attributes:
        NAME: What a user writes: ``harness import NAME FILE``.
        TITLE: The source, in a few words.
        LACKS: What the source does not record, or records only in part.
        TOKENS: The rule by which its token counts became ours.
        ITERATION: Where one iteration ends and the next begins.
        EXIT_REASON: Where the exit reason comes from: explicit, inferred or unknown.
    """

    NAME: str
    TITLE: str
    LACKS: tuple[str, ...]
    TOKENS: str
    ITERATION: str
    EXIT_REASON: str

    def read(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield one scenario (schema ``harness/scenario@1``) for each recording in ``path``.

        Keys whose value is unknown, or would be the schema's default, are left out. Reading is
        lazy, so an error in the middle of a file comes after the recordings before it.

        Raises:
            ImportFormatError: The file cannot be read, is not of this format, or is empty.
        """
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file. Takes values out of a record and says where one is wrong.

    Attributes:
        path: The file.
        spot: The place in it, in words: ``line 3``, ``trajectory 12, message 4``.
    """

    path: Path
    spot: str

    def at(self, spot: str) -> Place:
        """A place within this one."""
        return Place(self.path, f"{self.spot}, {spot}")

    def error(self, problem: str) -> ImportFormatError:
        """The error for a problem at this place, as one line."""
        return ImportFormatError(f"{self.path}: {self.spot}: {problem}")

    def get(self, record: Any, key: str, kind: type[T]) -> T:
        """``record[key]``, which must be there and be a ``kind``.

        Raises:
            ImportFormatError: The record is no object, lacks the key, or holds another type.
        """
        if not isinstance(record, dict):
            raise self.error(f"expected an object with key {key!r}, found {shown(record)}")
        if key not in record:
            keys = ", ".join(map(shown, list(record)[:12])) or "none"
            raise self.error(f"key {key!r} is missing; found keys: {keys}")
        value = record[key]
        # JSON tells booleans from numbers, Python does not.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(f"key {key!r} must be {_KINDS[kind]}, found {shown(value)}")
        return value

    def get_or_none(self, record: Any, key: str, kind: type[T]) -> T | None:
        """Like ``get``, but ``None`` where the key is absent or null."""
        if isinstance(record, dict) and record.get(key) is None:
            return None
        return self.get(record, key, kind)

    def number(self, record: Any, key: str) -> float:
        """``record[key]`` as a finite number.

        Raises:
            ImportFormatError: As ``get``, and for NaN and infinities.
        """
        whole = isinstance(record, dict) and type(record.get(key)) is int
        value = self.get(record, key, int if whole else float)
        if not is_finite(value):
            raise self.error(f"key {key!r} must be a finite number, found {shown(value)}")
        return float(value)

    def count(self, record: Any, key: str) -> int:
        """``record[key]`` as a whole number from 0 to ``MAX_COUNT``."""
        value = self.get(record, key, int)
        if not 0 <= value <= MAX_COUNT:
            raise self.error(f"key {key!r} must be 0 to {MAX_COUNT}, found {shown(value)}")
        return value


_KINDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}


def shown(value: object) -> str:
    """A value in an error message: one line, short, without control characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_finite(value: float) -> bool:
    """Whether ``value`` is a number a float can hold: no NaN, no infinity, no huge integer."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def json_lines(path: Path) -> Iterator[tuple[Place, Any]]:
    """Each non-empty line of a JSON Lines file, parsed, with its place.

    Raises:
        ImportFormatError: The file cannot be opened, a line is too long or is not JSON, or no
            line holds anything.
    """
    empty = True
    with _opened(path) as file:
        number = 0
        while raw := _read(path, file.readline, MAX_LINE_BYTES + 1):
            number += 1
            place = Place(path, f"line {number}")
            if len(raw) > MAX_LINE_BYTES:
                raise place.error(f"a line may hold at most {MAX_LINE_BYTES} bytes")
            if raw.strip():
                empty = False
                yield place, _parsed(raw.rstrip(b"\r\n"), place)
    if empty:
        raise ImportFormatError(f"{path}: the file is empty; expected JSON Lines")


def json_document(path: Path) -> Any:
    """A whole file as one JSON value.

    Raises:
        ImportFormatError: The file cannot be opened, is too large, or is not JSON.
    """
    with _opened(path) as file:
        raw = _read(path, file.read, MAX_DOCUMENT_BYTES + 1)
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise ImportFormatError(f"{path}: a file may hold at most {MAX_DOCUMENT_BYTES} bytes")
    if not raw.strip():
        raise ImportFormatError(f"{path}: the file is empty; expected JSON")
    return _parsed(raw, Place(path, "document"))


def mended(value: Any) -> Any:
    """A JSON value with each half of a surrogate pair replaced.

    An escaped half (``\\ud83d`` alone) is legal JSON that no file or database takes.
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    return value


def spread(total: int, parts: int) -> list[int]:
    """``total`` as ``parts`` whole numbers, as equal as can be, whose sum is exact.

    The first ones get one more where it does not divide.
    """
    share, rest = divmod(total, parts)
    return [share + (index < rest) for index in range(parts)]


def unique(name: str, seen: set[str]) -> str:
    """``name``, or ``name-2``, ``name-3`` ... if it was used before; remembers the answer."""
    candidate, index = name, 1
    while candidate in seen:
        index += 1
        candidate = f"{name}-{index}"
    seen.add(candidate)
    return candidate


def slug(text: str) -> str:
    """``text`` as a part of an id: ASCII letters, digits, dot, dash, underscore; at most 100."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.")[:100] or "unnamed"


def exit_tag(source: ExitSource) -> str:
    """The tag that says how the recorded exit reason is known."""
    return f"exit-reason:{source}"


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be opened: {error.strerror}") from error


def _read(path: Path, reader: Any, limit: int) -> bytes:
    try:
        return bytes(reader(limit))
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error


def _parsed(raw: bytes, place: Place) -> Any:
    try:
        text = raw.decode("utf-8-sig")
        value = json.loads(text)
        return mended(value) if "\\ud" in text.lower() else value
    except UnicodeDecodeError as error:
        raise place.error(f"not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error
    except json.JSONDecodeError as error:
        # A line knows its own number; a whole document learns it from the parser.
        where = (
            place if place.spot.startswith("line ") else Place(place.path, f"line {error.lineno}")
        )
        raise where.error(f"not JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise place.error("nested too deeply") from error
    except ValueError as error:
        raise place.error("holds an integer of too many digits") from error
