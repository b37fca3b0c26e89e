"""Placeholders of secrets in a file that is always the same."""

from __future__ import annotations

import re
from typing import Any

_SECRET = re.compile(r"\[redacted (\w+) ([a-z]{6})\]")


def renumbered(value: Any) -> Any:
    """Placeholders of secrets, numbered in the order of their appearance.

    ``harness.redact`` draws them anew each time; the same recording has to give the same file.
    """
    known: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        if match[0] not in known:
            number = len(known)
            letters = "".join(
                chr(ord("a") + number // 26**place % 26) for place in range(5, -1, -1)
            )
            known[match[0]] = f"[redacted {match[1]} {letters}]"
        return known[match[0]]

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return _SECRET.sub(other, item)
        if isinstance(item, list):
            return [walk(part) for part in item]
        if isinstance(item, dict):
            return {walk(name): walk(part) for name, part in item.items()}
        return item

    return walk(value)
