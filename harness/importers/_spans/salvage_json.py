"""Sound spans and log records out of OTLP/JSON that is damaged, broken off or too large a whole.

Only brackets and the keys before them are looked at, so that a damaged span does not take others
along. One that lost a quote or a bracket does, up to the next that begins as spans do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from harness.importers._open import CHUNK_BYTES

#: The next bracket that is not within a text, and the key before it. Nothing is tried twice.
_STEP = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}])', re.DOTALL)
_KEY = re.compile(rb'"(\w+)"\s*:\s*$')
_MOST_KEY = 100
#: The longest beginning of a span.
_MOST_START = 1000
_OPENING = (b"[", b"{")
_ID = rb'\s*"%s_?[iI]d"\s*:\s*"[^"]*"\s*,'
#: How a resource, a scope and a span begin in the usual order of their keys, by the list that they
#: are in; a link of a span has no name.
_ANCHOR = re.compile(
    rb'(?P<groups>\{\s*"resource"\s*:\s*\{)|(?P<scopes>\{\s*"scope"\s*:\s*\{)|(?P<spans>\{'
    + _ID % b"trace"
    + _ID % b"span"
    + rb'\s*(?:"(?:trace_?[sS]tate|flags)"\s*:\s*(?:"[^"]*"|\d+)\s*,\s*)*'
    + rb'"(?:name|parent_?[sS]pan_?[iI]d)")'
)
#: What is around these.
_AROUND = {
    "groups": ("groups",),
    "scopes": ("groups", "group", "scopes"),
    "spans": ("groups", "group", "scopes", "scope", "spans"),
}
#: What of a list waits for a resource that stands behind it, in bytes.
_MOST_HELD = 16 * 2**20
#: So often what holds no sound item may be read again from behind its beginning.
_MOST_TRIES = 8

#: What a bracket opens, by what it is in and the key before it.
_WAY = {
    ("", "", b"["): "",
    ("", "", b"{"): "request",
    ("group", "resource", b"{"): "resource",
    **{("request", key, b"["): "groups" for key in (
        "resourceSpans", "resource_spans", "resourceLogs", "resource_logs")},
    ("groups", "", b"{"): "group",
    **{("group", key, b"["): "scopes" for key in (
        "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")},
    ("scopes", "", b"{"): "scope",
    ("scope", "spans", b"["): "spans",
    **{("scope", key, b"["): "logs" for key in ("logRecords", "log_records")},
    ("spans", "", b"{"): "span",
    ("logs", "", b"{"): "log",
}  # fmt: skip
_WHOLE = ("resource", "span", "log")
#: What stands for a piece that another one begins in.
_CUT = b"{"


@dataclass(frozen=True, slots=True)
class Piece:
    """A span or log record as it stands in the document.

    Attributes:
        kind: ``span`` or ``log``.
        group: Number of its resource in the document, from 1.
        number: Its own among those of the resource, from 1.
        raw: ``None`` where it is too long.
        resource: Its resource; ``None`` where none was seen.
    """

    kind: str
    group: int
    number: int
    raw: bytes | None
    resource: bytes | None


def pieces(
    read: Callable[[int], bytes], most: int, sound: Callable[[bytes], bool]
) -> Iterator[Piece]:
    """Each span and log record, broken ones too; a resource may stand before or after them.

    Args:
        read: Gives the next bytes of the document, none at the end.
        most: Longest piece in bytes.
        sound: Whether a piece can be read.
    """
    walk = _Walk(read, most, sound)
    while walk.step():
        yield from walk.taken()
    walk.flush()
    yield from walk.taken()


@dataclass(slots=True)
class _Walk:
    """A way through a document, with what of it is looked at.

    Attributes:
        roles: What the open brackets are.
        kind: What the piece at hand is; empty between pieces.
        start: Where it begins.
        depth: Brackets open in it.
        held: Pieces to hand out, once their resource is known.
        tried: Bytes that were read for pieces that are broken.
    """

    read: Callable[[int], bytes]
    most: int
    sound: Callable[[bytes], bool]
    data: bytes = b""
    at: int = 0
    ended: bool = False
    roles: list[str] = field(default_factory=list)
    kind: str = ""
    start: int = 0
    depth: int = 0
    group: int = 0
    number: int = 0
    resource: bytes | None = None
    held: list[Piece] = field(default_factory=list)
    held_bytes: int = 0
    tried: int = 0

    def step(self) -> bool:
        """Go on to behind the next bracket; whether there is one."""
        found = _STEP.match(self.data, self.at)
        if found is None:
            return self._beyond()
        before, self.at = self.at, found.end()
        opens = found[1] in _OPENING
        if self.kind:
            self.depth += 1 if opens else -1
            if not self.depth:
                self._close(self.data[self.start : self.at])
        elif opens:
            self._open(found[1], before, found.end() - 1)
        elif self.roles and self.roles.pop() == "group":
            self.flush()
        return True

    def taken(self) -> list[Piece]:
        """Pieces whose resource is known, or will not be."""
        if self.resource is None and self.held_bytes <= _MOST_HELD:
            return []
        found, self.held, self.held_bytes = self.held, [], 0
        return [replace(piece, resource=self.resource) for piece in found]

    def flush(self) -> None:
        """The resource of what is held will not come."""
        self.held_bytes = _MOST_HELD + 1

    def _open(self, bracket: bytes, before: int, at: int) -> None:
        text = self.data[max(before, at - _MOST_KEY) : at]
        key = _KEY.search(text)
        inside = self.roles[-1] if self.roles else ""
        role = _WAY.get((inside, key[1].decode("latin-1") if key else "", bracket), "other")
        if role in _WHOLE:
            self.kind, self.start, self.depth = role, at, 1
            return
        if role == "group":
            self.group, self.number, self.resource = self.group + 1, 0, None
        self.roles.append(role)

    def _close(self, raw: bytes) -> None:
        self._hold(self.kind, raw)
        if not self.sound(raw):
            self._lost(self.at)
        elif self.kind == "resource":
            self.resource = raw
        self.kind = ""

    def _beyond(self) -> bool:
        """Read on; what is too long, or not whole at the end, is lost."""
        kind, begun = self.kind, self.start if self.kind else self.at
        if len(self.data) - begun <= self.most and self._grow(begun):
            return True
        ended, found = self.ended, bool(kind) and self._lost(len(self.data))
        self.kind = ""
        if found or not ended:
            self._hold(kind, _CUT if ended else None)
        # What is cut off is told of as the end of the file.
        return found or (not ended and self._seek())

    def _lost(self, end: int) -> bool:
        """Go on with what begins behind the beginning of the piece at hand, if anything does.

        Where it ends cannot be trusted. If nothing begins as usual, its brackets must do.
        """
        self.tried += end - self.start
        if self.tried > _MOST_TRIES * self.most:
            return False
        self._grow(self.start)
        return self._go_on(self.start + 1)

    def _seek(self) -> bool:
        """Go on with what begins next, and keep nothing of what lies before it."""
        while self._grow(max(0, len(self.data) - _MOST_START)):
            if self._go_on(0):
                return True
        return False

    def _go_on(self, at: int) -> bool:
        found = _ANCHOR.search(self.data, at)
        if found is None or found.lastgroup is None:
            return False
        self.at = found.start()
        outer = self.roles.index("groups") if "groups" in self.roles else len(self.roles)
        self.roles[outer:] = _AROUND[found.lastgroup]
        if found.lastgroup == "groups":
            self.flush()
        return True

    def _hold(self, kind: str, raw: bytes | None) -> None:
        if kind in ("", "resource"):
            return
        self.number += 1
        self.held.append(Piece(kind, self.group, self.number, raw, None))
        self.held_bytes += len(raw or b"")

    def _grow(self, begun: int) -> bool:
        more = b"" if self.ended else self.read(max(CHUNK_BYTES, len(self.data) - begun))
        self.ended = not more
        self.data, self.at, self.start = self.data[begun:] + more, self.at - begun, 0
        return bool(more)
