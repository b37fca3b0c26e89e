"""Messages of a chat: their text, what makes two the same, which of them are new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.fingerprint import canonical, digest
from harness.openai_llm import calls_from

#: Roles of messages that are no part of the talk.
SYSTEM = ("system", "developer")


def talk_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of a request, system messages left aside: work orders change them."""
    messages = [m for m in body.get("messages") or () if isinstance(m, Mapping)]
    return [m for m in messages if m.get("role") not in SYSTEM] or messages


def newest(talk: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages after the last reply."""
    at = max((n for n, m in enumerate(talk, 1) if m.get("role") == "assistant"), default=0)
    return list(talk[at:])


def goal_of(talk: Sequence[Mapping[str, Any]]) -> str:
    """The first user message."""
    return next((text_of(m) for m in talk if m.get("role") == "user"), "")


def said_in(messages: Sequence[Mapping[str, Any]]) -> str:
    """What user messages say."""
    return "\n\n".join(text_of(m) for m in messages if m.get("role") == "user").strip()


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; parts that are none are named."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (p for p in content if isinstance(p, Mapping))
        return "\n".join(str(p.get("text", f"[{p.get('type', 'part')}]")) for p in parts)
    return content if isinstance(content, str) else ""


def print_of(message: Mapping[str, Any]) -> str:
    """What makes two messages the same, however an agent writes them down again."""
    calls = [f"{c.id} {c.tool} {canonical(c.args)}" for c in calls_from(message)]
    return digest(
        str(message.get("role", "assistant")),
        text_of(message).strip(),
        str(message.get("tool_call_id") or ""),
        *calls,
    )


def tool_names(body: Mapping[str, Any]) -> list[str]:
    """Names of the tools that a request offers."""
    found = (_tool_name(tool) for tool in body.get("tools") or ())
    return [name for name in found if name]


def _tool_name(tool: Any) -> str | None:
    if not isinstance(tool, Mapping):
        return None
    inner = tool.get("function") or tool.get("custom") or tool
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else None
