"""JSON taken apart while it is read, for documents too large for memory, damaged or broken off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any

import ijson

from harness.importers._open import CHUNK_BYTES, UNPACKING

#: The next bracket that is not within a text, and all that stands before it. Nothing in it is
#: tried twice, whatever the file.
_STEP = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}])', re.DOTALL)
_OPENING = (b"[", b"{")
_BETWEEN = b", \t\r\n"
_NAMES = {b"[": "a list", b"{": "an object", b"]": "no JSON", b"}": "no JSON", b"": "no JSON"}


class NoListError(Exception):
    """The document has no list where one was looked for; says what it has."""


class BrokenOffError(Exception):
    """The document ends, or cannot be read, before its list does."""


def split(file: IO[bytes], keys: Sequence[str], most: int) -> Iterator[bytes | None]:
    """Each item of a list in a JSON document as it stands there, whether it is sound or not.

    Items are told apart by their brackets only, so that a damaged one does not take others along
    unless it lost a quote or a bracket of its own.

    Args:
        file: The document.
        keys: Under which keys the list stands; none where the document is the list.
        most: Longest item in bytes; a longer one is ``None``.

    Raises:
        NoListError: There is no list under these keys.
        BrokenOffError: The document ends within the list, or what follows is longer than ``most``.
    """
    window = _Window(file, most)
    depth = _enter(window, keys)
    level = depth
    # Where the item at hand begins; it is given up once it is too long.
    start, given_up = window.at, False
    while True:
        if (step := _STEP.match(window.data, window.at)) is None:
            if window.at - start > most:
                start, given_up = window.at, True
            start = window.grow(start)
            continue
        window.at = step.end()
        if step[1] in _OPENING:
            if depth == level:
                if stray := window.data[start : step.end() - 1].strip(_BETWEEN):
                    yield stray
                start, given_up = step.end() - 1, False
            depth += 1
            continue
        depth -= 1
        if depth < level:
            if stray := window.data[start : step.end() - 1].strip(_BETWEEN):
                yield stray
            return
        if depth == level:
            whole = window.data[start : step.end()]
            yield None if given_up or len(whole) > most else whole
            start, given_up = step.end(), False


def _enter(window: _Window, keys: Sequence[str]) -> int:
    """Read on to behind the bracket that opens the list; how many are open there."""
    sought = [json.dumps(key).encode() for key in keys]
    # Of the brackets that are open, those on the way to the list.
    depth = found = 0
    while found <= len(keys):
        if (step := _STEP.match(window.data, window.at)) is None:
            if not window.more(window.at):
                raise NoListError(_NAMES.get(b"{" if depth else b"", "no JSON"))
            continue
        before = window.data[window.at : step.end() - 1].rstrip()
        bracket, window.at = step[1], step.end()
        wanted = b"[" if found == len(keys) else b"{"
        if found == 0 and (bracket != wanted or before.strip(b"\xef\xbb\xbf \t\r\n")):
            raise NoListError(_NAMES[b"" if before else bracket])
        if bracket not in _OPENING:
            depth -= 1
            if depth < found:
                raise NoListError(f"none under {keys[found - 1]!r}")
            continue
        if depth == found and bracket == wanted:
            key = before.removesuffix(b":").rstrip()
            found += found == 0 or key.endswith(sought[found - 1])
        depth += 1
    return depth


class _Window:
    """The part of a file that is looked at."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self._ended: str | None = None
        self.data = b""
        self.at = 0

    def grow(self, start: int) -> int:
        """Read on, keeping what stands from ``start``; its new place, which is the beginning.

        Raises:
            BrokenOffError: There is nothing more.
        """
        if not self.more(start):
            raise BrokenOffError(self._ended or "the file ends")
        return 0

    def more(self, start: int) -> bool:
        """Read on, keeping what stands from ``start``, if there is more."""
        kept = self.data[start:]
        self.data = b""
        if len(kept) > self._most:
            self._ended = f"a record may hold at most {self._most} bytes"
        # Twice as much each time, so that a long record is not looked at for every chunk of it.
        parts, wanted = [kept], max(CHUNK_BYTES, min(len(kept), self._most - len(kept)))
        while wanted > 0 and self._ended is None:
            if data := self._read(wanted):
                parts.append(data)
                wanted -= len(data)
        self.data, self.at = b"".join(parts), self.at - start
        return len(parts) > 1

    def _read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read1(size)  # type: ignore[attr-defined]
        except UNPACKING as error:
            self._ended = f"it cannot be unpacked: {error}"
            return b""
        if not data:
            self._ended = "the file ends"
        return data


def beginning(raw: bytes) -> tuple[Any, bool]:
    """A JSON list or object as far as ``raw`` goes, and whether that is to its end."""
    if raw[:1] not in (b"{", b"["):
        return None, False
    try:
        return json.loads(raw), True
    except (ValueError, RecursionError):
        pass
    builder = ijson.ObjectBuilder()
    try:
        for event, value in ijson.basic_parse(raw, use_float=True):
            builder.event(event, value)
    except (ijson.JSONError, UnicodeDecodeError):
        # It breaks off where the head ends, or is no JSON from here on.
        pass
    return getattr(builder, "value", None), False
