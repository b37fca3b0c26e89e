"""OTLP/JSON that cannot be read as a whole: its sound spans and log records, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._intake import Intake
from harness.importers._open import UNPACKING, opened
from harness.importers._reading import MAX_LINE_BYTES, json_value
from harness.importers._spans.salvage_json import Piece, pieces

_KEYS = {
    "span": ("resourceSpans", "scopeSpans", "spans"),
    "log": ("resourceLogs", "scopeLogs", "logRecords"),
}


def salvaged(path: Path, intake: Intake) -> Iterator[tuple[Place, dict[str, Any]]]:
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

        for piece in pieces(read, MAX_LINE_BYTES, _sound):
            outer, middle, inner = _KEYS[piece.kind]
            place = Place(path, f"resource {piece.group}, {inner} {piece.number}")
            try:
                if piece.raw is None:
                    raise place.error(f"may hold at most {MAX_LINE_BYTES} bytes")
                found = {inner: [json_value(piece.raw, place)]}
            except ImportFormatError as error:
                intake.note(error)
                continue
            yield place, {outer: [{"resource": _resource(place, piece), middle: [found]}]}


def _sound(raw: bytes) -> bool:
    try:
        json_value(raw, Place(Path(), ""))
    except ImportFormatError:
        return False
    return True


def _resource(place: Place, piece: Piece) -> Any:
    try:
        return {} if piece.resource is None else json_value(piece.resource, place)
    except ImportFormatError:
        # What is left of it names no conversation; the spans are worth more.
        return {}
