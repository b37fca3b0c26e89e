"""Attributes whose names are paths (``llm.tools.0.tool.name``), as the tree they mean."""

from __future__ import annotations

from typing import Any


def tree(attributes: dict[str, Any], prefix: str) -> dict[str, Any]:
    """What stands below ``prefix``, taken apart at the dots; lists keep their numbers as keys.

    A value that is itself an object or a list of objects is taken apart the same way.
    """
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        if key == prefix:
            _merge(found, value)
        elif key.startswith(f"{prefix}."):
            _put(found, key[len(prefix) + 1 :].split("."), value)
    return found


def listed(node: Any) -> list[Any]:
    """The items of a list that a tree holds, by their numbers."""
    if not isinstance(node, dict):
        return []
    numbers = sorted((int(key), key) for key in node if key.isdecimal() and len(key) < 10)
    return [node[key] for _, key in numbers]


def _merge(into: dict[str, Any], value: Any) -> None:
    items = dict(enumerate(value)) if isinstance(value, list) else value
    if isinstance(items, dict):
        for key, item in items.items():
            _put(into, str(key).split("."), item)


def _put(into: dict[str, Any], path: list[str], value: Any) -> None:
    *way, last = path
    for key in way:
        below = into.get(key)
        if not isinstance(below, dict):
            below = into[key] = {}
        into = below
    objects = isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
    )
    if objects:
        below = into.setdefault(last, {})
        if isinstance(below, dict):
            _merge(below, value)
    else:
        into[last] = value
