"""Spans of small agents, made by the SDK, as the requests that its exporter sends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "adder"}


class Made:
    """A tracer whose spans can be had as soon as they have ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("tests")

    def taken(self) -> list[ReadableSpan]:
        """The spans that have ended since it was last asked."""
        spans = list(self._exporter.get_finished_spans())
        self._exporter.clear()
        return spans


def chat(tracer: Tracer, number: int, last: bool = False, **more: Any) -> None:
    """One model call, which asks for a tool unless it is the last, and the tool's execution."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Add up."}]}]
    part: dict[str, Any] = {"type": "text", "content": "Done."}
    if not last:
        part = {"type": "tool_call", "id": f"c{number}", "name": "add", "arguments": {"n": number}}
    reply = [{"role": "assistant", "parts": [part], "finish_reason": "stop"}]
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.finish_reasons": ["stop" if last else "tool_calls"],
        "gen_ai.usage.input_tokens": 100 + number,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(reply),
        **more,
    }
    with tracer.start_as_current_span("chat gpt-4o", attributes=about):
        pass
    if not last:
        tool = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add",
            "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.result": str(number), **more,
        }  # fmt: skip
        with tracer.start_as_current_span("execute_tool add", attributes=tool):
            pass


def agent_run(tracer: Tracer, calls: int = 3, **more: Any) -> None:
    """An agent's run of so many model calls."""
    with tracer.start_as_current_span("invoke_agent adder", attributes={**AGENT, **more}):
        for number in range(1, calls + 1):
            chat(tracer, number, last=number == calls, **more)


def run_spans(calls: int = 3, **more: Any) -> list[ReadableSpan]:
    """The spans of one agent's run, in the order in which they ended: the outermost comes last."""
    made = Made()
    agent_run(made.tracer, calls, **more)
    return made.taken()


def lone_calls(tracer: Tracer, goal: str, calls: int = 3, **more: Any) -> Iterator[ReadableSpan]:
    """Model calls of an agent that nobody traces, each a trace of its own, with their messages."""
    talk: list[dict[str, Any]] = [{"role": "user", "content": goal}]
    for number in range(1, calls + 1):
        reply: dict[str, Any] = {"role": "assistant", "content": "Done."}
        if number < calls:
            made = {"id": f"{goal} {number}", "name": "add", "arguments": {"n": number}}
            reply = {"role": "assistant", "tool_calls": [made]}
        about = {
            "gen_ai.operation.name": "chat",
            "gen_ai.response.finish_reasons": ["tool_calls" if number < calls else "stop"],
            "gen_ai.usage.input_tokens": 100 + number,
            "gen_ai.usage.output_tokens": 10,
            "gen_ai.input.messages": json.dumps(talk),
            "gen_ai.output.messages": json.dumps([reply]),
            **more,
        }
        with tracer.start_as_current_span("chat gpt-4o", attributes=about) as span:
            pass
        assert isinstance(span, ReadableSpan)
        yield span
        result = {"role": "tool", "tool_call_id": f"{goal} {number}", "content": str(number)}
        talk = [*talk, reply, result]


def plain_spans() -> list[ReadableSpan]:
    """A trace that has nothing to do with a model."""
    made = Made()
    with made.tracer.start_as_current_span("GET /", attributes={"http.request.method": "GET"}):
        pass
    return made.taken()


def request(spans: Sequence[ReadableSpan]) -> Any:
    """What an exporter sends for them."""
    return encode_spans(spans)


def log_request(span: ReadableSpan, *events: tuple[str, Any]) -> ExportLogsServiceRequest:
    """Messages as log records beside a span, as instrumentations of the older conventions do."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for name, text in events:
        record = scope.log_records.add(event_name=name)
        record.trace_id = span.context.trace_id.to_bytes(16, "big")
        record.span_id = span.context.span_id.to_bytes(8, "big")
        body = record.body.kvlist_value
        if name == "gen_ai.choice":
            body.values.add(key="finish_reason").value.string_value = "stop"
            message = body.values.add(key="message").value.kvlist_value
            message.values.add(key="role").value.string_value = "assistant"
            message.values.add(key="content").value.string_value = text
        else:
            body.values.add(key="content").value.string_value = text
    return request


def lines(path: Path) -> list[dict[str, Any]]:
    """The recordings of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def told(recording: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """What is compared of a recording's steps."""
    for step in recording["steps"]:
        reply = step["reply"]
        calls = [(c["tool"], c.get("args"), c.get("result")) for c in step.get("calls", ())]
        yield reply.get("text"), reply["finish_reason"], reply["usage"], calls


#: The steps of ``run_spans()``, as ``told`` gives them.
STEPS = [
    (None, "tool_calls", {"input": 101, "output": 10}, [("add", {"n": 1}, "1")]),
    (None, "tool_calls", {"input": 102, "output": 10}, [("add", {"n": 2}, "2")]),
    ("Done.", "stop", {"input": 103, "output": 10}, []),
]
