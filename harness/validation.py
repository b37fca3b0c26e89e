"""Pydantic's findings in one line: key, what was found, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from harness.errors import choices

Loc = tuple[int | str, ...]
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_MISSING = frozenset({"missing", "missing_keyword_only_argument"})
_PLAIN_KEY = re.compile(r"[\w/@:-]+")
_QUOTED = re.compile(r"'([^']*)'")


class ImpossibleError(ValueError):
    """A value that breaks a rule, found by looking at more than the value.

    Attributes:
        at: Where it stands below the model that found it.
    """

    def __init__(self, message: str, *at: int | str) -> None:
        super().__init__(message)
        self.at = at


def problem(error: ValidationError, allowed: Iterable[str] = ()) -> str:
    """The worst problem as `.key: rule, found value`, with the number of further ones.

    Args:
        error: What pydantic raised.
        allowed: Keys to offer where the problem is an unknown key.
    """
    found = error.errors(include_url=False)
    return describe(worst(error), allowed) + (f" (+{len(found) - 1} more)" if found[1:] else "")


def worst(error: ValidationError) -> Any:
    """The finding that tells most.

    A misspelt key is also a missing one; what is wrong for one member of a union is often a
    wrong type for the other.
    """
    return min(error.errors(include_url=False), key=_rank)


def _rank(item: Any) -> int:
    kind = item["type"]
    if kind in _UNKNOWN:
        return 0
    return 3 if kind == "model_type" else 2 if kind.endswith("_type") or kind in _MISSING else 1


def place(item: Any, data: object = None) -> Loc:
    """Where a finding stands. With ``data``: as the file has it, without names of union members."""
    loc: Loc = (*item["loc"], *getattr(item.get("ctx", {}).get("error"), "at", ()))
    if item["type"] == "union_tag_invalid":
        loc += (str(item["ctx"]["discriminator"]).strip("'"),)
    loc = tuple(part for part in loc if part != "[key]")
    if data is None:
        return loc
    kept: list[int | str] = []
    here: Any = data
    for at, part in enumerate(loc):
        inside = part in here if isinstance(here, dict) else (
            isinstance(here, list) and isinstance(part, int) and part < len(here))  # fmt: skip
        if inside:
            here = here[part]
        elif item["type"] not in _MISSING or at < len(loc) - 1:
            continue
        kept.append(part)
    return tuple(kept)


def describe(item: Any, allowed: Iterable[str] = (), data: object = None) -> str:
    """One pydantic finding as `.key: rule, found value`."""
    kind, loc = item["type"], place(item, data)
    where = "".join(
        f".{part}" if isinstance(part, str) and _PLAIN_KEY.fullmatch(part) else f"[{part!r}]"
        for part in loc
    )
    if kind in _UNKNOWN:
        names = list(allowed)
        key = item["loc"][-1]
        return f"{where}: unknown key, {choices(key, names)}" if names else f"{where}: unknown key"
    if kind in _MISSING:
        return f"{where}: is required"
    context = item.get("ctx", {})
    if kind in ("enum", "literal_error"):
        return f"{where}: {choices(item['input'], _QUOTED.findall(context['expected']))}"
    if kind == "union_tag_invalid":
        return f"{where}: {choices(context['tag'], _QUOTED.findall(context['expected_tags']))}"
    message = str(item["msg"]).removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if kind == "model_type":
        message = "must be a mapping of keys"
    if kind == "value_error" and isinstance(item["input"], dict):
        return f"{where}: {message}"
    value = repr(item["input"])
    return f"{where}: {message}, found {value if len(value) <= 80 else value[:77] + '...'}"
