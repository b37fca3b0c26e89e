"""Pydantic's findings in one line: key, what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from harness.errors import choices


def problem(error: ValidationError, allowed: Iterable[str] = ()) -> str:
    """The first problem as `.key: rule, found value`, with the number of further ones.

    Args:
        error: What pydantic raised.
        allowed: Keys to offer where the problem is an unknown key.
    """
    found = error.errors(include_url=False)
    return describe(found[0], allowed) + (f" (+{len(found) - 1} more)" if len(found) > 1 else "")


def describe(item: object, allowed: Iterable[str] = ()) -> str:
    """One pydantic finding as `.key: rule, found value`."""
    assert isinstance(item, dict)
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in item["loc"])
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        key = item["loc"][-1]
        names = list(allowed)
        return f"{where}: unknown key, {choices(key, names)}" if names else f"{where}: unknown key"
    if item["type"] in ("missing", "missing_keyword_only_argument"):
        return f"{where}: is required"
    message = str(item["msg"]).removeprefix("Value error, ")
    value = repr(item["input"])
    shown = value if len(value) <= 80 else value[:77] + "..."
    return f"{where}: {message[0].lower()}{message[1:]}, found {shown}"
