"""Sound spans out of protobuf that is damaged, broken off, or one message too large for memory.

Lengths lead through protobuf from the outside in, so that one wrong byte hides all that is behind
it. A span shows by itself: it begins with an id of 16 bytes and one of 8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from harness.importers._open import CHUNK_BYTES

T = TypeVar("T")

_LENGTH = rb"([\x80-\xff]{0,4}[\x00-\x7f])"
#: A resource with its first attribute at the beginning of what it made, or a span.
_START = re.compile(
    rb"\x0a" + _LENGTH + rb"\x0a" + _LENGTH + rb"\x0a" + _LENGTH + rb"\x0a" + _LENGTH + rb"[ -~]"
    rb"|\x12" + _LENGTH + rb"\x0a\x10.{16}\x12\x08",
    re.DOTALL,
)  # fmt: skip
_RESOURCE, _SPAN = 2, 5
#: The longest such beginning.
_MOST_START = 64
#: So often what holds no sound span may be read again from its second byte on.
_MOST_TRIES = 8


def salvaged(
    read: Callable[[int], bytes], most: int, resource: Callable[[bytes], bool],
    span: Callable[[bytes], T | None],
) -> Iterator[T | None]:  # fmt: skip
    """What can be made of each span; ``None`` for one that is broken.

    Args:
        read: Gives the next bytes, none at the end.
        most: Longest span in bytes.
        resource: Told of what may be a resource; spans behind it are its own. Says if it is one.
        span: Makes something of a span; ``None`` if it is none.
    """
    data, at, ended, left = b"", 0, False, _MOST_TRIES * most
    while left > 0:
        found = _START.search(data, at)
        wanted = CHUNK_BYTES
        if found is not None:
            kind = _SPAN if found[_SPAN] is not None else _RESOURCE
            begin = found.end(kind)
            end = begin + _length(found[kind])
            if end <= len(data):
                body = data[begin:end]
                made = span(body) if kind == _SPAN else None
                sound = made is not None if kind == _SPAN else resource(body)
                if kind == _SPAN:
                    yield made
                at = end if sound else found.start() + 1
                left -= 0 if sound else len(body)
                continue
            if ended or end - begin > most:
                # What ends behind the end is told of as the end.
                if kind == _SPAN and not ended:
                    yield None
                at = found.start() + 1
                continue
            wanted = max(wanted, end - len(data))
        elif ended:
            return
        data = data[max(at, len(data) - _MOST_START) if found is None else found.start() :]
        more = read(wanted)
        data, at, ended = data + more, 0, not more


def _length(raw: bytes) -> int:
    return sum((byte & 0x7F) << (7 * at) for at, byte in enumerate(raw))
