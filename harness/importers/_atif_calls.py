"""Calls and tokens of a step of an ATIF trajectory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.importers._base import Place
from harness.importers._steps import arguments
from harness.importers._usage import usage_from

#: Tools by which agents declare the end.
FINISHES = frozenset({"finish", "submit", "mark_task_complete", "task_complete", "complete_task"})


def calls_of(
    spot: Place, step: dict[str, Any], text: str, answered: bool
) -> tuple[list[tuple[str | None, dict[str, Any]]], bool]:
    """The calls of a step by id, and whether one of them declares the end."""
    calls: list[tuple[str | None, dict[str, Any]]] = []
    for item in spot.get_or_none(step, "tool_calls", list) or ():
        call = {"tool": spot.get(item, "function_name", str), **arguments(item.get("arguments"))}
        calls.append((spot.get_or_none(item, "tool_call_id", str), call))
    declared = any(call["tool"] in FINISHES for _, call in calls)
    if calls:
        return calls, declared
    for name, body in _tagged(text, "function"):
        args = {key: value.strip("\n") for key, value in _tagged(body, "parameter")}
        calls.append((None, {"tool": name, **arguments(args)}))
    if calls:
        return calls, any(call["tool"] in FINISHES for _, call in calls)
    said = _terminus(text)
    if said is not None:
        keys = [item.get("keystrokes") for item in said["commands"] if isinstance(item, dict)]
        call = {"tool": "terminal", **arguments({"keystrokes": keys})}
        return [(None, call)] if keys else [], said.get("task_complete") is True
    return ([(None, {"tool": "message", "args": {"text": text}})] if answered else []), False


def _tagged(text: str, tag: str) -> Iterator[tuple[str, str]]:
    """Name and body of each ``<tag=name>body</tag>``; in linear time, whatever the text."""
    for piece in text.split(f"</{tag}>")[:-1]:
        _, found, rest = piece.partition(f"<{tag}=")
        name, closed, body = rest.partition(">")
        if found and closed and name:
            yield name, body


def _terminus(text: str) -> dict[str, Any] | None:
    """The reply of Terminus, which is JSON with its commands."""
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("commands"), list) else None


def usage_of(spot: Place, metrics: dict[str, Any]) -> dict[str, int] | None:
    """Tokens of a step's metrics, as counts that do not overlap.

    Raises:
        ImportFormatError: A count is no whole number, or the cached ones are more than all.
    """
    extra = spot.get_or_none(metrics, "extra", dict) or {}
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    known = {key: spot.count(metrics, key) for key in names if metrics.get(key) is not None}
    if not known:
        return None
    written = extra.get("cache_creation_input_tokens")
    if type(written) is int:
        room = known.get("prompt_tokens", 0) - known.get("cached_tokens", 0)
        known |= {"cache_creation_input_tokens": written} if 0 <= written <= room else {}
    for key in ("reasoning_tokens", "reasoning_output_tokens"):
        if type(extra.get(key)) is int and extra[key] >= 0:
            known["reasoning_tokens"] = extra[key]
            break
    return usage_from(spot, known) or None
