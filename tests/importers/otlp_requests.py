"""Made-up spans, as OTLP requests and as nodes of a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.importers import recordings
from harness.importers._base import Place
from harness.importers._spans.dialects import node_from
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.otlp import spans_from

Write = Callable[..., Path]
Refused = Callable[[Path], str]

PLACE = Place(Path("runs"), "run 1")
TRACE = f"{1:032x}"

#: Attributes by which a span is a model call, by convention.
CHAT: dict[str, Any] = {"gen_ai.operation.name": "chat"}
LLM: dict[str, Any] = {"openinference.span.kind": "LLM"}
VERCEL: dict[str, Any] = {"ai.operationId": "ai.generateText.doGenerate"}
ARGS = '{"to": 100}'
PARTS_IN = json.dumps(
    [
        {"role": "system", "parts": [{"type": "text", "content": "You cook."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Boil water."}]},
    ]
)
PARTS_OUT = json.dumps(
    [
        {
            "role": "assistant",
            "finish_reason": "tool_call",
            "parts": [
                {"type": "reasoning", "content": "hmm"},
                {"type": "text", "content": "I heat."},
                {"type": "tool_call", "id": "c", "name": "heat", "arguments": {"to": 100}},
            ],
        }
    ]
)


def value(plain: Any) -> dict[str, Any]:
    """A value as OTLP/JSON types it."""
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": str(plain)}
        case float():
            return {"doubleValue": plain}
        case list():
            return {"arrayValue": {"values": [value(item) for item in plain]}}
        case dict():
            return {"kvlistValue": {"values": attributes(plain)}}
        case None:
            return {}
        case _:
            return {"stringValue": plain}


def attributes(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(item)} for key, item in plain.items()]


def span(
    number: int,
    about: dict[str, Any],
    *,
    parent: int | None = None,
    at: int = 0,
    ms: int = 10,
    trace: str = TRACE,
    name: str = "span",
    events: list[dict[str, Any]] | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """A span of OTLP/JSON; ``at`` is its start in ms after the first second of 1970."""
    start = (1000 + at) * 1_000_000
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + ms * 1_000_000),
        "attributes": attributes(about),
        "events": events or [],
        "status": {} if error is None else {"code": 2, "message": error},
    }


def request(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    scope = {"scope": {"name": "test"}, "spans": list(spans)}
    about = {"attributes": attributes(resource or {"service.name": "kitchen"})}
    return {"resourceSpans": [{"resource": about, "scopeSpans": [scope]}]}


def read(path: Path, name: str = "otlp") -> list[dict[str, Any]]:
    return list(recordings(name, path))


def node(number: int, kind: Kind, parent: int | None = 0, at: int = 0, **more: Any) -> Node:
    """A node that takes 10 ms, under node 0 unless it says otherwise."""
    name = more.pop("name", kind)
    end = more.pop("end", at + 10)
    return Node(str(number), None if parent is None else str(parent), kind, name, at, end, **more)


def ask(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str = "", *calls: tuple[str | None, str, str]) -> dict[str, Any]:
    made = [{"id": own, "function": {"name": n, "arguments": a}} for own, n, a in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def back(call_id: str | None, text: str, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}


def event(name: str, about: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "attributes": attributes(about)}


def node_of(about: dict[str, Any], events: list[dict[str, Any]] | None = None, **more: Any) -> Node:
    """What a span with these attributes becomes."""
    (found,) = spans_from(request(span(1, about, events=events, **more)))
    return node_from(PLACE, found)


AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "cook"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "heat"}
ASKED = {**CHAT, "gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT}
DONE = {**CHAT, "gen_ai.output.messages": '[{"role": "assistant", "content": "It boils."}]'}
HEATED = {**TOOL, "gen_ai.tool.call.id": "c", "gen_ai.tool.call.result": "hot"}


def trace(number: int = 1, *, at: int = 0, **about: Any) -> list[dict[str, Any]]:
    """A run of two model calls and a tool; the agent ends last, and so is written last."""
    more = {"trace": f"{number:032x}", "parent": 1}
    return [
        span(2, {**ASKED, **about}, at=at + 1, **more),
        span(3, HEATED, at=at + 20, ms=5, **more),
        span(4, {**DONE, **about}, at=at + 30, **more),
        span(1, AGENT, at=at, ms=50, trace=f"{number:032x}", name="invoke_agent cook"),
    ]
