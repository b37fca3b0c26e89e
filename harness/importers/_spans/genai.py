"""OpenTelemetry's conventions for generative AI, ``gen_ai.*``, old and new, and OpenLLMetry's.

Messages have moved twice: from events (``gen_ai.content.prompt``, then ``gen_ai.user.message`` and
``gen_ai.choice``, as span events or log records) to ``gen_ai.input.messages`` and
``gen_ai.output.messages``, on the span or on ``gen_ai.client.inference.operation.details``.
OpenLLMetry has numbered attributes, ``gen_ai.prompt.0.content``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.importers._base import Place
from harness.importers._messages import loaded
from harness.importers._spans.counts import counts_from
from harness.importers._spans.flat import listed, tree
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.parts import first_text, messages_from, names_of, text_of
from harness.importers._spans.span import Event, Span

_OPERATIONS: dict[str, Kind] = {
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "call_llm": "llm",  # any-agent
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
}
_TRACELOOP: dict[str, Kind] = {"tool": "tool", "agent": "agent"}
_REQUESTS = ("chat", "completion")
#: How a reply ends that asks for tools.
_ASKED = ("tool_calls", "tool_call")
_DETAILS = "gen_ai.client.inference.operation.details"
_COUNTS: dict[str, tuple[str, ...]] = {
    "input": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
              "llm.usage.prompt_tokens"),
    "output": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
               "llm.usage.completion_tokens"),
    "cache_read": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
                   "gen_ai.usage.details.cache_read_tokens"),
    "cache_write": ("gen_ai.usage.cache_creation.input_tokens",
                    "gen_ai.usage.cache_creation_input_tokens",
                    "gen_ai.usage.details.cache_write_tokens"),
    "reasoning": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
                  "gen_ai.usage.details.reasoning_tokens"),
}  # fmt: skip
_ARGS = ("gen_ai.tool.call.arguments", "gen_ai.tool.args", "tool_arguments", "input.value",
         "gcp.vertex.agent.tool_call_args", "traceloop.entity.input")  # fmt: skip
_BACK = ("gen_ai.tool.call.result", "gen_ai.output", "tool_response", "output.value",
         "gcp.vertex.agent.tool_response", "traceloop.entity.output")  # fmt: skip
_SPOKEN = ("role", "content", "tool_calls", "name")
#: Events that are a message, and whose it is.
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def kind_of(span: Span) -> Kind | None:
    """What the span is; ``None`` where it follows none of these conventions."""
    about = span.attributes
    operation = about.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if (entity := about.get("traceloop.span.kind")) is not None:
        return _TRACELOOP.get(str(entity), "other")
    if (request := about.get("llm.request.type")) is not None:
        return "llm" if request in _REQUESTS else "other"
    if operation is not None:
        return "other"
    if about.get("gen_ai.tool.name"):
        return "tool"
    asked = any(about.get(f"gen_ai.{part}.model") for part in ("request", "response"))
    if asked and _says_something(span):
        return "llm"
    known = ("gen_ai.", "traceloop.", "llm.")
    return "other" if any(key.startswith(known) for key in about) else None


def _says_something(span: Span) -> bool:
    counted = any(key in span.attributes for keys in _COUNTS.values() for key in keys)
    return counted or bool(_asked(span) or _answered(span))


def fill(spot: Place, span: Span, node: Node) -> None:
    """Write into ``node`` what the attributes and events say."""
    about = span.attributes
    if node.kind == "llm":
        model = about.get("gen_ai.response.model") or about.get("gen_ai.request.model")
        node.model = text_of(model)
        node.usage = counts_from(spot, about, _COUNTS)
        node.messages = _asked(span)
        node.reply = _answered(span)
        node.finish_reason = _finish_reason(about, node.reply)
        node.offered = names_of(about.get("gen_ai.tool.definitions")) or names_of(
            listed(tree(about, "llm.request.functions"))
        )
    elif node.kind == "tool":
        node.tool = text_of(about.get("gen_ai.tool.name") or about.get("traceloop.entity.name"))
        node.tool = node.tool or span.name
        node.call_id = text_of(about.get("gen_ai.tool.call.id"))
        node.args = loaded(_any(about, _ARGS))
        node.result = text_of(_any(about, _BACK))
    elif node.kind == "agent":
        given = about.get("gen_ai.input.messages") or about.get("traceloop.entity.input")
        node.text_in = first_text(given)
        node.text_out = text_of(about.get("gen_ai.output.messages"))


def _any(about: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((about[key] for key in keys if about.get(key) is not None), None)


def _finish_reason(about: dict[str, Any], reply: list[dict[str, Any]]) -> str | None:
    reasons = loaded(about.get("gen_ai.response.finish_reasons"))
    first = reasons[0] if isinstance(reasons, list) and reasons else reasons or None
    if isinstance(reasons, list) and (not reply or reply[0].get("tool_calls")):
        # Of a response there is one for each item; one that asks for tools has not stopped.
        first = next((reason for reason in reasons if reason in _ASKED), first)
    first = first or about.get("gen_ai.response.finish_reason")
    first = first or about.get("llm.response.finish_reason")
    return text_of(first or (reply[0].pop("finish_reason", None) if reply else None))


def _asked(span: Span) -> list[dict[str, Any]]:
    about = span.attributes
    if found := _whole(span, "gen_ai.input.messages"):
        return found
    if numbered := listed(tree(about, "gen_ai.prompt")):
        return [made for item in numbered for made in _numbered(item, "user")]
    found = [made for event in _events(span) for made in _spoken(event)]
    if found:
        return found
    for event in span.events:
        if event.name == "gen_ai.content.prompt":
            return messages_from(event.attributes.get("gen_ai.prompt"))
    if (request := loaded(about.get("gcp.vertex.agent.llm_request"))) and isinstance(request, dict):
        return messages_from(request.get("contents"))
    return messages_from(about.get("gen_ai.prompt"))


def _answered(span: Span) -> list[dict[str, Any]]:
    about = span.attributes
    if found := _whole(span, "gen_ai.output.messages", "assistant"):
        return found[:1]
    if numbered := listed(tree(about, "gen_ai.completion")):
        return _numbered(numbered[0], "assistant")[:1]
    for event in _events(span):
        if event.name == "gen_ai.choice":
            return _choice(event.attributes)[:1]
    for event in span.events:
        if event.name == "gen_ai.content.completion":
            return messages_from(event.attributes.get("gen_ai.completion"), "assistant")[:1]
    answer = loaded(about.get("gcp.vertex.agent.llm_response"))
    if isinstance(answer, dict) and answer.get("content"):
        return messages_from(answer["content"], "assistant")
    return _any_agent(about.get("gen_ai.output")) or messages_from(
        about.get("gen_ai.completion"), "assistant"
    )


def _whole(span: Span, key: str, role: str = "user") -> list[dict[str, Any]]:
    """Messages in one attribute, of the span or of the event that has the details."""
    holders = [span.attributes, *(e.attributes for e in span.events if e.name == _DETAILS)]
    return next((m for holder in holders if (m := messages_from(holder.get(key), role))), [])


def _numbered(item: Any, role: str) -> list[dict[str, Any]]:
    """A message of OpenLLMetry's."""
    if not isinstance(item, dict):
        return []
    raw = {"role": role, **item}
    if calls := listed(item.get("tool_calls")):
        named = (call for call in calls if isinstance(call, dict))
        raw["tool_calls"] = [{**call, "name": call.get("name") or "unnamed"} for call in named]
    return messages_from([raw], role)


