"""LangSmith's runs: inputs and outputs as LangChain's tracer and the SDK's wrappers leave them."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place
from harness.importers._finish import finish_reason
from harness.importers._messages import loaded
from harness.importers._spans.langchain import is_message, plain
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.parts import messages_from, names_of, text_of
from harness.importers._spans.responses import request, response
from harness.importers._spans.span import Span
from harness.importers._usage import RULE as _SENT
from harness.importers._usage import usage_from

PREFIX = "langsmith.run."

_KINDS: dict[str, Kind] = {"llm": "llm", "tool": "tool"}
_TOTALS = ("prompt_tokens", "completion_tokens")
_DETAILS = {
    "prompt_token_details": "prompt_tokens_details",
    "completion_token_details": "completion_tokens_details",
}
#: Anthropic's writes to the cache, by how long they last.
_WRITES = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")

#: The rule, in words for ``TOKENS``.
RULE = (
    "usage_metadata of the reply, else usage as the provider sent it, else the run's own "
    "prompt_tokens and completion_tokens, which contain what was cached and reasoned. "
    f"{_SENT}"
)


def kind_of(span: Span) -> Kind | None:
    """What the run is; ``None`` where the span is none."""
    name = span.attributes.get(f"{PREFIX}run_type")
    return _KINDS.get(name, "other") if isinstance(name, str) else None


def fill(spot: Place, span: Span, node: Node) -> None:
    """Write into ``node`` what the run says."""
    about = {k.removeprefix(PREFIX): v for k, v in span.attributes.items() if k.startswith(PREFIX)}
    given, back = _object(about.get("inputs")), _object(about.get("outputs"))
    if node.kind == "llm":
        _model_call(spot, about, given, back, node)
    elif node.kind == "tool":
        node.tool = span.name
        node.call_id = text_of(_object(about.get("extra")).get("tool_call_id"))
        node.args = loaded(given["input"] if set(given) == {"input"} else given)
        result = plain(back["output"] if set(back) == {"output"} else back or None)
        if isinstance(result, dict) and result.get("role") == "tool":
            node.call_id = node.call_id or text_of(result.get("tool_call_id"))
            if result.get("status") == "error":
                node.error = node.error or text_of(result.get("content")) or "error"
            result = result.get("content")
        node.result = text_of(result)


def _model_call(
    spot: Place,
    about: dict[str, Any],
    given: dict[str, Any],
    back: dict[str, Any],
    node: Node,
) -> None:
    extra = _object(about.get("extra"))
    asked = _object(extra.get("invocation_params"))
    output = _object(back.get("llm_output"))
    generation = _generation(back)
    message = _object(generation.get("message"))
    inner = _object(message.get("kwargs")) or message
    sent = _object(inner.get("response_metadata"))
    node.messages = _messages(given)
    node.reply = _reply(generation, message, back)
    names = (
        _object(extra.get("metadata")).get("ls_model_name"), sent.get("model_name"),
        back.get("model"), output.get("model_name"), asked.get("model"), asked.get("model_name"),
        given.get("model"),
    )  # fmt: skip
    node.model = text_of(next((name for name in names if name), None))
    holders = (back, *(back.get(key) for key in ("output", "message", "messages")))
    node.finish_reason = next(filter(None, map(finish_reason, holders)), None)
    node.offered = names_of(asked.get("tools") or given.get("tools"))
    usages = (
        inner.get("usage_metadata"), back.get("usage_metadata"), back.get("usage"),
        output.get("token_usage"), _totals(about),
    )  # fmt: skip
    usage = next((value for value in usages if isinstance(value, dict) and value), None)
    node.usage = None if usage is None else usage_from(spot.at("usage"), _written(usage)) or None


def _totals(about: dict[str, Any]) -> dict[str, Any]:
    """What LangSmith itself counted; a run that it could not count has zeros."""
    totals = {key: about[key] for key in _TOTALS if about.get(key)}
    details = {ours: about[key] for key, ours in _DETAILS.items() if about.get(key)}
    return {**totals, **details} if totals else {}


def _written(usage: dict[str, Any]) -> dict[str, Any]:
    details = usage.get("input_token_details")
    if not isinstance(details, dict) or details.get("cache_creation"):
        return usage
    counts = [details[key] for key in _WRITES if type(details.get(key)) is int]
    return {**usage, "input_token_details": {**details, "cache_creation": sum(counts)}}


def _messages(given: dict[str, Any]) -> list[dict[str, Any]]:
    value = given.get("messages") or given.get("prompts") or given.get("input")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if isinstance(value, list):
        value = [plain(item) for item in value]
    return request(value)


def _generation(back: dict[str, Any]) -> dict[str, Any]:
    value = back.get("generations")
    while isinstance(value, list) and value:
        value = value[0]
    return _object(value)


def _reply(
    generation: dict[str, Any], message: dict[str, Any], back: dict[str, Any]
) -> list[dict[str, Any]]:
    if isinstance(back.get("choices"), list):
        return [back]
    if isinstance(back.get("output"), list):
        return response(back["output"])
    for value in (message, back.get("output"), back.get("message"), back):
        if is_message(value):
            return messages_from([plain(value)], "assistant")[:1]
    if isinstance(messages := back.get("messages"), list) and messages:
        return messages_from([plain(messages[-1])], "assistant")[:1]
    return messages_from(generation.get("text") or back.get("output"), "assistant")[:1]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
