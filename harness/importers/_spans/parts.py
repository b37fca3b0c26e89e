"""Messages as SDKs and instrumentations write them, in the shapes that ``_messages`` reads.

OpenTelemetry's parts, Vercel's, Bedrock's, Gemini's; what is none of these passes as it is.
"""

from __future__ import annotations

import json
from typing import Any

from harness.importers._messages import ROLES, SAID, loaded

_CALLS = ("tool_call", "tool-call", "tool_use", "function_call", "toolUse", "functionCall")
_RESULTS = (
    "tool_call_response", "tool-result", "tool_result", "function_response", "toolResult",
    "functionResponse", "tool-error",
)  # fmt: skip
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking", "reasoningContent")
_BARE = ("toolUse", "toolResult", "functionCall", "functionResponse", "function_call",
         "function_response", "reasoningContent")  # fmt: skip
_IDS = ("id", "toolCallId", "tool_call_id", "toolUseId", "tool_use_id", "call_id")
_NAMES = ("name", "toolName", "tool_name")
_ARGS = ("arguments", "args", "input")
_BACK = ("response", "result", "output", "content", "error")
#: What smolagents calls the messages around a call.
_ROLES = {"tool-call": "assistant", "tool-response": "tool"}


def messages_from(value: Any, role: str = "user") -> list[dict[str, Any]]:
    """Messages of a list, or of a JSON text of one.

    Args:
        value: A list of messages, one message, or a text, which is one message by itself.
        role: Whose the text is, and a message that names none.
    """
    value = loaded(value)
    if value is None or value in ("", [], {}):
        return []
    if isinstance(value, dict):
        value = value["messages"] if isinstance(value.get("messages"), list) else [value]
    if not isinstance(value, list):
        return [{"role": role, "content": value if isinstance(value, str) else _dumped(value)}]
    if all(isinstance(item, dict) and _is_part(item) for item in value):
        value = [{"role": role, "content": value}]
    return [made for item in value for made in _message(item, role)]


def text_of(value: Any) -> str | None:
    """A result as text: what is no text is written as JSON, parts that are texts are joined."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        texts = [_words(item) if isinstance(item, dict) else None for item in value]
        prose = [text for text in texts if isinstance(text, str)]
        if len(prose) == len(value):
            return "\n".join(prose)
    return _dumped(value)


def _words(part: dict[str, Any]) -> Any:
    return part.get("text", part.get(SAID.get(_kind(part), "")))


def names_of(tools: Any) -> list[str]:
    """Names of tools in the definitions of a request, each a JSON text or an object."""
    tools = loaded(tools)
    found = []
    for item in tools if isinstance(tools, list) else ():
        tool = loaded(item)
        inner = tool.get("function", tool) if isinstance(tool, dict) else {}
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            found.append(inner["name"])
    return found


def first_text(value: Any) -> str | None:
    """The first user message of messages, or the text itself."""
    words = (m.get("content") for m in messages_from(value) if m.get("role") == "user")
    return next((text for word in words if (text := text_of(word))), None)


def _is_part(item: dict[str, Any]) -> bool:
    return "role" not in item and (_kind(item) != "" or "text" in item)


def _message(item: Any, role: str) -> list[dict[str, Any]]:
    """One message; the results within it stand as messages of their own, ahead of it."""
    if not isinstance(item, dict):
        return [{"role": role, "content": text_of(item)}]
    raw = dict(item)
    name = str(raw.get("role") or role)
    known = name if name in ROLES else name.lower()
    raw["role"] = _ROLES.get(known, known)
    if isinstance(made := loaded(raw.get("tool_calls")), list):
        # An attribute holds no objects; there they stand as JSON.
        raw["tool_calls"] = [loaded(call) for call in made]
    parts = raw.pop("parts", None) or loaded_parts(raw.get("content"))
    if not isinstance(parts, list):
        if parts is not None and not isinstance(parts, str):
            parts = text_of(parts)
        return [{**raw, "content": parts}]
    kept: list[Any] = []
    results: list[dict[str, Any]] = []
    calls = list(made) if isinstance(made := raw.get("tool_calls"), list) else []
    for part in parts:
        kind = _kind(part) if isinstance(part, dict) else ""
        inner = part.get(kind) if kind in _BARE and isinstance(part.get(kind), dict) else part
        if kind == "function" and isinstance(part.get("function"), dict):
            calls.append(part)
        elif kind in _CALLS:
            calls.append(_call(inner))
        elif kind in _RESULTS:
            results.append(_result(inner, failed=kind == "tool-error"))
        elif kind not in _THOUGHTS:
            kept.append(_prose(part, kind))
    if calls:
        raw["tool_calls"] = calls
    if results and not kept and not calls:
        return results
    return [*results, {**raw, "content": kept}]


def loaded_parts(content: Any) -> Any:
    """Content that is the JSON text of parts, as parts; any other as it is."""
    if isinstance(content, str) and content.startswith(("[{", "[ {")):
        parts = loaded(content)
        if isinstance(parts, list) and all(isinstance(p, dict) and _is_part(p) for p in parts):
            return parts
    return content


def _kind(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if isinstance(kind, str):
        return kind
    return next((key for key in _BARE if key in part), "")


def _prose(part: Any, kind: str) -> Any:
    if not isinstance(part, dict) or (kind == "" and "text" in part):
        return part
    if isinstance(words := part.get(SAID.get(kind, "")), str):
        return {"type": "text", "text": words}
    if kind in ("text", "input_text", "output_text"):
        return {"type": "text", "text": text_of(part.get("text", part.get("content"))) or ""}
    return {"type": kind or "part"}


def _first(part: Any, keys: tuple[str, ...]) -> Any:
    found = (part[key] for key in keys if isinstance(part, dict) and part.get(key) is not None)
    return next(found, None)


def _call(part: Any) -> dict[str, Any]:
    return {
        "id": text_of(_first(part, _IDS)),
        "name": str(_first(part, _NAMES) or "unnamed"),
        "arguments": _first(part, _ARGS),
    }


def _result(part: Any, *, failed: bool) -> dict[str, Any]:
    value = _first(part, _BACK)
    if isinstance(value, dict) and "value" in value and isinstance(value.get("type"), str):
        failed = failed or value["type"].startswith("error")
        value = value["value"]
    status = part.get("status") if isinstance(part, dict) else None
    wrong = failed or status == "error" or _first(part, ("is_error", "isError")) is True
    return {
        "role": "tool",
        "tool_call_id": text_of(_first(part, _IDS)),
        "name": _first(part, _NAMES),
        "content": text_of(value),
        **({"is_error": True} if wrong else {}),
    }


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
