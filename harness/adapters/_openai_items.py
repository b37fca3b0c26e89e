"""What the items of OpenAI's Responses protocol say that an agent is asked with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def last_words(items: Sequence[Any]) -> str | None:
    """What a person said last, where it is plain text."""
    for item in reversed(items):
        if isinstance(item, Mapping) and item.get("role") == "user":
            content = item.get("content")
            return content if isinstance(content, str) else None
    return None


def last_reply(items: Sequence[Any]) -> tuple[list[Any], dict[str, str]]:
    """The reply whose results a conversation ends with.

    Args:
        items: The conversation, as the model is asked with it.

    Returns:
        The reply's items, and the results of its calls by call id; both are empty where the
        conversation ends with something else.
    """
    reply: list[Any] = []
    results: dict[str, str] = {}
    for item in reversed(items):
        kind = item.get("type", "") if isinstance(item, Mapping) else ""
        if kind.endswith("_output") and not reply:
            output = item.get("output")
            results[item["call_id"]] = output if isinstance(output, str) else json.dumps(output)
        elif not results or kind.endswith("_output") or item.get("role") in ("user", "system"):
            break
        elif kind:
            reply.insert(0, item)
    return reply, results
