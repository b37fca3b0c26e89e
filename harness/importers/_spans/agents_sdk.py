"""Span data of the OpenAI Agents SDK: generations, responses, functions, agents."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place
from harness.importers._finish import finish_reason
from harness.importers._messages import loaded
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.parts import messages_from, names_of, text_of
from harness.importers._spans.responses import request, response
from harness.importers._spans.span import Span
from harness.importers._usage import usage_from

DATA = "openai.agents.span_data"

_KINDS: dict[str, Kind] = {
    "generation": "llm",
    "response": "llm",
    "function": "tool",
    "agent": "agent",
}
#: Keys without which usage tells only that a request was made.
_COUNTED = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")


def kind_of(span: Span) -> Kind | None:
    """What the span is; ``None`` where it is not of this SDK."""
    data = span.attributes.get(DATA)
    return _KINDS.get(str(data.get("type")), "other") if isinstance(data, dict) else None


def fill(spot: Place, span: Span, node: Node) -> None:
    """Write into ``node`` what the span data say."""
    data = span.attributes[DATA]
    if node.kind == "tool":
        node.tool = text_of(data.get("name")) or span.name
        node.args = loaded(data.get("input"))
        node.result = text_of(data.get("output"))
    elif node.kind == "agent":
        tools = data.get("tools")
        node.offered = (
            [name for name in tools if isinstance(name, str)] if isinstance(tools, list) else []
        )
    elif node.kind == "llm":
        whole = _object(data.get("response")) or _streamed(data.get("output"))
        node.messages = request(data.get("input"))
        node.reply = response(whole.get("output")) if whole else _first(data.get("output"))
        node.model = text_of(whole.get("model") or data.get("model"))
        node.finish_reason = finish_reason(whole)
        node.offered = names_of(whole.get("tools") or data.get("tools"))
        usage = spot.get_or_none(whole, "usage", dict) or spot.get_or_none(data, "usage", dict)
        if usage is not None and not usage.keys().isdisjoint(_COUNTED):
            node.usage = usage_from(spot.at("usage"), usage) or None


def _streamed(output: Any) -> dict[str, Any]:
    """The response that a streamed generation has as its only output."""
    first = output[0] if isinstance(output, list) and output else None
    return _object(first) if _object(first).get("object") == "response" else {}


def _first(output: Any) -> list[dict[str, Any]]:
    return messages_from(output, "assistant")[:1]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
