"""Text from outside, made fit for files, hashes and databases."""

from __future__ import annotations

import re
from typing import Any

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
