"""LangChain's messages, as its tracers write them, in the shapes that ``_parts`` reads."""

from __future__ import annotations

from typing import Any

#: Classes of messages, streamed ones included, by the end of a serialised object's ``id``.
_CLASSES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "user",
}
_TYPES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "HumanMessageChunk": "user",
    "AIMessageChunk": "assistant",
}
#: Parts of a content that stand as ``tool_calls`` once more.
_REPEATED = ("tool_use", "tool_call", "function_call", "custom_tool_call", "input_json_delta")


def is_message(value: Any) -> bool:
    """Whether a value is a message: with a role, or serialised by LangChain."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    typed = isinstance(kind, str) and kind in _TYPES and "content" in value
    return isinstance(value.get("role"), str) or _class(value) is not None or typed


def plain(value: Any) -> Any:
    """A message with its role and calls where Chat Completions has them; others pass as they are.

    Serialised objects (``{"lc": 1, "kwargs": ...}``) are unwrapped. Calls that LangChain could not
    parse stand with their text as arguments.
    """
    if not is_message(value) or "parts" in value:
        return value
    name = _class(value)
    message = value["kwargs"] if name else value
    kind = message.get("type")
    own = _CLASSES[name] if name else _TYPES.get(kind) if isinstance(kind, str) else None
    made = {"role": message.get("role") or own, "content": message.get("content")}
    for key in ("name", "tool_call_id", "status"):
        if message.get(key) is not None and not (key == "name" and made["role"] == "user"):
            made[key] = message[key]
    extra = message.get("additional_kwargs")
    extra = extra if isinstance(extra, dict) else {}
    calls = [*_listed(message, "tool_calls"), *_listed(message, "invalid_tool_calls")]
    if calls := calls or _listed(extra, "tool_calls"):
        made["tool_calls"] = calls
        if isinstance(made["content"], list):
            made["content"] = [part for part in made["content"] if not _repeats(part)]
    legacy = message.get("function_call") or extra.get("function_call")
    return {**made, "function_call": legacy} if legacy and not calls else made


def _listed(holder: dict[str, Any], key: str) -> list[Any]:
    value = holder.get(key)
    return value if isinstance(value, list) else []


def _repeats(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _REPEATED


def _class(value: dict[str, Any]) -> str | None:
    path = value.get("id")
    if value.get("type") != "constructor" or not isinstance(path, list) or not path:
        return None
    name = str(path[-1]).removesuffix("Chunk")
    return name if name in _CLASSES and isinstance(value.get("kwargs"), dict) else None
