"""Langfuse's own attributes, ``langfuse.observation.*``, of its SDKs and of its exports.

An observation that came to Langfuse from another instrumentation keeps that one's attributes
beside these; they are read first, and Langfuse's own fill in.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from harness.importers._base import Place
from harness.importers._finish import finish_reason
from harness.importers._messages import loaded
from harness.importers._spans import genai as _genai
from harness.importers._spans import openinference as _openinference
from harness.importers._spans import vercel as _vercel
from harness.importers._spans.langchain import is_message, plain
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.parts import first_text, messages_from, names_of, text_of
from harness.importers._spans.responses import is_item, request, response
from harness.importers._spans.span import Span
from harness.importers._usage import RULE as _SENT
from harness.importers._usage import usage_from

PREFIX = "langfuse.observation."

_KINDS: dict[str, Kind] = {"generation": "llm", "tool": "tool", "agent": "agent"}
_OTHERS = (_openinference, _vercel, _genai)
#: Parts of the input and of the output in the details of usage; the first that is there.
_READ = ("input_cached_tokens", "cache_read_input_tokens", "prompt_details.cache_read",
         "input_cache_read")  # fmt: skip
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation", "prompt_details.cache_write")
_REASONED = ("output_reasoning_tokens", "output_reasoning", "completion_details.reasoning")
_KNOWN = ("input", "output", "total", *_READ, *_WRITTEN, *_REASONED)

#: The rule, in words for ``TOKENS``.
RULE = (
    "Langfuse's usage details: where their total is input + output, these contain what was cached "
    "and reasoned; where it is the sum of all or there is none, they do not. Nothing but zeros is "
    f"unknown usage. Usage as a provider sent it: {_SENT}"
)

#: A prompt that OpenLIT joined to a text; only its beginning is sure, as results may look alike.
_JOINED = re.compile(
    r"(?:(?:system|developer): .*?\n)?user: (.*?)(?:\n(?:assistant|tool|user): .*|\Z)", re.DOTALL
)


def kind_of(span: Span) -> Kind | None:
    """What the observation is; ``None`` where the span is none."""
    about = span.attributes
    name = about.get(f"{PREFIX}type")
    if not isinstance(name, str):
        return None
    kind = _KINDS.get(name.lower(), "other")
    if kind == "llm":
        # An event about a model call, as some frameworks send, is none itself.
        told = (about.get(PREFIX + part) for part in ("input", "output", "usage_details"))
        known = any(value not in (None, "", {}, "{}") for value in told)
        return "llm" if known or span.error is not None else "other"
    if kind == "other":
        kinds = [found for dialect in _OTHERS if (found := dialect.kind_of(span)) is not None]
        answer = plain(loaded(about.get(f"{PREFIX}output")))
        called = isinstance(answer, dict) and answer.get("role") == "tool"
        return "tool" if "tool" in kinds or called else "other"
    return kind


def fill(spot: Place, span: Span, node: Node) -> None:
    """Write into ``node`` what the attributes say."""
    about = {k.removeprefix(PREFIX): v for k, v in span.attributes.items() if k.startswith(PREFIX)}
    for dialect in _OTHERS:
        if dialect.kind_of(span) == node.kind:
            others = {k: v for k, v in span.attributes.items() if not k.startswith(PREFIX)}
            dialect.fill(spot, replace(span, attributes=others), node)
            break
    given, answer = loaded(about.get("input")), loaded(about.get("output"))
    if node.kind == "llm":
        _model_call(spot, about, given, answer, node)
    elif node.kind == "tool":
        node.tool = node.tool or span.name
        node.args = _arguments(given) if node.args is None else node.args
        if isinstance(message := plain(answer), dict) and message.get("role") == "tool":
            node.call_id = node.call_id or text_of(message.get("tool_call_id"))
            if message.get("status") == "error":
                node.error = node.error or text_of(message.get("content")) or "error"
            answer = message.get("content")
        node.result = text_of(answer) if node.result is None else node.result
    elif node.kind == "agent":
        node.text_in = node.text_in or first_text(_arguments(given))
        node.text_out = node.text_out or text_of(answer)
    if about.get("level") == "ERROR":
        node.error = node.error or text_of(about.get("status_message")) or "error"


def _model_call(spot: Place, about: dict[str, Any], given: Any, answer: Any, node: Node) -> None:
    if isinstance(given, str) and (joined := _JOINED.match(given)):
        given = joined[1]
        answer = None if answer == "None" else answer
    node.messages = node.messages or _messages(given)
    own = _reply(answer)
    if not node.reply or (_calls(own) and not _calls(node.reply)):
        node.reply = own
    node.model = text_of(about.get("model.name")) or node.model
    node.finish_reason = node.finish_reason or finish_reason(answer)
    node.offered = node.offered or _offered(given)
    details = loaded(about.get("usage_details"))
    if isinstance(details, dict) and (usage := _usage(spot.at("usage"), details)):
        node.usage = usage


def _arguments(value: Any) -> Any:
    """Of a decorated function: its named arguments, or the only one that has no name."""
    if isinstance(value, dict) and set(value) == {"args", "kwargs"}:
        if not value["args"]:
            return value["kwargs"]
        if not value["kwargs"] and isinstance(value["args"], list) and len(value["args"]) == 1:
            return value["args"][0]
    return value


def _messages(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        for key in ("messages", "contents", "args", "prompt", "input"):
            if isinstance(value.get(key), list | str) and value[key]:
                value = value[key]
                break
    if isinstance(value, list):
        # A request's tools stand among the messages of some exports.
        return request([plain(item) for item in value if _tool(item) is None])
    return messages_from(value)


def _tool(item: Any) -> Any:
    """The definition of a tool, where LangChain's handler put one among the messages."""
    content = item.get("content") if isinstance(item, dict) else None
    defines = isinstance(content, dict) and "function" in content and item["role"] == "tool"
    return content if defines else None


def _offered(given: Any) -> list[str]:
    if isinstance(given, dict):
        return names_of(given.get("tools"))
    items = given if isinstance(given, list) else []
    return names_of([tool for item in items if (tool := _tool(item)) is not None])


def _reply(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("choices"), list):
            return [value]
        if isinstance(value.get("output"), list):
            return response(value["output"])
        if isinstance(value.get("content"), dict):
            return messages_from(value["content"], "assistant")[:1]
        value = plain(value) if is_message(value) else value
    if isinstance(value, list):
        if any(map(is_item, value)):
            return response(value)
        value = [plain(item) for item in value]
    return messages_from(value, "assistant")[:1]


def _calls(reply: list[dict[str, Any]]) -> bool:
    return any(message.get("tool_calls") for message in reply)


def _usage(spot: Place, details: dict[str, Any]) -> dict[str, int] | None:
    if "input" not in details and "output" not in details:
        return usage_from(spot, details)
    counts = {key: _count(spot, details, key) for key in _KNOWN if details.get(key) is not None}
    read, written, reasoned = (
        next((counts[name] for name in names if name in counts), 0)
        for names in (_READ, _WRITTEN, _REASONED)
    )
    given, answered = counts.get("input", 0), counts.get("output", 0)
    within = counts.get("total") == given + answered
    if within and read + written <= given and reasoned <= answered:
        given, answered = given - read - written, answered - reasoned
    return usage_from(
        spot,
        {"input": given, "cache_read": read, "cache_write": written, "output": answered,
         "reasoning": reasoned},
    )  # fmt: skip


def _count(spot: Place, details: dict[str, Any], key: str) -> int:
    value = details[key]
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        # ClickHouse, which Langfuse exports from, writes large integers as text.
        value = int(value)
    return spot.count({key: value}, key)
