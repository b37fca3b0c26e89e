"""OTLP/JSON that cannot be read as a whole: its sound spans and log records, one by one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._intake import Intake
from harness.importers._open import UNPACKING, opened
from harness.importers._reading import MAX_LINE_BYTES, json_row, json_value, raw_lines
from harness.importers._spans.salvage_json import Piece, Walk

_KEYS = {
    "span": ("resourceSpans", "scopeSpans", "spans"),
    "log": ("resourceLogs", "scopeLogs", "logRecords"),
}


class Ending(NamedTuple):
    """How reading span by span ended.

    Attributes:
        last: Where the last sound span or log record is; ``None`` where there is none.
        whole: Whether the document was read to its own end.
    """

    last: Place | None
    whole: bool


Salvage = Generator[tuple[Place, dict[str, Any]], None, Ending]


def salvaged(path: Path, intake: Intake) -> Salvage:
    """A request for each span and log record of a document; the broken ones are noted.

    Raises:
        ImportFormatError: The file cannot be read; where the import is strict, one is broken.
    """
    with opened(path, intake) as file:

        def read(size: int) -> bytes:
            try:
                return file.read(size)
            except UNPACKING:
                return b""

        return (yield from _apart(read, Place(path, ""), intake))


def lines(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    """Each request of JSON Lines, also where several stand on a line.

    Of a line that is broken or too long, a request for each span and log record.

    Raises:
        ImportFormatError: The file cannot be read, or no line holds anything; where the import is
            strict, also a line or a span that is broken.
    """
    for place, raw, rest in raw_lines(path, "JSON Lines", intake):
        try:
            if rest is not None:
                raise place.error(f"a line may hold at most {MAX_LINE_BYTES} bytes")
            values = json_row(raw, place)
        except ImportFormatError as error:
            before = intake.broken
            last, whole = yield from _apart(_joined(raw, rest), place, intake)
            # Where spans are to blame, these are told of; a line that is long is no loss.
            lost = intake.broken > before or (rest is not None and last is not None)
            if not whole or not lost:
                intake.note(error)
            continue
        for value in values:
            yield place, value


def _joined(raw: bytes, rest: Callable[[int], bytes] | None) -> Callable[[int], bytes]:
    first = BytesIO(raw)
    return lambda size: first.read(size) or (b"" if rest is None else rest(size))


def _apart(read: Callable[[int], bytes], within: Place, intake: Intake) -> Salvage:
    walk = Walk(read, MAX_LINE_BYTES, _sound)
    last = None
    for piece in walk.pieces():
        outer, middle, inner = _KEYS[piece.kind]
        spot = f"resource {piece.group}, {inner} {piece.number}"
        place = within.at(spot) if within.spot else Place(within.path, spot)
        try:
            if piece.raw is None:
                raise place.error(f"may hold at most {MAX_LINE_BYTES} bytes")
            found = {inner: [json_value(piece.raw, place)]}
        except ImportFormatError as error:
            intake.note(error)
            continue
        last = place
        yield place, {outer: [{"resource": _resource(place, piece), middle: [found]}]}
    return Ending(last, walk.whole)


def _sound(raw: bytes) -> bool:
    try:
        json_value(raw, Place(Path(), ""))
    except ImportFormatError:
        return False
    return True


def _resource(place: Place, piece: Piece) -> Any:
    return {} if piece.resource is None else json_value(piece.resource, place)
