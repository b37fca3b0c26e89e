"""OpenInference: ``openinference.span.kind`` and what hangs on it.

Arize's instrumentations of agents and clients follow it, and Phoenix stores it.
"""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place
from harness.importers._finish import finish_reason
from harness.importers._messages import loaded
from harness.importers._spans.counts import counts_from
from harness.importers._spans.flat import listed, tree
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.parts import first_text, messages_from, names_of, text_of
from harness.importers._spans.span import Span

KIND = "openinference.span.kind"

_KINDS: dict[str, Kind] = {"LLM": "llm", "TOOL": "tool", "AGENT": "agent"}
_COUNTS = {
    "input": ("llm.token_count.prompt",),
    "output": ("llm.token_count.completion",),
    "cache_read": (
        "llm.token_count.prompt_details.cache_read",
        "llm.token_count.prompt_details.cache_input",
    ),
    "cache_write": ("llm.token_count.prompt_details.cache_write",),
    "reasoning": (
        "llm.token_count.completion_details.reasoning",
        # Phoenix adds OpenInference's names to the spans of others, without this one.
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
    ),
}
#: What stands for a value that the instrumentation was told to hide (``OPENINFERENCE_HIDE_*``).
_HIDDEN = "__REDACTED__"
#: Events of an execution that BeeAI also sends where it then succeeds or fails.
_BEGUN = ("start", "finish", "update", "partial_update")


def kind_of(span: Span) -> Kind | None:
    """What the span is; ``None`` where it does not follow this convention."""
    name = span.attributes.get(KIND)
    kind = _KINDS.get(str(name).upper(), "other") if name else None
    # BeeAI has a span for each event of an execution; what came of it is in the one it ends with.
    return "other" if kind == "tool" and _event(span.attributes) in _BEGUN else kind


def _event(about: dict[str, Any]) -> str | None:
    """The event of BeeAI's that a span stands for, the last part of its ``target``."""
    name, target = about.get("name"), about.get("target")
    known = isinstance(name, str) and isinstance(target, str) and target.endswith(f".{name}")
    return name if known else None


def fill(spot: Place, span: Span, node: Node) -> None:
    """Write into ``node`` what the attributes say."""
    about = {key: value for key, value in span.attributes.items() if value != _HIDDEN}
    if _event(about):
        # Such spans are all ended together, when the run is over.
        node.end_ms = None
    if node.kind == "llm":
        _model_call(spot, about, node)
    elif node.kind == "tool":
        node.tool = text_of(about.get("tool.name")) or span.name
        if event := _event(about):
            node.tool = str(about["target"]).removesuffix(f".{event}")
        node.call_id = text_of(about.get("tool_call.id") or about.get("tool.id"))
        args = about.get("tool.parameters")
        node.args = loaded(args if args is not None else about.get("input.value"))
        node.result = text_of(about.get("output.value"))
    elif node.kind == "agent":
        node.text_in = first_text(about.get("input.value"))
        node.text_out = text_of(about.get("output.value"))


def _model_call(spot: Place, about: dict[str, Any], node: Node) -> None:
    node.model = text_of(about.get("llm.model_name"))
    node.usage = counts_from(spot, about, _COUNTS)
    output = loaded(about.get("output.value"))
    node.messages = _messages(about, "llm.input_messages") or _given(about)
    node.reply = _messages(about, "llm.output_messages") or _answered(output)
    node.finish_reason = text_of(about.get("llm.finish_reason")) or finish_reason(output)
    tools = [_object(_object(item).get("tool")) for item in listed(tree(about, "llm.tools"))]
    node.offered = names_of([tool.get("json_schema") for tool in tools])


def _messages(about: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    found = []
    for item in listed(tree(about, prefix)):
        inner = _object(_object(item).get("message", item))
        raw: dict[str, Any] = {
            "role": inner.get("role") or ("user" if prefix.endswith("input_messages") else None),
            "content": inner.get("content"),
            "tool_call_id": inner.get("tool_call_id"),
        }
        raw["role"] = raw["role"] or "assistant"
        if (name := inner.get("name")) and raw["role"] != "user":
            raw["name"] = name
        if parts := listed(inner.get("contents")):
            raw["content"] = [_part(_object(part)) for part in parts]
        if calls := [_call(call) for call in listed(inner.get("tool_calls"))]:
            raw["tool_calls"] = calls
        elif (legacy := inner.get("function_call_name")) is not None:
            arguments = inner.get("function_call_arguments_json")
            raw["tool_calls"] = [{"name": legacy, "arguments": arguments}]
        found += messages_from([raw])
    return found


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _part(item: dict[str, Any]) -> dict[str, Any]:
    part = _object(item.get("message_content", item))
    if (text := part.get("text")) is not None:
        return {"type": "text", "text": text}
    return {"type": str(part.get("type") or "part")}


def _call(item: Any) -> dict[str, Any]:
    call = _object(_object(item).get("tool_call", item))
    function = _object(call.get("function"))
    return {
        "id": call.get("id"),
        "name": text_of(function.get("name")) or "unnamed",
        "arguments": function.get("arguments"),
    }


def _given(about: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked, where only the whole request stands as the input's value."""
    value = loaded(about.get("input.value"))
    if isinstance(value, dict):
        value = value.get("messages") or value.get("input")
        if not isinstance(value, str | list):
            return []
    shaped = isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, dict) and "role" in item for item in value)
    )
    return messages_from(value) if shaped else []


def _answered(output: Any) -> list[dict[str, Any]]:
    if isinstance(output, dict) and isinstance(output.get("choices"), list):
        return [output]
    return messages_from(output, "assistant") if isinstance(output, str) else []
