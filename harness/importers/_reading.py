"""Files as records: JSON Lines, JSON documents, lists too large for memory, lines of text.

A broken record is noted at the ``Intake`` and reading goes on behind it, as far as the format lets
one find the next: at the next line of JSON Lines, behind the brackets of an item of a JSON list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._head import head_of
from harness.importers._hints import hint
from harness.importers._intake import Intake
from harness.importers._open import CHUNK_BYTES, UNPACKING, opened
from harness.importers._stream import BrokenOffError, NoListError, split
from harness.text import mended

#: Longest line, and largest single JSON document, that is read. A hostile file must not be
#: able to fill the memory.
MAX_LINE_BYTES = 64 * 2**20
MAX_DOCUMENT_BYTES = 512 * 2**20
_JSON = json.JSONDecoder()
_BLANKS = re.compile(r"[\s\ufeff]+")


def json_lines(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    """Each non-empty line of a JSON Lines file, parsed, with its place.

    A file whose name ends in ``.gz`` is unpacked while it is read. Lines that are too long or no
    JSON are lost; so is all that follows where a packed file breaks off.

    Raises:
        ImportFormatError: The file cannot be read, or no line holds anything; where the import is
            strict, also a line that is lost.
    """
    for place, raw in _raw_lines(path, "JSON Lines", intake):
        try:
            value = json_value(raw, place)
        except ImportFormatError as error:
            intake.note(error)
            continue
        yield place, value


def text_lines(path: Path, expected: str, intake: Intake) -> Iterator[tuple[Place, str]]:
    """Each non-empty line of a text file, with its place; ``expected`` says what it should hold.

    Raises:
        ImportFormatError: As ``json_lines``; a line is lost where it is not UTF-8.
    """
    for place, raw in _raw_lines(path, expected, intake):
        try:
            text = _decoded(raw, place)
        except ImportFormatError as error:
            intake.note(error)
            continue
        yield place, text


def json_document(path: Path, intake: Intake) -> Any:
    """A whole file as one JSON value.

    Raises:
        ImportFormatError: The file cannot be read, is too large, or is not JSON.
    """
    return json_value(_whole(path, intake), Place(path, "document"))


def json_documents(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    """Each JSON document of a file, with its place; they may follow one another, as from ``jq``.

    Raises:
        ImportFormatError: As ``json_document``, of the first; what follows a sound one and is none
            is lost, and refused only where the import is strict.
    """
    place = Place(path, "document")
    text = _decoded(_whole(path, intake), place)
    at, number = _behind_blanks(text, 0), 0
    while at < len(text):
        number += 1
        try:
            value, end = _parsed(text, place, at)
        except ImportFormatError as error:
            if number == 1:
                raise
            problem = str(error).removeprefix(f"{path}: ")
            after = Place(path, f"after document {number - 1}")
            intake.note(after.error(f"the rest of the file cannot be read: {problem}"))
            return
        yield (Place(path, f"document {number}") if number > 1 else place), value
        at = _behind_blanks(text, end)


def _behind_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _whole(path: Path, intake: Intake) -> bytes:
    with opened(path, intake) as file:
        raw = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise ImportFormatError(f"{path}: a file may hold at most {MAX_DOCUMENT_BYTES} bytes")
    if not raw.strip():
        raise ImportFormatError(f"{path}: the file is empty; expected JSON")
    return raw


def json_items(
    path: Path, intake: Intake, *, under: str = "", what: str = "record"
) -> Iterator[tuple[Place, Any]]:
    """Each item of a list in a JSON document, with its place, whatever the size of the file.

    A damaged item is lost; where the document breaks off, so is what follows. Of several documents
    one after another the items are read in their order.

    Args:
        path: The file.
        intake: Learns what is lost.
        under: Key of the list in the document, keys of keys joined by dots; empty where the
            document is the list.
        what: An item in words, for its place.

    Raises:
        ImportFormatError: The file cannot be read or has no such list; where the import is strict,
            also a document that breaks off.
    """
    keys = under.split(".") if under else ()
    number = 0
    with opened(path, intake) as file:
        try:
            for number, raw in enumerate(split(file, keys, MAX_LINE_BYTES), 1):
                place = Place(path, f"{what} {number}")
                try:
                    if raw is None:
                        raise place.error(f"may hold at most {MAX_LINE_BYTES} bytes")
                    value = json_value(raw, place)
                except ImportFormatError as error:
                    intake.note(error)
                    continue
                yield place, value
        except NoListError as error:
            listed = f"a list under {under!r}" if under else "a list"
            raise ImportFormatError(f"{path}: expected {listed}, found {error}") from error
        except BrokenOffError as error:
            after = Place(path, f"after {what} {number}" if number else f"before the first {what}")
            intake.note(after.error(f"the rest of the file cannot be read: {error}"))
            return
    if not number:
        raise ImportFormatError(f"{path}: the list is empty; expected at least one {what}")


def json_records(
    path: Path, intake: Intake, *, what: str = "record"
) -> Iterator[tuple[Place, Any]]:
    """Each record of a file that is JSON Lines, lists, or objects: whichever it is.

    Raises:
        ImportFormatError: As the three it chooses from.
    """
    head = head_of(path)
    if head.kind == "text" and (instead := hint(head)) is not None:
        raise ImportFormatError(f"{path}: {instead}")
    match head.kind:
        case "lines":
            yield from json_lines(path, intake)
        case "list":
            yield from json_items(path, intake, what=what)
        case _:
            yield from json_documents(path, intake)


def _raw_lines(path: Path, expected: str, intake: Intake) -> Iterator[tuple[Place, bytes]]:
    for place, raw, rest in raw_lines(path, expected, intake):
        if rest is None:
            yield place, raw
        else:
            intake.note(place.error(f"a line may hold at most {MAX_LINE_BYTES} bytes"))


def raw_lines(
    path: Path, expected: str, intake: Intake
) -> Iterator[tuple[Place, bytes, Callable[[int], bytes] | None]]:
    """Each non-empty line as it stands; of one that is too long the beginning, and its rest.

    Args:
        path: The file.
        expected: What it should hold, in words.
        intake: Learns where a packed file breaks off.

    Raises:
        ImportFormatError: The file cannot be read, or no line holds anything.
    """
    empty, before = True, intake.broken
    with opened(path, intake) as file:
        number = 0
        while raw := _line(file, Place(path, f"line {number + 1}"), intake, MAX_LINE_BYTES + 1):
            number += 1
            place = Place(path, f"line {number}")
            if len(raw) > MAX_LINE_BYTES:
                empty = False
                rest = _Rest(file, place, intake, raw.endswith(b"\n"))
                yield place, raw, rest.read
                while rest.read(CHUNK_BYTES):
                    pass
            elif raw.strip():
                empty = False
                yield place, raw.rstrip(b"\r\n"), None
    if empty and intake.broken == before:
        raise ImportFormatError(f"{path}: the file is empty; expected {expected}")


class _Rest:
    """What of a line is not read yet."""

    def __init__(self, file: IO[bytes], place: Place, intake: Intake, ended: bool) -> None:
        self._file, self._place, self._intake, self._ended = file, place, intake, ended

    def read(self, size: int) -> bytes:
        """The next bytes of it, none at its end."""
        raw = b"" if self._ended else _line(self._file, self._place, self._intake, size)
        self._ended = not raw or raw.endswith(b"\n")
        return raw


def _line(file: IO[bytes], place: Place, intake: Intake, most: int) -> bytes:
    try:
        return file.readline(most)
    except UNPACKING as error:
        intake.note(place.error(f"the rest of the file cannot be unpacked: {error}"))
        return b""


def json_row(raw: bytes, place: Place) -> list[Any]:
    """The JSON values of a line: most often one, or several one after another.

    Raises:
        ImportFormatError: They are not JSON.
    """
    text = _decoded(raw, place)
    values: list[Any] = []
    at = _behind_blanks(text, 0)
    while at < len(text):
        value, end = _parsed(text, place, at)
        values.append(value)
        at = _behind_blanks(text, end)
    return values


def json_value(raw: bytes, place: Place) -> Any:
    """Bytes as one JSON value.

    Raises:
        ImportFormatError: They are not JSON.
    """
    text = _decoded(raw, place)
    value, _ = _parsed(text, place)
    return value


def _parsed(text: str, place: Place, at: int | None = None) -> tuple[Any, int]:
    """The JSON value that a text is, or the one that begins at a place in it; where it ends."""
    try:
        value, end = (json.loads(text), len(text)) if at is None else _JSON.raw_decode(text, at)
        halves = any(text.find(half, at, end) >= 0 for half in ("\\ud", "\\uD"))
        return (mended(value) if halves else value), end
    except json.JSONDecodeError as error:
        # A line knows its own number; a whole document learns it from the parser.
        where = Place(place.path, f"line {error.lineno}") if place.spot == "document" else place
        raise where.error(f"not JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise place.error("nested too deeply") from error
    except ValueError as error:
        raise place.error("holds an integer of too many digits") from error


def _decoded(raw: bytes, place: Place) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise place.error(f"not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error
