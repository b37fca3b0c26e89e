"""What a span is and what it measured, by the names that conventions use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.importers.otlp_requests import ARGS, CHAT, LLM, PARTS_IN, VERCEL, event, node_of

EXECUTE = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "heat"}


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (
            {
                **EXECUTE,
                "gen_ai.tool.call.id": "c",
                "gen_ai.tool.call.arguments": ARGS,
                "gen_ai.tool.call.result": "hot",
            },
            "c",
        ),
        (
            {
                **EXECUTE,
                "gen_ai.tool.call.id": "c",
                "gen_ai.tool.args": ARGS,
                "gen_ai.output": "hot",
            },
            "c",
        ),
        ({"gen_ai.tool.name": "heat", "tool_arguments": ARGS, "tool_response": "hot"}, None),
        (
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "heat",
                "traceloop.entity.input": ARGS,
                "traceloop.entity.output": "hot",
            },
            None,
        ),
        (
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "heat",
                "tool.parameters": ARGS,
                "output.value": "hot",
            },
            None,
        ),
        (
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "heat",
                "tool_call.id": "c",
                "input.value": ARGS,
                "output.value": "hot",
            },
            "c",
        ),
        (
            {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "heat",
                "ai.toolCall.id": "c",
                "ai.toolCall.args": ARGS,
                "ai.toolCall.result": '"hot"',
            },
            "c",
        ),
    ],
)
def test_a_tools_execution(about: dict[str, Any], expected: str | None) -> None:
    found = node_of(about)
    assert (found.kind, found.tool, found.args, found.result, found.call_id) == (
        "tool",
        "heat",
        {"to": 100},
        "hot",
        expected,
    )


def usage(*counts: int) -> dict[str, int]:
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return {name: count for name, count in zip(names, counts, strict=True) if count}


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (
            {**CHAT, "gen_ai.usage.input_tokens": 90, "gen_ai.usage.output_tokens": 20},
            usage(90, 0, 0, 20, 0),
        ),
        (
            {**CHAT, "gen_ai.usage.prompt_tokens": 90, "gen_ai.usage.completion_tokens": 20},
            usage(90, 0, 0, 20, 0),
        ),
        (
            {
                **CHAT,
                "gen_ai.usage.input_tokens": 90,
                "gen_ai.usage.output_tokens": 20,
                "gen_ai.usage.cache_read.input_tokens": 50,
                "gen_ai.usage.cache_creation.input_tokens": 10,
                "gen_ai.usage.reasoning.output_tokens": 5,
            },
            usage(30, 50, 10, 15, 5),
        ),
        # Anthropic's own rule: what was cached stands beside the input.
        (
            {
                **CHAT,
                "gen_ai.usage.input_tokens": 9,
                "gen_ai.usage.output_tokens": 20,
                "gen_ai.usage.cache_read.input_tokens": 50,
            },
            usage(9, 50, 0, 20, 0),
        ),
        (
            {**CHAT, "gen_ai.usage.input_tokens": 9.0, "gen_ai.usage.output_tokens": 0},
            usage(9, 0, 0, 0, 0),
        ),
        ({**CHAT, "gen_ai.usage.output_tokens": 4}, usage(0, 0, 0, 4, 0)),
        ({**CHAT, "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}, {}),
        ({**CHAT, "llm.usage.total_tokens": 99}, None),
        (CHAT, None),
        (
            {
                **LLM,
                "llm.token_count.prompt": 90,
                "llm.token_count.completion": 20,
                "llm.token_count.total": 110,
                "llm.token_count.prompt_details.cache_read": 50,
                "llm.token_count.prompt_details.cache_write": 10,
                "llm.token_count.completion_details.reasoning": 5,
            },
            usage(30, 50, 10, 15, 5),
        ),
        ({**LLM, "llm.token_count.total": 110}, None),
        (
            {**VERCEL, "ai.usage.promptTokens": 90, "ai.usage.completionTokens": 20},
            usage(90, 0, 0, 20, 0),
        ),
        (
            {
                **VERCEL,
                "ai.usage.inputTokens": 90,
                "ai.usage.outputTokens": 20,
                "ai.usage.cachedInputTokens": 50,
                "ai.usage.reasoningTokens": 5,
            },
            usage(40, 50, 0, 15, 5),
        ),
    ],
)
def test_tokens(about: dict[str, Any], expected: dict[str, int] | None) -> None:
    assert node_of(about).usage == expected


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"}, "agent"),
        ({"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m"}, "other"),
        ({"gen_ai.operation.name": "create_agent"}, "other"),
        ({"gen_ai.request.model": "m"}, "other"),
        ({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1}, "llm"),
        ({"gen_ai.request.model": "m", "gen_ai.completion.0.content": "Hi."}, "llm"),
        ({"traceloop.span.kind": "agent"}, "agent"),
        ({"traceloop.span.kind": "workflow", "gen_ai.request.model": "m"}, "other"),
        ({"llm.request.type": "embedding", "gen_ai.usage.input_tokens": 1}, "other"),
        ({"openinference.span.kind": "CHAIN"}, "other"),
        ({"openinference.span.kind": "RETRIEVER"}, "other"),
        ({"openinference.span.kind": "agent"}, "agent"),
        ({"ai.operationId": "ai.generateText", "ai.usage.promptTokens": 1}, "agent"),
        ({"ai.operationId": "ai.streamObject.doStream"}, "llm"),
        ({"ai.operationId": "ai.embed.doEmbed"}, "other"),
        ({"http.request.method": "GET"}, "other"),
    ],
)
def test_what_a_span_is(about: dict[str, Any], kind: str) -> None:
    assert node_of(about).kind == kind


TOOL = {"type": "function", "function": {"name": "heat"}}


@pytest.mark.parametrize(
    "about",
    [
        {**CHAT, "gen_ai.tool.definitions": '[{"type": "function", "name": "heat"}]'},
        {
            **CHAT,
            "llm.request.functions.0.name": "heat",
            "llm.request.functions.0.description": "d",
        },
        {**LLM, "llm.tools.0.tool.json_schema": json.dumps(TOOL)},
        {**VERCEL, "ai.prompt.tools": ['{"type":"function","name":"heat"}']},
    ],
)
def test_tools_that_were_offered(about: dict[str, Any]) -> None:
    assert node_of(about).offered == ["heat"]


@pytest.mark.parametrize(
    ("about", "model"),
    [
        ({**CHAT, "gen_ai.request.model": "gpt", "gen_ai.response.model": "gpt-1"}, "gpt-1"),
        ({**CHAT, "gen_ai.request.model": "gpt"}, "gpt"),
        ({**LLM, "llm.model_name": "gpt"}, "gpt"),
        ({**VERCEL, "ai.model.id": "gpt", "ai.response.model": "gpt-1"}, "gpt-1"),
        (CHAT, None),
    ],
)
def test_models(about: dict[str, Any], model: str | None) -> None:
    assert node_of(about).model == model


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": PARTS_IN},
            "Boil water.",
        ),
        ({"openinference.span.kind": "AGENT", "input.value": "Boil water."}, "Boil water."),
        (
            {"ai.operationId": "ai.generateText", "ai.prompt": '{"prompt":"Boil water."}'},
            "Boil water.",
        ),
        (
            {
                "ai.operationId": "ai.streamText",
                "ai.prompt": '{"messages":[{"role":"user","content":"Boil water."}]}',
            },
            "Boil water.",
        ),
        ({"gen_ai.operation.name": "invoke_agent"}, None),
    ],
)
def test_what_an_agent_was_given(about: dict[str, Any], text: str | None) -> None:
    assert node_of(about).text_in == text


@pytest.mark.parametrize(
    ("message", "about", "events", "words"),
    [
        ("rate limit", {}, [], "rate limit"),
        ("", {"error.type": "429"}, [], "429"),
        (
            "",
            {},
            [event("exception", {"exception.type": "Timeout", "exception.message": "60 s"})],
            "Timeout: 60 s",
        ),
        ("", {}, [], "error"),
    ],
)
def test_errors(message: str, about: dict[str, Any], events: list[Any], words: str) -> None:
    assert node_of({**CHAT, **about}, events, error=message).error == words


def test_times_are_whole_milliseconds() -> None:
    found = node_of(CHAT, at=5, ms=7)
    assert (found.start_ms, found.end_ms) == (1005, 1012)


@pytest.mark.parametrize(
    ("reasons", "reply", "expected"),
    [
        (["stop", "tool_calls"], None, "tool_calls"),
        (["stop", "tool_calls"], {"type": "tool_call", "name": "heat"}, "tool_calls"),
        (["stop", "tool_calls"], {"type": "text", "content": "Done."}, "stop"),
        (["length"], None, "length"),
        ([], None, None),
    ],
)
def test_a_response_that_asks_for_tools_has_not_stopped(
    reasons: Any, reply: Any, expected: Any
) -> None:
    about = {**CHAT, "gen_ai.response.finish_reasons": reasons}
    if reply:
        about["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": [reply]}])
    assert node_of(about).finish_reason == expected


def test_what_openinference_was_told_to_hide_is_unknown() -> None:
    hidden = "__REDACTED__"
    found = node_of({**LLM, "input.value": hidden, "output.value": hidden})
    assert (found.messages, found.reply) == ([], [])
    found = node_of({"openinference.span.kind": "TOOL", "output.value": hidden})
    assert found.result is None
