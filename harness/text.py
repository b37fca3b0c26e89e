"""Text from outside, made fit for files, hashes and databases."""

from __future__ import annotations

import re
from typing import Any

#: Control characters, and what turns, hides or breaks text: marks of direction, characters
#: without width, line separators, lone surrogates, tags.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def mended(value: Any) -> Any:
    """A value with each lone half of a surrogate pair replaced.

    Such a half, written as an escape, is legal JSON that no file, hash or database takes.
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    return value


def inert(text: str) -> str:
    """Text whose control characters are shown as code points."""
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
