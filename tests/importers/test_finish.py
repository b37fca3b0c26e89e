"""Why a reply ended, whoever says so: one that was cut off is no end of the agent's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.importers._finish import finish_reason, is_own_stop
from tests.importers import langfuse_runs, langsmith_runs
from tests.importers.chat_runs import ASK, DONE, HEAT, HOT, One, Write, run, say
from tests.importers.langfuse_runs import FIRST, LAST, ROOT, TOOL
from tests.importers.langsmith_runs import generated, lc
from tests.importers.otlp_requests import LLM, node_of

DETAILS = {"incomplete_details": {"reason": "max_output_tokens"}}
SAID = [{"type": "message", "role": "assistant", "status": "incomplete",
         "content": [{"type": "output_text", "text": "It b"}]}]  # fmt: skip
RESPONSE = {"object": "response", "status": "incomplete", **DETAILS, "output": SAID}
LONG = {"response_metadata": {"finish_reason": "length"}}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (None, None),
        ("text", None),
        ([], None),
        ({}, None),
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": 5, "stop_reason": "max_tokens"}, "max_tokens"),
        ({"stopReason": "toolUse"}, "toolUse"),
        ({"choices": [{"finish_reason": "length"}]}, "length"),
        ({"choices": []}, None),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "MAX_TOKENS"),
        ({"status": "completed"}, "completed"),
        ({"status": "incomplete", "incomplete_details": None}, "incomplete"),
        # A tool's status tells of its result.
        ({"status": "success"}, None),
        (RESPONSE, "max_output_tokens"),
        (SAID, "incomplete"),
        (LONG, "length"),
        ({"response_metadata": {"status": "incomplete", **DETAILS}}, "max_output_tokens"),
        (lc("AIMessage", content="a", **LONG), "length"),
        (generated(lc("AIMessage", **LONG), finish_reason="stop"), "length"),
        (generated({"content": "a"}, finish_reason="length"), "length"),
    ],
)
def test_reasons(reply: Any, reason: str | None) -> None:
    assert finish_reason(reply) == reason


@pytest.mark.parametrize(
    ("reason", "own"),
    [(None, True), ("stop", True), ("STOP", True), ("end_turn", True), ("completed", True),
     ("length", False), ("MAX_TOKENS", False), ("max_output_tokens", False),
     ("incomplete", False), ("in_progress", False), ("content_filter", False)],
)  # fmt: skip
def test_a_model_that_ends_by_itself(reason: str | None, own: bool) -> None:
    assert is_own_stop(reason) == own


CUT = [
    ({"stop_reason": "max_tokens"}, "max_tokens"),
    ({"status": "incomplete"}, "incomplete"),
    (LONG, "length"),
    ({"stop_reason": "end_turn"}, "end_turn"),
    ({"status": "completed"}, "completed"),
    ({}, None),
]


def ended(recording: dict[str, Any]) -> tuple[Any, Any]:
    reply = recording["steps"][-1]["reply"]
    return reply.get("finish_reason"), recording["recorded"].get("exit_reason")


def ending(reason: str | None) -> tuple[Any, Any]:
    return reason, "agent_finished" if is_own_stop(reason) else None


@pytest.mark.parametrize(("more", "reason"), CUT)
def test_chat(one: One, more: dict[str, Any], reason: str | None) -> None:
    assert ended(one(run(ASK, HEAT, HOT, {**DONE, **more}))) == ending(reason)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        *(({**say("assistant", "It b"), **more}, reason) for more, reason in CUT),
        ([{**say("assistant", "It b"), **LONG}], "length"),
        ({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "It b"}],
          "stop_reason": "max_tokens"}, "max_tokens"),
        (lc("AIMessage", content="It b", **LONG), "length"),
        (RESPONSE, "max_output_tokens"),
        (SAID, "incomplete"),
        ({**RESPONSE, "status": "completed", "incomplete_details": None}, "completed"),
        ("It b", None),
    ],
)  # fmt: skip
def test_langfuse(write_json: Write, output: Any, reason: str | None) -> None:
    made = langfuse_runs.trace(ROOT, FIRST, TOOL, {**LAST, "output": output})
    (found,) = langfuse_runs.read(write_json(made))
    assert ended(found) == ending(reason)


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (generated(lc("AIMessage", content="It b", **LONG)), "length"),
        (generated(lc("AIMessage", content="It b",
                      response_metadata={"status": "incomplete", **DETAILS})), "max_output_tokens"),
        (generated(lc("AIMessage", content="It b", response_metadata={"status": "completed"})),
         "completed"),
        (generated(lc("AIMessage", content="It b"), finish_reason="stop"), "stop"),
        (RESPONSE, "max_output_tokens"),
        ({"output": {**say("assistant", "It b"), "stop_reason": "max_tokens"}}, "max_tokens"),
        ({"messages": [{**say("assistant", "It b"), **LONG}]}, "length"),
        ({"messages": [{**say("assistant", "I heat."), **LONG}, say("assistant", "It b")]}, None),
    ],
)  # fmt: skip
def test_langsmith(write_json: Write, outputs: Any, reason: str | None) -> None:
    *before, last = langsmith_runs.RUNS
    (found,) = langsmith_runs.read(write_json([*before, {**last, "outputs": outputs}]))
    assert ended(found) == ending(reason)


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"output.value": json.dumps(RESPONSE)}, "max_output_tokens"),
        ({"output.value": json.dumps({"stop_reason": "max_tokens"})}, "max_tokens"),
        ({"output.value": json.dumps(generated({}, finish_reason="length"))}, "length"),
        ({"output.value": json.dumps(RESPONSE), "llm.finish_reason": "length"}, "length"),
        ({"output.value": "It boils."}, None),
    ],
)
def test_openinference(about: dict[str, Any], reason: str | None) -> None:
    assert node_of({**LLM, **about}).finish_reason == reason
