"""OTLP requests in a file of protobuf, read one resource at a time.

Of a resource that is damaged, or too large to be read at once, spans are read one by one.

The Collector's file exporter writes each message behind its length in 4 bytes; other tools write
the length as protobuf itself does, or one message and no length. Which it is shows at the start:
a message begins with its first resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._intake import Intake
from harness.importers._open import UNPACKING, opened
from harness.importers._spans.salvage_protobuf import salvaged

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
            except _TooLongError as error:
                stream.back()
                yield from _spans(place, stream.within(error.left), intake)
                if not stream.short:
                    continue
                intake.note(place.error(f"the rest of the file cannot be read: {error}"))
                return
            except (*UNPACKING, ValueError) as error:
                stream.back()
                yield from _spans(place, stream.rest, intake)
                intake.note(place.error(f"the rest of the file cannot be read: {error}"))
                return
            if raw is None:
                return
            try:
                request = _request(raw)
            except ValueError as error:
                problem = f"is no ExportTraceServiceRequest: {error}"
                if _goes_on(stream, framing):
                    yield from _spans(place, BytesIO(raw).read, intake)
                    intake.note(place.error(problem))
                    continue
                # It lacks bytes or has too many, so that its length leads nowhere.
                stream.back()
                yield from _spans(place, stream.rest, intake)
                intake.note(place.error(f"{problem}; from it on spans are read one by one"))
                return
            yield place, request


def _request(raw: bytes) -> Any:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        return ExportTraceServiceRequest.FromString(raw)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _goes_on(stream: _Stream, framing: str) -> bool:
    """Whether a message that can be read comes next, or the end; it is still to be taken."""
    broken = stream.taken
    try:
        raw = stream.message(framing)
        sound = raw is None or any(
            scope.spans for group in _request(raw).resource_spans for scope in group.scope_spans
        )
    except (*UNPACKING, ValueError):
        sound = False
    stream.back()
    stream.taken = broken
    return sound


def _spans(
    place: Place, read: Callable[[int], bytes], intake: Intake
) -> Iterator[tuple[Place, Any]]:
    """Each sound span, as a request of its own."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

    known = Resource()

    def resource(raw: bytes) -> bool:
        nonlocal known
        try:
            known = Resource.FromString(raw)
        except DecodeError:
            return False
        return True

    def span(raw: bytes) -> Any:
        try:
            return Span.FromString(raw)
        except DecodeError:
            return None

    def bounded(size: int) -> bytes:
        try:
            return read(size)
        except UNPACKING:
            return b""

    for number, made in enumerate(salvaged(bounded, MAX_BYTES, resource, span), 1):
        spot = place.at(f"span {number}")
        if made is None:
            intake.note(spot.error("is damaged, or not whole"))
            continue
        request = ExportTraceServiceRequest()
        group = request.resource_spans.add(scope_spans=[ScopeSpans(spans=[made])])
        group.resource.CopyFrom(known)
        yield spot, request


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


class _TooLongError(ValueError):
    """A message is too long to be read at once."""

    def __init__(self, length: int, left: int) -> None:
        super().__init__(f"a message of {length} bytes is longer than the file")
        self.left = left


class _Stream:
    """Messages taken from a file one after another.

    Attributes:
        short: The file ended within the message that was read last.
        taken: What was read of the last message, its length too.
    """

    def __init__(self, file: IO[bytes], start: bytes) -> None:
        self._file = file
        self._start = start
        self.short = False
        self.taken: list[bytes] = []

    def message(self, framing: str) -> bytes | None:
        """The next message; ``None`` at the end.

        Raises:
            ValueError: The file ends within it, or it is too long.
        """
        self.taken = []
        if (length := self._length(framing)) is None:
            return None
        if length > MAX_BYTES:
            raise _TooLongError(length, sum(map(len, self.taken)) + length)
        body = self._take(length)
        if len(body) < length:
            raise ValueError("it ends within a message")
        if framing == "none":
            # The tag and the length belong to it.
            body = b"".join(self.taken)
            self.taken = [body]
        return body

    def back(self) -> None:
        """The last message is still to be read."""
        self._start = b"".join([*self.taken, self._start])
        self.taken = []

    def rest(self, size: int) -> bytes:
        """The next bytes from the message on that could not be read."""
        taken, self._start = self._start, b""
        return taken or self._file.read(size)

    def within(self, left: int) -> Callable[[int], bytes]:
        """The same for a message that is too long, up to its end."""

        def read(size: int) -> bytes:
            nonlocal left
            raw = self._read(min(size, left)) if left else b""
            left -= len(raw)
            self.short = left > 0 and not raw
            return raw

        return read

    def _length(self, framing: str) -> int | None:
        if framing == "fixed":
            raw = self._take(4)
            return int.from_bytes(raw, "big") if raw else None
        tag = self._take(1) if framing == "none" else b""
        if framing == "none" and not tag:
            return None
        raw = self._varint()
        if tag and tag[0] != _FIRST:
            raise ValueError(f"expected a resource, found the tag {tag[0]:#04x}")
        return _varint(raw, 0)[0] if raw or tag else None

    def _varint(self) -> bytes:
        raw = b""
        while byte := self._take(1):
            raw += byte
            if byte[0] < 0x80:
                return raw
            if len(raw) == 5:
                raise ValueError("a length has too many bytes")
        if raw:
            raise ValueError("it ends within a length")
        return raw

    def _take(self, size: int) -> bytes:
        raw = self._read(size)
        self.taken.append(raw)
        return raw

    def _read(self, size: int) -> bytes:
        taken, self._start = self._start[:size], self._start[size:]
        return taken if len(taken) == size else taken + self._file.read(size - len(taken))
