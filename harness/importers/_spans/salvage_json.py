"""Sound spans and log records out of OTLP/JSON that is damaged, broken off or too large a whole.

Only brackets and the keys before them are looked at, so that a damaged span does not take others
along. Where a quote or a bracket is lost or too many, brackets lead astray; then what begins as a
span, a scope or a resource does in the usual order of its keys leads back. Nothing is read twice.
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
_ID = rb'%s_?[iI]d"\s*:\s*"[^"]*"\s*,\s*"'
#: How a resource, a scope and a span begin in the usual order of their keys, by the list that they
#: are in; a link of a span has no name.
_ANCHOR = re.compile(
    rb'\{\s*"(?:(?P<groups>resource"\s*:\s*\{)|(?P<scopes>scope"\s*:\s*\{)|(?P<spans>'
    + _ID % b"trace"
    + _ID % b"span"
    + rb'(?:(?:trace_?[sS]tate|flags)"\s*:\s*(?:"[^"]*"|\d+)\s*,\s*")*'
    + rb'(?:name|parent_?[sS]pan_?[iI]d)"))'
)
#: What is around these, and what they are.
_AROUND = {
    "groups": ("groups",),
    "scopes": ("groups", "group", "scopes"),
    "spans": ("groups", "group", "scopes", "scope", "spans"),
}
_IS = {"groups": "group", "scopes": "scope", "spans": "span"}
#: What stands behind a piece whose brackets can be trusted; no attribute.
_ITEM_GOES_ON = re.compile(rb'\s*(?:,\s*\{\s*"(?!key")|\])')
_GOES_ON = {
    "resource": re.compile(rb'\s*(?:,\s*"|\})'),
    "span": _ITEM_GOES_ON,
    "log": _ITEM_GOES_ON,
}
#: What of a list waits for a resource that stands behind it, in bytes.
_MOST_HELD = 16 * 2**20

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
_LISTS = ("", "groups", "scopes", "spans", "logs", "list")


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


@dataclass(slots=True)
class Walk:
    """A way through a document, with what of it is looked at.

    Attributes:
        read: Gives the next bytes of the document, none at the end.
        most: Longest piece in bytes.
        sound: Whether a piece can be read.
        data: The part that is looked at; all places are in it.
        at: How far it is read.
        roles: What the open brackets are.
        kind: What the piece at hand is; empty between pieces.
        start: Where it begins.
        depth: Brackets open in it.
        mark: Where the next begins that begins as usual; -1 where none is known.
        marked: What list that is in.
        sought: How far it was looked for.
        held: Pieces to hand out, once their resource is known.
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
    mark: int = -1
    marked: str = ""
    sought: int = 0
    group: int = 0
    number: int = 0
    resource: bytes | None = None
    held: list[Piece] = field(default_factory=list)
    held_bytes: int = 0

    def pieces(self) -> Iterator[Piece]:
        """Each span and log record, broken ones too; a resource may stand before or after them."""
        while self._step():
            if self.held:
                yield from self._taken()
        self._flush()
        yield from self._taken()

    @property
    def whole(self) -> bool:
        """Whether the document ended as one does: not within a piece or a list."""
        return not self.kind and not self.roles

    def _step(self) -> bool:
        """Go on to behind the next bracket; whether there is one."""
        self._look()
        found = _STEP.match(self.data, self.at, self.sought if self.mark < 0 else self.mark + 1)
        if found is None:
            # What is marked looks as if it were in a text: a quote is lost.
            return self._beyond() if self.mark < 0 else self._enter()
        before, self.at = self.at, found.end()
        if self.kind:
            return self._enter() if self.at > self.mark >= 0 else self._within(found[1])
        if found[1] in b"[{":
            return self._open(found[1], before, found.end() - 1)
        # A bracket that does not fit the one that is open is one too many.
        fits = self.roles and (found[1] == b"]") == (self.roles[-1] in _LISTS)
        if fits and self.roles.pop() == "group":
            self._flush()
        return True

    def _taken(self) -> list[Piece]:
        """Pieces whose resource is known, or will not be."""
        if self.resource is None and self.held_bytes <= _MOST_HELD:
            return []
        found, self.held, self.held_bytes = self.held, [], 0
        return [replace(piece, resource=self.resource) for piece in found]

    def _flush(self) -> None:
        """The resource of what is held will not come."""
        if self.held:
            self.held_bytes = _MOST_HELD + 1

    def _look(self) -> None:
        """Find what begins next as usual, as far as it can be told from what was read."""
        end = len(self.data) if self.ended else len(self.data) - _MOST_START
        if self.mark >= 0 or self.sought >= end:
            return
        found = _ANCHOR.search(self.data, self.sought)
        if found is None or found.lastgroup is None:
            self.sought = end
        else:
            self.mark, self.marked = found.start(), found.lastgroup

    def _open(self, bracket: bytes, before: int, at: int) -> bool:
        text = self.data[max(before, at - _MOST_KEY) : at]
        key = _KEY.search(text)
        inside = self.roles[-1] if self.roles else ""
        other = "list" if bracket == b"[" else "object"
        role = _WAY.get((inside, key[1].decode("latin-1") if key else "", bracket), other)
        if at == self.mark:
            if role != _IS[self.marked]:
                return self._enter()
            self.mark, self.sought = -1, self.at
        if role in _WHOLE:
            self.kind, self.start, self.depth = role, at, 1
            return True
        if role == "group":
            self.group, self.number, self.resource = self.group + 1, 0, None
        self.roles.append(role)
        return True

    def _within(self, bracket: bytes) -> bool:
        self.depth += 1 if bracket in b"[{" else -1
        if not self.depth:
            # A piece ends with a brace; one that lost it, before the end of its list.
            self.at -= bracket == b"]"
            self._close(self.data[self.start : self.at])
        return True

    def _close(self, raw: bytes) -> None:
        kind, self.kind = self.kind, ""
        if kind == "resource" and self.sound(raw):
            self.resource = raw
        self._hold(kind, raw)
        if self.mark >= 0 and not _GOES_ON[kind].match(self.data, self.at) and not self.sound(raw):
            # It seems to end within a text.
            self._enter()

    def _enter(self) -> bool:
        """Go on with what begins next as usual; a piece that it begins in is cut off there."""
        if self.kind:
            self._hold(self.kind, self.data[self.start : self.mark])
            self.kind = ""
        self.at = self.mark
        outer = self.roles.index("groups") if "groups" in self.roles else len(self.roles)
        self.roles[outer:] = _AROUND[self.marked]
        if self.marked == "groups":
            self._flush()
        return True

    def _beyond(self) -> bool:
        """Read on; what is too long is lost."""
        if self.ended:
            return False
        begun = self.start if self.kind else self.at
        if len(self.data) - begun <= self.most + _MOST_START:
            self._grow(begun)
            return True
        self._hold(self.kind, None)
        self.kind = ""
        while self.mark < 0 and not self.ended:
            self._grow(self.sought)
            self._look()
        return self.mark >= 0 and self._enter()

    def _hold(self, kind: str, raw: bytes | None) -> None:
        if kind in ("", "resource"):
            return
        if raw is not None and len(raw) > self.most:
            raw = None
        self.number += 1
        self.held.append(Piece(kind, self.group, self.number, raw, None))
        self.held_bytes += len(raw or b"")

    def _grow(self, begun: int) -> None:
        """Read on, keeping what stands from a place on."""
        # Twice as much each time, so that a long piece is not copied for every chunk of it.
        more = self.read(max(CHUNK_BYTES, len(self.data) - begun))
        self.ended = not more
        self.data = self.data[begun:] + more
        self.at, self.start = self.at - begun, self.start - begun
        self.sought = max(0, self.sought - begun)
