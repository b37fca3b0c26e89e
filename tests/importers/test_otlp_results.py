"""What came back from a call, where only the next model call's input tells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.importers import otlp
from harness.importers._spans.otlp import spans_from
from tests.importers.otlp_requests import CHAT, PARTS_IN, PARTS_OUT, PLACE, request, span

HEAT = {"tool": "heat", "args": {"to": 100}}


#: Ways in which a result is told to the next model call.
RESULTS: dict[str, list[Any]] = {
    "parts": [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "hot"}]}
    ],
    "older parts": [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "result": "hot"}]}
    ],
    "Chat Completions": [{"role": "tool", "tool_call_id": "c", "content": "hot"}],
    "Anthropic": [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "hot"}]}
    ],
    "Bedrock": [
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "hot"}]}}],
        }
    ],
    "Gemini": [
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c", "name": "heat", "response": "hot"}}],
        }
    ],
    "Vercel": [
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c",
                    "toolName": "heat",
                    "output": {"type": "text", "value": "hot"},
                }
            ],
        }
    ],
    "Vercel, version 4": [
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "result": "hot"}]}
    ],
}


@pytest.mark.parametrize("way", RESULTS)
def test_what_came_back_from_a_call(way: str) -> None:
    first = span(
        1, {**CHAT, "gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT}
    )
    asked = json.dumps([*json.loads(PARTS_IN), *json.loads(PARTS_OUT), *RESULTS[way]])
    second = span(2, {**CHAT, "gen_ai.input.messages": asked}, at=50)
    found = otlp.recording_of(spans_from(request(first, second)), "t", PLACE)
    assert found is not None
    assert found["steps"][0]["calls"] == [{**HEAT, "result": "hot", "ok": True}]
    assert "user" not in found["steps"][1]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool-error", "toolCallId": "c", "error": "cold"},
        {
            "type": "tool-result",
            "toolCallId": "c",
            "output": {"type": "error-text", "value": "cold"},
        },
        {"toolResult": {"toolUseId": "c", "status": "error", "content": [{"text": "cold"}]}},
        {"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": "cold"},
    ],
)
def test_a_result_that_says_it_failed(part: dict[str, Any]) -> None:
    first = span(
        1, {**CHAT, "gen_ai.input.messages": PARTS_IN, "gen_ai.output.messages": PARTS_OUT}
    )
    second = span(
        2,
        {**CHAT, "gen_ai.input.messages": json.dumps([{"role": "tool", "content": [part]}])},
        at=50,
    )
    found = otlp.recording_of(spans_from(request(first, second)), "t", PLACE)
    assert found is not None
    assert found["steps"][0]["calls"] == [{**HEAT, "result": "cold", "ok": False}]
