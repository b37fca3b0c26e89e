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
#: What may stand between documents: white space, and the mark that begins a file of Windows.
_BLANK = b"\xef\xbb\xbf \t\r\n"
_ENDS = "the file ends"
_NAMES = {b"[": "a list", b"{": "an object", b"]": "no JSON", b"}": "no JSON", b"": "no JSON"}


class NoListError(Exception):
    """The document has no list where one was looked for; says what it has."""


class BrokenOffError(Exception):
    """The document ends, or cannot be read, before its list does."""


def split(file: IO[bytes], keys: Sequence[str], most: int) -> Iterator[bytes | None]:
    """Each item of a list in a JSON document as it stands there, whether it is sound or not.

    Items are told apart by their brackets only, so that a damaged one does not take others along
    unless it lost a quote or a bracket of its own. A bracket too many is an item by itself. Where
    further documents follow the first, as appended exports do, their lists are read as its own.

    Args:
        file: The document.
        keys: Under which keys the list stands; none where the document is the list.
        most: Longest item in bytes; a longer one is ``None``.

    Raises:
        NoListError: There is no list under these keys.
        BrokenOffError: The document ends within the list, what follows is longer than ``most``, or
            what stands behind the document is none with such a list.
    """
    window = _Window(file, most)
    _enter(window, keys)
    while True:
        yield from _items(window, most)
        if _goes_on(window):
            yield b"]"
        elif not _another(window, keys):
            return


def _items(window: _Window, most: int) -> Iterator[bytes | None]:
    """The items from here to the end of the list."""
    depth = 0
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
            if depth == 0:
                if stray := window.data[start : step.end() - 1].strip(_BETWEEN):
                    yield stray
                start, given_up = step.end() - 1, False
            depth += 1
            continue
        if depth == 0:
            # No brace ends a list.
            ended = step[1] == b"]"
            if stray := window.data[start : step.end() - ended].strip(_BETWEEN):
                yield stray
            if ended:
                return
            start = step.end()
            continue
        depth -= 1
        if depth == 0:
            whole = window.data[start : step.end()]
            yield None if given_up or len(whole) > most else whole
            start, given_up = step.end(), False


def _goes_on(window: _Window) -> bool:
    """Whether another item follows, so that the bracket that was read did not end the list."""
    before, bracket = window.ahead()
    return bracket in _OPENING and before.strip(b" \t\r\n") == b","


def _another(window: _Window, keys: Sequence[str]) -> bool:
    """Read on to the list of the next document, if there is one.

    Raises:
        BrokenOffError: What stands there is none with such a list.
    """
    depth = len(keys)
    while depth:
        _, bracket = window.ahead()
        if not bracket:
            raise BrokenOffError(window.ended)
        depth += 1 if bracket in _OPENING else -1
        window.skip()
    before, bracket = window.ahead()
    if not bracket and not before.strip(_BLANK):
        if window.ended != _ENDS:
            raise BrokenOffError(window.ended)
        return False
    try:
        _enter(window, keys)
    except NoListError as error:
        lacking = f"the next document has no list under {'.'.join(keys)!r}"
        words = lacking if keys else "something else stands behind the end of the list"
        raise BrokenOffError(words) from error
    return True


def _enter(window: _Window, keys: Sequence[str]) -> None:
    """Read on to behind the bracket that opens the list."""
    sought = [json.dumps(key).encode() for key in keys]
    # Of the brackets that are open, those on the way to the list.
    depth = found = 0
    while found <= len(keys):
        before, bracket = window.ahead()
        if not bracket:
            raise NoListError(_NAMES.get(b"{" if depth else b"", "no JSON"))
        window.skip()
        before = before.rstrip()
        wanted = b"[" if found == len(keys) else b"{"
        if found == 0 and (bracket != wanted or before.strip(_BLANK)):
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


class _Window:
    """The part of a file that is looked at."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self._next = 0
        #: Why there is nothing more; empty as long as there may be.
        self.ended = ""
        self.data = b""
        self.at = 0

    def ahead(self) -> tuple[bytes, bytes]:
        """What stands before the next bracket, and that; without one, all the rest."""
        while (step := _STEP.match(self.data, self.at)) is None:
            if not self.more(self.at):
                return self.data[self.at :], b""
        self._next = step.end()
        return self.data[self.at : step.end() - 1], step[1]

    def skip(self) -> None:
        """Go on behind the bracket that was ahead."""
        self.at = self._next

    def grow(self, start: int) -> int:
        """Read on, keeping what stands from ``start``; its new place, which is the beginning.

        Raises:
            BrokenOffError: There is nothing more.
        """
        if not self.more(start):
            raise BrokenOffError(self.ended)
        return 0

    def more(self, start: int) -> bool:
        """Read on, keeping what stands from ``start``, if there is more."""
        kept = self.data[start:]
        self.data = b""
        if len(kept) > self._most:
            self.ended = f"a record may hold at most {self._most} bytes"
        # Twice as much each time, so that a long record is not looked at for every chunk of it.
        parts, wanted = [kept], max(CHUNK_BYTES, min(len(kept), self._most - len(kept)))
        while wanted > 0 and not self.ended:
            if data := self._read(wanted):
                parts.append(data)
                wanted -= len(data)
        self.data, self.at = b"".join(parts), self.at - start
        return len(parts) > 1

    def _read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read1(size)  # type: ignore[attr-defined]
        except UNPACKING as error:
            self.ended = f"it cannot be unpacked: {error}"
            return b""
        if not data:
            self.ended = _ENDS
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
