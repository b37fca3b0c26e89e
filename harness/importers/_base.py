"""What importers share: values taken out with care, errors with a place, parts of a scenario."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import ImportFormatError

T = TypeVar("T")

SCHEMA = "harness/scenario@1"

#: Largest whole number taken as a count or an id: what JSON readers everywhere keep exact.
MAX_COUNT = 2**53


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file. Takes values out of a record and says where one is wrong.

    Attributes:
        path: The file.
        spot: The place in it, in words: ``line 3``, ``trajectory 12, message 4``.
    """

    path: Path
    spot: str

    def at(self, spot: str) -> Place:
        """A place within this one."""
        return Place(self.path, f"{self.spot}, {spot}")

    def error(self, problem: str) -> ImportFormatError:
        """The error for a problem at this place, as one line."""
        return ImportFormatError(f"{self.path}: {self.spot}: {problem}")

    def get(self, record: Any, key: str, kind: type[T]) -> T:
        """``record[key]``, which must be there and be a ``kind``.

        Raises:
            ImportFormatError: The record is no object, lacks the key, or holds another type.
        """
        if not isinstance(record, dict):
            raise self.error(f"expected an object with key {key!r}, found {shown(record)}")
        if key not in record:
            keys = ", ".join(map(shown, list(record)[:12])) or "none"
            raise self.error(f"key {key!r} is missing; found keys: {keys}")
        value = record[key]
        # JSON tells booleans from numbers, Python does not.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(f"key {key!r} must be {_KINDS[kind]}, found {shown(value)}")
        return value

    def get_or_none(self, record: Any, key: str, kind: type[T]) -> T | None:
        """Like ``get``, but ``None`` where the key is absent or null."""
        if isinstance(record, dict) and record.get(key) is None:
            return None
        return self.get(record, key, kind)

    def number(self, record: Any, key: str) -> float:
        """``record[key]`` as a finite number.

        Raises:
            ImportFormatError: As ``get``, and for NaN and infinities.
        """
        whole = isinstance(record, dict) and type(record.get(key)) is int
        value = self.get(record, key, int if whole else float)
        if not is_finite(value):
            raise self.error(f"key {key!r} must be a finite number, found {shown(value)}")
        return float(value)

    def number_or_null(self, record: Any, key: str) -> float | None:
        """Like ``number``, but ``None`` where the value is null; the key must be there."""
        null = isinstance(record, dict) and record.get(key, 0) is None
        return None if null else self.number(record, key)

    def count(self, record: Any, key: str) -> int:
        """``record[key]`` as a whole number from 0 to ``MAX_COUNT``."""
        value = self.get(record, key, int)
        if not 0 <= value <= MAX_COUNT:
            raise self.error(f"key {key!r} must be 0 to {MAX_COUNT}, found {shown(value)}")
        return value


_KINDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}


def shown(value: object) -> str:
    """A value in an error message: one line, short, without control characters."""
    try:
        text = repr(value)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_finite(value: float) -> bool:
    """Whether ``value`` is a number a float can hold: no NaN, no infinity, no huge integer."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def unique(name: str, seen: dict[str, int]) -> str:
    """``name``, or ``name-2``, ``name-3`` ... if ``seen`` has it; remembers the answer there."""
    candidate = name
    while candidate in seen:
        seen[name] += 1
        candidate = f"{name}-{seen[name]}"
    seen[candidate] = 1
    return candidate


def at_limit(steps: list[Any], limit: int) -> dict[str, Any]:
    """What ``recorded`` says of a run that is exactly as long as its limit; empty if it is not."""
    if len(steps) != limit:
        return {}
    return {"exit_reason": "max_iterations", "limits": {"max_iterations": limit}}


def inferred(ending: dict[str, Any]) -> dict[str, Any]:
    """The same ending of a run, marked as concluded by the importer; none stays none."""
    return ending and {**ending, "exit_reason_source": "inferred"}


def slug(text: str) -> str:
    """``text`` as a part of an id: ASCII letters, digits, dot, dash, underscore; at most 100."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.")[:100] or "unnamed"
