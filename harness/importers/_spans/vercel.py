"""Vercel's AI SDK: ``ai.operationId`` and the attributes beside it, of its versions 3 to 6."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place
from harness.importers._messages import loaded
from harness.importers._spans.counts import counts_from
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.parts import first_text, messages_from, names_of, text_of
from harness.importers._spans.span import Span

#: Operations that call the model once; the one around them adds up their usage.
_CALLS = (".doGenerate", ".doStream")
_AGENTS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_COUNTS = {
    "input": ("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"),
    "output": ("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
    "cache_read": (
        "ai.usage.cachedInputTokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
    ),
    "cache_write": ("ai.usage.inputTokenDetails.cacheWriteTokens",),
    "reasoning": ("ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens"),
}


def kind_of(span: Span) -> Kind | None:
    """What the span is; ``None`` where it is not of this SDK."""
    name = span.attributes.get("ai.operationId")
    if not isinstance(name, str):
        return None
    if name == "ai.toolCall":
        return "tool"
    if name.endswith(_CALLS) and name.startswith(_AGENTS):
        return "llm"
    return "agent" if name in _AGENTS else "other"


def fill(spot: Place, span: Span, node: Node) -> None:
    """Write into ``node`` what the attributes say."""
    about = span.attributes
    if node.kind == "llm":
        node.model = text_of(about.get("ai.response.model") or about.get("ai.model.id"))
        node.finish_reason = text_of(about.get("ai.response.finishReason"))
        node.usage = counts_from(spot, about, _COUNTS)
        node.messages = messages_from(about.get("ai.prompt.messages") or about.get("ai.prompt"))
        node.reply = _reply(about)
        node.offered = names_of(about.get("ai.prompt.tools"))
    elif node.kind == "tool":
        node.tool = text_of(about.get("ai.toolCall.name")) or span.name
        node.call_id = text_of(about.get("ai.toolCall.id"))
        node.args = loaded(about.get("ai.toolCall.args", about.get("ai.toolCall.input")))
        result = about.get("ai.toolCall.result", about.get("ai.toolCall.output"))
        value = loaded(result)
        node.result = value if isinstance(value, str) else text_of(result)
    elif node.kind == "agent":
        prompt = loaded(about.get("ai.prompt"))
        given = prompt.get("prompt") or prompt.get("messages") if isinstance(prompt, dict) else None
        node.text_in = first_text(given)
        node.text_out = text_of(about.get("ai.response.text"))


def _reply(about: dict[str, Any]) -> list[dict[str, Any]]:
    text = about.get("ai.response.text") or about.get("ai.response.object")
    text = text or about.get("ai.result.text") or about.get("ai.result.object")
    calls = loaded(about.get("ai.response.toolCalls") or about.get("ai.result.toolCalls"))
    parts = [{"type": "text", "text": text}] if text else []
    calls = calls if isinstance(calls, list) else []
    parts += [{**call, "type": "tool-call"} for call in calls if isinstance(call, dict)]
    return messages_from([{"role": "assistant", "content": parts}]) if parts else []
