"""What was said, in every way in which conventions say it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.importers import otlp
from harness.importers._spans.otlp import spans_from
from tests.importers.otlp_requests import (
    ARGS,
    CHAT,
    LLM,
    PARTS_IN,
    PARTS_OUT,
    PLACE,
    VERCEL,
    event,
    request,
    span,
)


def told(about: dict[str, Any], events: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A model call by itself as a recording."""
    found = otlp.recording_of(spans_from(request(span(1, about, events=events))), "t", PLACE)
    assert found is not None
    return found


HEAT = {"tool": "heat", "args": {"to": 100}}
BEDROCK = json.dumps(
    [{"text": "I heat."}, {"toolUse": {"toolUseId": "c", "name": "heat", "input": {"to": 100}}}]
)
OPENAI_CALL = {"id": "c", "type": "function", "function": {"name": "heat", "arguments": ARGS}}

#: Ways in which "Boil water." is asked, and "I heat." with a call of heat is answered.
SAID: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "parts": ({**CHAT, "gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT}, []),
    "parts that are no JSON text": (
        {
            **CHAT,
            "gen_ai.input.messages": json.loads(PARTS_IN),
            "gen_ai.output.messages": json.loads(PARTS_OUT),
        },
        [],
    ),
    "details in an event": (
        CHAT,
        [
            event(
                "gen_ai.client.inference.operation.details",
                {"gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT},
            )
        ],
    ),
    "events of 1.27": (
        CHAT,
        [
            event("gen_ai.system.message", {"content": "You cook."}),
            event("gen_ai.user.message", {"content": "Boil water."}),
            event(
                "gen_ai.choice",
                {
                    "index": 0,
                    "finish_reason": "tool_call",
                    "message": {"content": "I heat.", "tool_calls": [OPENAI_CALL]},
                },
            ),
        ],
    ),
    "events with the content as JSON": (
        CHAT,
        [
            event("gen_ai.user.message", {"gen_ai.event.content": '{"content": "Boil water."}'}),
            event(
                "gen_ai.choice",
                {
                    "gen_ai.event.content": json.dumps(
                        {
                            "finish_reason": "tool_call",
                            "message": {"content": "I heat.", "tool_calls": [OPENAI_CALL]},
                        }
                    )
                },
            ),
        ],
    ),
    "events with Bedrock's parts": (
        CHAT,
        [
            event("gen_ai.user.message", {"content": '[{"text": "Boil water."}]'}),
            event("gen_ai.choice", {"finish_reason": "tool_call", "message": BEDROCK}),
        ],
    ),
    "events of 1.26": (
        CHAT,
        [
            event("gen_ai.content.prompt", {"gen_ai.prompt": PARTS_IN}),
            event("gen_ai.content.completion", {"gen_ai.completion": PARTS_OUT}),
        ],
    ),
    "Logfire": (
        {
            **CHAT,
            "events": json.dumps(
                [
                    {"event.name": "gen_ai.user.message", "content": "Boil water."},
                    {
                        "event.name": "gen_ai.choice",
                        "finish_reason": "tool_call",
                        "message": {"content": "I heat.", "tool_calls": [OPENAI_CALL]},
                    },
                ]
            ),
        },
        [],
    ),
    "OpenLLMetry": (
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "You cook.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": '[{"type": "text", "text": "Boil water."}]',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "I heat.",
            "gen_ai.completion.0.finish_reason": "tool_call",
            "gen_ai.completion.0.tool_calls.0.id": "c",
            "gen_ai.completion.0.tool_calls.0.name": "heat",
            "gen_ai.completion.0.tool_calls.0.arguments": ARGS,
        },
        [],
    ),
    "Google's ADK": (
        {
            "gen_ai.system": "gcp.vertex.agent",
            "gen_ai.request.model": "gemini",
            "gen_ai.response.finish_reasons": ["tool_call"],
            "gcp.vertex.agent.llm_request": json.dumps(
                {"contents": [{"role": "user", "parts": [{"text": "Boil water."}]}]}
            ),
            "gcp.vertex.agent.llm_response": json.dumps(
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "I heat."},
                            {"functionCall": {"id": "c", "name": "heat", "args": {"to": 100}}},
                        ],
                    }
                }
            ),
        },
        [],
    ),
    "OpenInference": (
        {
            **LLM,
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "You cook.",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "Boil water.",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "I heat.",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "heat",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": ARGS,
            "output.value": '{"choices": [{"finish_reason": "tool_call"}]}',
        },
        [],
    ),
    "OpenInference as a tree": (
        {
            **LLM,
            "llm.finish_reason": "tool_call",
            "llm.input_messages": [{"message.role": "user", "message.content": "Boil water."}],
            "llm.output_messages": [
                {
                    "message": {
                        "role": "assistant",
                        "content": "I heat.",
                        "tool_calls": [
                            {
                                "tool_call": {
                                    "id": "c",
                                    "function": {"name": "heat", "arguments": ARGS},
                                }
                            }
                        ],
                    }
                }
            ],
        },
        [],
    ),
    "OpenInference's values only": (
        {
            **LLM,
            "input.value": '{"messages": [{"role": "user", "content": "Boil water."}]}',
            "output.value": json.dumps(
                {
                    "choices": [
                        {
                            "finish_reason": "tool_call",
                            "message": {"content": "I heat.", "tool_calls": [OPENAI_CALL]},
                        }
                    ]
                }
            ),
        },
        [],
    ),
    "Vercel": (
        {
            **VERCEL,
            "ai.prompt.messages": json.dumps(
                [{"role": "user", "content": [{"type": "text", "text": "Boil water."}]}]
            ),
            "ai.response.text": "I heat.",
            "ai.response.finishReason": "tool_call",
            "ai.response.toolCalls": json.dumps(
                [{"toolCallId": "c", "toolName": "heat", "input": ARGS}]
            ),
        },
        [],
    ),
    "events whose calls are a JSON text": (
        {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_call"]},
        [
            event("gen_ai.user.message", {"content": "Boil water."}),
            event(
                "gen_ai.choice",
                {
                    "message": json.dumps({"role": "assistant", "content": "I heat."}),
                    "tool_calls": json.dumps([OPENAI_CALL]),
                },
            ),
        ],
    ),
    "Vercel, version 4": (
        {
            **VERCEL,
            "ai.prompt.messages": '[{"role":"user","content":"Boil water."}]',
            "ai.response.text": "I heat.",
            "ai.response.finishReason": "tool_call",
            "ai.response.toolCalls": json.dumps(
                [{"toolCallType": "function", "toolCallId": "c", "toolName": "heat", "args": ARGS}]
            ),
        },
        [],
    ),
}