def _events(span: Span) -> Iterator[Event]:
    """Events of the span and, from Logfire, those it keeps in an attribute."""
    yield from span.events
    kept = loaded(span.attributes.get("events"))
    for item in kept if isinstance(kept, list) else ():
        if isinstance(item, dict):
            yield Event(str(item.get("event.name", "")), item)


def _spoken(event: Event) -> list[dict[str, Any]]:
    """An event that is a message; its parts stand in its attributes or as JSON in one of them."""
    role = _EVENTS.get(event.name)
    if role is None:
        return []
    body = loaded(event.attributes.get("gen_ai.event.content"))
    about = {**event.attributes, **(body if isinstance(body, dict) else {})}
    raw = {key: about[key] for key in _SPOKEN if about.get(key) is not None}
    if "content" not in raw and "tool_calls" not in raw:
        # What is said is not captured: an unknown result is not an empty one.
        return []
    if role == "tool" and about.get("id") is not None:
        raw["tool_call_id"] = about["id"]
    raw["content"] = loaded(raw.get("content"))
    return messages_from([raw], role)


def _choice(about: dict[str, Any]) -> list[dict[str, Any]]:
    body = loaded(about.get("gen_ai.event.content"))
    about = {**about, **(body if isinstance(body, dict) else {})}
    message = loaded(about.get("message", about.get("content")))
    if isinstance(message, dict):
        message = [{**message, "tool_calls": about.get("tool_calls") or message.get("tool_calls")}]
    found = messages_from(message, "assistant")
    if found and about.get("finish_reason"):
        found[0]["finish_reason"] = about["finish_reason"]
    return found


def _any_agent(output: Any) -> list[dict[str, Any]]:
    """A reply of any-agent's: a text, or the calls it made."""
    value = loaded(output)
    made = value if isinstance(value, list) else []
    if made and all(isinstance(call, dict) and "tool.name" in call for call in made):
        calls = [{"name": str(c["tool.name"]), "arguments": c.get("tool.args")} for c in made]
        return [{"role": "assistant", "tool_calls": calls}]
    return [{"role": "assistant", "content": text_of(output)}] if output else []
