"""OTLP requests in a file of protobuf, read one resource at a time.

The Collector's file exporter writes each message behind its length in 4 bytes; other tools write
the length as protobuf itself does, or one message and no length. Which it is shows at the start:
a message begins with its first resource.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._intake import Intake
from harness.importers._open import UNPACKING, opened

#: Longest message, or resource of one.
MAX_BYTES = 64 * 2**20

#: Field 1, with a length: the resources of a request, and of a resource its attributes.
_FIRST = 0x0A
#: What a resource may begin with: its attributes, its scopes, its schema's address.
_WITHIN = (0x0A, 0x12, 0x1A)


def is_request(path: Path) -> bool:
    """Whether a file begins as a request, or as the length of one and then the request."""
    with opened(path, Intake()) as file:
        try:
            return _framing(file.read(32)) is not None
        except UNPACKING:
            return False


def requests(path: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    """Each message of a file, with its place; one without a length resource by resource.

    Raises:
        ImportFormatError: The file does not begin as a request; where the import is strict, also
            a message that is broken.
    """
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with opened(path, intake) as file:
        start = file.read(32)
        framing = _framing(start)
        if framing is None:
            raise ImportFormatError(
                f"{path}: is neither OTLP/JSON nor an ExportTraceServiceRequest of protobuf"
            )
        stream = _Stream(file, start)
        number = 0
        while True:
            number += 1
            place = Place(path, f"message {number}")
            try:
                raw = stream.message(framing)
                if raw is None:
                    return
                request = ExportTraceServiceRequest.FromString(raw)
            except DecodeError as error:
                intake.note(place.error(f"is no ExportTraceServiceRequest: {error}"))
                continue
            except (*UNPACKING, ValueError) as error:
                intake.note(place.error(f"the rest of the file cannot be read: {error}"))
                return
            yield place, request


def _framing(start: bytes) -> str | None:
    """``fixed``, ``varint`` or ``none``: how the lengths of messages are written."""
    if len(start) >= 6 and start[4] == _FIRST and _sound(start, 4):
        length = int.from_bytes(start[:4], "big")
        if 0 < length <= MAX_BYTES:
            return "fixed"
    if _sound(start, 0):
        return "none"
    length, at = _varint(start, 0)
    return "varint" if length and at and _sound(start, at) else None


def _sound(start: bytes, at: int) -> bool:
    """Whether a request begins at ``at``."""
    if len(start) <= at or start[at] != _FIRST:
        return False
    length, inner = _varint(start, at + 1)
    return bool(length) and inner < len(start) and start[inner] in _WITHIN


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as protobuf writes it, and where it ends; two zeros where none is whole."""
    value = 0
    for shift, byte in enumerate(data[at : at + 5]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    return 0, 0


class _Stream:
    """Messages taken from a file one after another."""

    def __init__(self, file: IO[bytes], start: bytes) -> None:
        self._file = file
        self._start = start

    def message(self, framing: str) -> bytes | None:
        """The next message; ``None`` at the end.

        Raises:
            ValueError: The file ends within it, or it is too long.
        """
        head = b""
        if framing == "none":
            if (tag := self._read(1)) != b"":
                head = tag + self._length_bytes()
                if tag[0] != _FIRST:
                    raise ValueError(f"expected a resource, found the tag {tag[0]:#04x}")
                length, _ = _varint(head, 1)
            else:
                return None
        elif framing == "varint":
            if not (raw := self._length_bytes()):
                return None
            length, _ = _varint(raw, 0)
        else:
            if not (raw := self._read(4)):
                return None
            length = int.from_bytes(raw, "big")
        if length > MAX_BYTES:
            raise ValueError(f"a message of {length} bytes is longer than {MAX_BYTES}")
        body = self._read(length)
        if len(body) < length:
            raise ValueError("it ends within a message")
        return head + body

    def _length_bytes(self) -> bytes:
        raw = b""
        while byte := self._read(1):
            raw += byte
            if byte[0] < 0x80:
                return raw
            if len(raw) == 5:
                raise ValueError("a length has too many bytes")
        if raw:
            raise ValueError("it ends within a length")
        return raw

    def _read(self, size: int) -> bytes:
        taken, self._start = self._start[:size], self._start[size:]
        return taken if len(taken) == size else taken + self._file.read(size - len(taken))
