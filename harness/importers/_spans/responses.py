"""Items of OpenAI's Responses as the chat messages that they are."""

from __future__ import annotations

from typing import Any

from harness.importers._spans.parts import messages_from, text_of

_CALLS = ("function_call", "custom_tool_call", "mcp_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def is_item(value: Any) -> bool:
    """Whether a value is an item of a response that is no message of a chat."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind == "message" or (kind in (*_CALLS, *_RESULTS, "reasoning") and "role" not in value)


def request(value: Any) -> list[dict[str, Any]]:
    """What was asked: a text, or items of messages, calls and results, in order."""
    if not isinstance(value, list):
        return messages_from(value)
    found: list[dict[str, Any]] = []
    for item in value:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind in _CALLS:
            found += [{"role": "assistant", "tool_calls": [_call(item)]}]
        elif kind in _RESULTS:
            result = {"tool_call_id": item.get("call_id"), "content": text_of(item.get("output"))}
            found += [{"role": "tool", **result}]
        elif kind != "reasoning":
            found += messages_from([item])
    return found


def response(value: Any) -> list[dict[str, Any]]:
    """What was answered: all its items as one message; none where there are no items."""
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for item in value if isinstance(value, list) else ():
        kind = item.get("type") if isinstance(item, dict) else None
        if kind in _CALLS:
            calls.append(_call(item))
        elif kind == "message":
            texts.append(text_of(item.get("content")) or "")
    if not texts and not calls:
        return []
    message: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    return [{**message, "tool_calls": calls} if calls else message]


def _call(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": text_of(item.get("call_id") or item.get("id")),
        "name": text_of(item.get("name")) or "unnamed",
        "arguments": item.get("arguments", item.get("input")),
    }
