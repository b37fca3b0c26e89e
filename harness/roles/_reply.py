"""Reading a role's reply: one JSON object, strictly, with the fields that the role declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.judge import ParseFailure, extract

#: What a field may be.
BOOLEAN, TEXT, TEXTS, NUMBER, COUNT = "boolean", "text", "texts", "number", "count"


def read(reply: str, fields: Mapping[str, tuple[str, bool]]) -> dict[str, Any]:
    """Parse a reply.

    Args:
        reply: Its raw text.
        fields: For each field what it may be, and whether it is required; others are ignored.

    Raises:
        ParseFailure: No single JSON object, a required field missing, or a wrong type.
    """
    data = extract(reply)
    found: dict[str, Any] = {}
    for name, (kind, required) in fields.items():
        value = data.get(name)
        if value is None:
            if required:
                raise ParseFailure(f"required field {name!r} is missing")
            continue
        if not _fits(value, kind):
            raise ParseFailure(f"{name!r} is no {kind}: {value!r:.40}")
        found[name] = value
    return found


def _fits(value: Any, kind: str) -> bool:
    if kind == BOOLEAN:
        return isinstance(value, bool)
    if kind == TEXT:
        return isinstance(value, str)
    if kind == TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) and value >= 0 if kind == COUNT else 0 <= value <= 1
