"""Values that no convention allows."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers._spans.otlp import spans_from
from harness.importers.otlp import grouped, recording_of
from harness.scenario import Scenario
from tests.importers.otlp_requests import (
    AGENT,
    ASKED,
    CHAT,
    LLM,
    PLACE,
    VERCEL,
    event,
    request,
    span,
)

HOSTILE: list[Any] = [
    None, 7, -1, 1.5, True, "", "x", "[]", "{}", "null", "[1]", "[[]]", '[{"type": "tool_call"}]',
    '[{"role": "assistant", "parts": [1, {"type": "tool_call", "name": 5, "arguments": [1]}]}]',
    '[{"toolUse": 3}]', '{"messages": 5}', '{"generations": [[]]}', '{"a":' * 3000, [], [None], {},
    '{"a":' * 400 + "1" + "}" * 400, "[" * 400 + "]" * 400,
]  # fmt: skip
NAMES = [
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion.0",
    "gen_ai.prompt.0.tool_calls", "gen_ai.completion.0.tool_calls.0", "events", "gen_ai.output",
    "gen_ai.response.finish_reasons", "gen_ai.tool.definitions", "gcp.vertex.agent.llm_request",
    "llm.input_messages.0", "llm.input_messages.0.message", "llm.output_messages", "input.value",
    "llm.output_messages.0.message.tool_calls.0.tool_call", "output.value", "llm.tools.0",
    "llm.input_messages.0.message.contents.0", "ai.prompt", "ai.prompt.messages", "ai.prompt.tools",
    "ai.response.toolCalls", "ai.response.text", "ai.toolCall.args", "ai.response.model",
]  # fmt: skip


@pytest.mark.parametrize("kind", [CHAT, LLM, VERCEL], ids=["gen_ai", "openinference", "vercel"])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_values_give_a_recording_or_an_error(kind: dict[str, Any], name: str) -> None:
    for value in HOSTILE:
        (one,) = spans_from(request(span(1, kind)))
        one.attributes[name] = value
        try:
            found = recording_of([one], "t", PLACE)
        except ImportFormatError as error:
            found, words = None, str(error)
        assert "\n" not in words if found is None else Scenario.model_validate(found).steps


WHOLE = request(
    span(1, AGENT, events=[event("exception", {"a": [1, {"b": 2}]})]),
    span(2, {**ASKED, "list": [1, {"b": [None]}]}, parent=1),
    resource={"session.id": "s"},
)
ANYTHING: list[Any] = [
    None, 1, 2**70, "x", [], [None], {}, {"a": 1}, True, {"values": 3}, {"arrayValue": 3},
    {"arrayValue": {"values": [3]}}, {"kvlistValue": {"values": [3]}}, {"kvlistValue": [3]},
]  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object or list in a value, with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys if isinstance(value, dict | list) else ():
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


@pytest.mark.parametrize("thing", ANYTHING, ids=str)
def test_any_part_of_a_request_may_be_anything(thing: Any) -> None:
    whole = deepcopy(WHOLE)
    lost: list[str] = []
    for holder, key in list(_places(whole)):
        before, holder[key] = holder[key], deepcopy(thing)
        try:
            for name, spans in grouped(
                spans_from(whole, PLACE, lambda error: lost.append(str(error)))
            ).items():
                recording_of(spans, name, PLACE)
        except ImportFormatError as error:
            lost.append(str(error))
        holder[key] = before
    assert lost
    assert not any("\n" in words for words in lost)