@pytest.mark.parametrize("way", SAID)
def test_what_was_asked_and_answered(way: str) -> None:
    found = told(*SAID[way])
    (step,) = found["steps"]
    assert found["goal"] == "Boil water."
    assert (step["reply"]["text"], step["calls"]) == ("I heat.", [HEAT])
    assert step["reply"]["finish_reason"] == "tool_call"


@pytest.mark.parametrize(
    "calls", [[OPENAI_CALL], json.dumps([OPENAI_CALL]), [json.dumps(OPENAI_CALL)]]
)
def test_an_event_tells_of_calls_before_in_any_form(calls: Any) -> None:
    asked = event("gen_ai.user.message", {"content": "Boil water."})
    choice = event("gen_ai.choice", {"message": json.dumps({"tool_calls": [OPENAI_CALL]})})
    before = event("gen_ai.assistant.message", {"tool_calls": calls})
    result = event("gen_ai.tool.message", {"id": "c", "content": "hot"})
    spans = [span(1, CHAT, at=1, events=[asked, choice]),
             span(2, CHAT, at=50, events=[asked, before, result])]  # fmt: skip
    found = otlp.recording_of(spans_from(request(*spans)), "t", PLACE)
    assert found is not None
    assert [step.get("calls") for step in found["steps"]] == [
        [{**HEAT, "result": "hot", "ok": True}],
        None,
    ]
