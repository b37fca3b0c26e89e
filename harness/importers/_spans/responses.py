"""Items of OpenAI's Responses as the chat messages that they are."""

from __future__ import annotations

from typing import Any

from harness.importers._finish import finish_reason
from harness.importers._spans.parts import messages_from, text_of

_CALLS = ("function_call", "custom_tool_call", "mcp_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
#: Parts of a reply that are passed over: thoughts, and what the provider's own tools did.
_ASIDE = (
    "reasoning", "web_search_call", "file_search_call", "computer_call", "code_interpreter_call",
    "image_generation_call", "local_shell_call", "mcp_list_tools", "mcp_approval_request",
)  # fmt: skip
#: What comes back to those, and what stands for other items; nobody said it.
_PASSED = (
    "computer_call_output", "local_shell_call_output", "mcp_approval_response", "item_reference",
)  # fmt: skip


def is_item(value: Any) -> bool:
    """Whether a value is an item of a response that is no message of a chat."""
    return _kind(value) == "message" or _is_step(value)


def has_items(values: list[Any]) -> bool:
    """Whether there are items among the values that are no messages, as no chat has them."""
    return any(map(_is_step, values))


def request(value: Any) -> list[dict[str, Any]]:
    """What was asked: a text, or items of messages, calls and results, in order.

    A reply is several items there, and one message here.
    """
    if not isinstance(value, list):
        return messages_from(value)
    found: list[dict[str, Any]] = []
    turn: list[Any] = []
    for item in (*value, None):
        if _is_replied(item):
            turn.append(item)
            continue
        found += response(turn) if has_items(turn) else messages_from(turn)
        turn = []
        kind = _kind(item)
        if kind in _RESULTS:
            result = {"tool_call_id": item.get("call_id"), "content": text_of(item.get("output"))}
            found += [{"role": "tool", **result}]
        elif item is not None and kind not in _PASSED:
            found += messages_from([item])
    return found


def response(value: Any) -> list[dict[str, Any]]:
    """What was answered: all its items as one message; none where there are no items."""
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    items = value if isinstance(value, list) else []
    for item in items:
        kind = _kind(item)
        if kind in _CALLS:
            calls.append(_call(item))
        elif kind == "message" or (kind is None and _is_replied(item)):
            texts.append(text_of(item.get("content")) or "")
    if not texts and not calls:
        return []
    message: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    if (reason := finish_reason(items)) not in (None, "completed"):
        # An item that is complete does not tell why the reply ended.
        message["finish_reason"] = reason
    return [{**message, "tool_calls": calls} if calls else message]


def answered(whole: dict[str, Any]) -> dict[str, Any]:
    """A whole response as the message that it is, with its model, usage, error and ending."""
    (message, *_) = response(whole.get("output")) or [{"role": "assistant", "content": ""}]
    known = {key: whole[key] for key in ("model", "usage", "error") if whole.get(key)}
    reason = finish_reason(whole)
    return {**message, **known, **({"finish_reason": reason} if reason else {})}


def _kind(value: Any) -> Any:
    return value.get("type") if isinstance(value, dict) else None


def _is_step(value: Any) -> bool:
    return _kind(value) in (*_CALLS, *_RESULTS, *_ASIDE, *_PASSED) and "role" not in value


def _is_replied(item: Any) -> bool:
    """Whether an item is part of a reply: a call, a thought, or what the assistant said."""
    if not isinstance(item, dict):
        return False
    if _kind(item) in (*_CALLS, *_ASIDE):
        return "role" not in item
    plain = _kind(item) in (None, "message") and "tool_calls" not in item
    return plain and item.get("role") == "assistant"


def _call(item: dict[str, Any]) -> dict[str, Any]:
    made = {
        "id": text_of(item.get("call_id") or item.get("id")),
        "name": text_of(item.get("name")) or "unnamed",
    }
    if item.get("type") == "custom_tool_call":
        # Its input is a text of any kind, as that of a custom call in a chat.
        return {"id": made["id"], "custom": {"name": made["name"], "input": item.get("input")}}
    return {**made, "arguments": item.get("arguments", item.get("input"))}
