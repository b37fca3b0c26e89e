"""Where values stand in a text, so that one of them can be changed and nothing else moves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Span:
    """A value's place: ``text[start:end]``.

    Attributes:
        members: Of a mapping: by key, the spans of key and value, in the order of the text.
        flow: A mapping between braces; otherwise its members stand one below the other.
        column: Where its first member begins (only asked of mappings that are no flow).
    """

    start: int
    end: int
    mapping: bool = False
    flow: bool = True
    column: int = 0
    members: Mapping[str, tuple[Span, Span]] = field(default_factory=dict)


def json_spans(text: str, at: int = 0) -> Span:
    """Spans of the JSON value at ``at``; of valid JSON only.

    Mappings are walked through, lists are not: nothing is changed inside them.
    """
    at = _skip(text, at)
    if text[at] != "{":
        return Span(at, _DECODER.raw_decode(text, at)[1])
    start, members = at, {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value = json_spans(text, _skip(text, end) + 1)
        members[str(key)] = (Span(at, end), value)
        at = _skip(text, value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Span(start, at + 1, mapping=True, members=members)


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
