"""An agent on the openai client that an instrumentation watches; exports by the usual variables.

``python -m tests.collect.instrumented MODULE plain|stream|responses|kept span|alone``: the agent
calculates with two tools, against a scripted server, within a span of its own or in none. It uses
Chat Completions, or Responses, where the server may keep what was said. Nothing in it knows where
its spans go.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from opentelemetry import _logs, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.openai_server import call, say, serving

GOAL = "How much is (1 + 2) * (3 + 4)?"
SCRIPT = (
    say("Let me add.", call("add", {"a": 1, "b": 2}, "c1"), call("add", {"a": 3, "b": 4}, "c2")),
    say("", call("mul", {"a": 3, "b": 7}, "c3")),
    say("The result is 21."),
)
#: What the recording should hold: text, finish reason, and of each call tool, arguments, result.
STEPS = [
    (
        "Let me add.",
        "tool_calls",
        [("add", {"a": 1, "b": 2}, "3"), ("add", {"a": 3, "b": 4}, "7")],
    ),
    (None, "tool_calls", [("mul", {"a": 3, "b": 7}, "21")]),
    ("The result is 21.", "stop", []),
]
_NUMBERS = {"type": "object", "properties": {name: {"type": "integer"} for name in "ab"}}
_TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": _NUMBERS}}
    for name in ("add", "mul")
]


def main(module: str, how: str, alone: bool) -> None:
    """Instrument, run, and send what is left."""
    spans, records = TracerProvider(), LoggerProvider()
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    records.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(spans)
    _logs.set_logger_provider(records)
    import_module(module).OpenAIInstrumentor().instrument()
    around = nullcontext() if alone else trace.get_tracer("mine").start_as_current_span("calculate")
    with serving(*SCRIPT) as server, around:
        if how in ("responses", "kept"):
            respond(server.client(), kept=how == "kept")
        else:
            run(server.client(), how == "stream")
    spans.shutdown()
    records.shutdown()


def run(client: Any, streamed: bool) -> None:
    """The loop of the agent."""
    talk: list[dict[str, Any]] = [
        {"role": "system", "content": "You calculate."},
        {"role": "user", "content": GOAL},
    ]
    while True:
        text, calls = _ask(client, talk, streamed)
        talk.append({"role": "assistant", "content": text, "tool_calls": calls})
        if not calls:
            return
        for each in calls:
            result = _result(**each["function"])
            talk.append({"role": "tool", "tool_call_id": each["id"], "content": result})


def respond(client: Any, kept: bool) -> None:
    """The same with Responses."""
    tools: Any = [{"type": "function", **tool["function"]} for tool in _TOOLS]
    talk: list[Any] = [{"role": "user", "content": GOAL}]
    before: dict[str, str] = {}
    while True:
        reply = client.responses.create(model="gpt-4o", input=talk, tools=tools, **before)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return
        results = [
            {
                "type": "function_call_output",
                "call_id": each.call_id,
                "output": _result(each.arguments, each.name),
            }
            for each in calls
        ]
        said = [item.model_dump(exclude_none=True) for item in reply.output]
        talk = results if kept else [*talk, *said, *results]
        before = {"previous_response_id": reply.id} if kept else {}


def _result(arguments: str, name: str, **_: Any) -> str:
    a, b = json.loads(arguments).values()
    return str(a + b if name == "add" else a * b)


def _ask(client: Any, talk: list[Any], streamed: bool) -> tuple[str, list[dict[str, Any]]]:
    asked = {"model": "gpt-4o", "messages": talk, "tools": _TOOLS}
    if not streamed:
        message = client.chat.completions.create(**asked).choices[0].message
        return message.content, [c.model_dump(exclude_none=True) for c in message.tool_calls or ()]
    text, calls = "", []
    options = {"stream": True, "stream_options": {"include_usage": True}}
    for chunk in client.chat.completions.create(**asked, **options):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                if part.id:
                    calls.append(part.model_dump(exclude_none=True, exclude={"index"}))
                else:
                    calls[-1]["function"]["arguments"] += part.function.arguments
    return text, calls


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] == "alone")
