"""What a run of LangSmith's says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.langsmith_runs import (
    ASKED,
    COUNTED,
    FIRST,
    HEAT,
    RESULT,
    TOOL,
    USAGE,
    generated,
    lc,
    read,
    run,
)


@pytest.fixture
def steps(write_json: Any) -> Any:
    """The steps that the runs of one trace become."""

    def steps(*runs: dict[str, Any]) -> list[dict[str, Any]]:
        (recording,) = read(write_json(list(runs)))
        found: list[dict[str, Any]] = recording["steps"]
        return found

    return steps


CALLS = [{"tool": "heat", "args": {"to": 100}}]
CHAT = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "heat", "arguments": '{"to": 100}'}}
]}  # fmt: skip


@pytest.mark.parametrize(
    ("outputs", "text", "calls"),
    [
        (generated(lc("AIMessageChunk", content="Hi.", type="AIMessageChunk")), "Hi.", []),
        (generated({"type": "ai", "content": "Hi.", "tool_calls": []}), "Hi.", []),
        (generated(lc("AIMessage", content=[{"type": "tool_use", "id": "c1", "name": "heat"}],
                      tool_calls=[HEAT])), "", CALLS),
        (generated(lc("AIMessage", content="", additional_kwargs={
            "tool_calls": CHAT["tool_calls"]})), "", CALLS),
        (generated(lc("AIMessage", content="", additional_kwargs={
            "function_call": {"name": "heat", "arguments": '{"to": 100}'}})), "", CALLS),
        (generated(lc("AIMessage", content="", invalid_tool_calls=[
            {"name": "heat", "args": "{to", "id": "c1", "type": "invalid_tool_call"}])),
         "", [{"tool": "heat", "args": {"unparsed": "{to"}, "ok": False}]),
        ({"generations": [[{"text": "Hi.", "type": "Generation"}]]}, "Hi.", []),
        ({"choices": [{"message": CHAT}]}, "", CALLS),
        ({"output": [{"type": "reasoning"}, {"type": "function_call", "call_id": "c1",
                                             "name": "heat", "arguments": '{"to": 100}'}]},
         "", CALLS),
        ({"role": "assistant", "content": "Hi."}, "Hi.", []),
        ({"messages": [{"role": "user", "content": "x"}, CHAT]}, "", CALLS),
        ({"output": "Hi."}, "Hi.", []),
        ({"output": {"role": "assistant", "content": "Hi."}}, "Hi.", []),
        ({}, "", []),
        (None, "", []),
    ],
    ids=["streamed", "typed", "Anthropic through LangChain", "older LangChain", "function call",
         "unparsed call", "completion", "wrapped chat", "wrapped response", "wrapped Anthropic",
         "messages", "text", "message", "nothing", "null"],
)  # fmt: skip
def test_replies(steps: Any, outputs: Any, text: str, calls: list[Any]) -> None:
    (step,) = steps(run(1, "llm", {"messages": [ASKED]}, outputs))
    assert (step["reply"].get("text", ""), step.get("calls", [])) == (text, calls)


@pytest.mark.parametrize(
    "inputs",
    [
        {"messages": [[ASKED]]},
        {"messages": [{"role": "user", "content": "Boil water."}]},
        {"input": [{"type": "message", "role": "user", "content": "Boil water."}]},
        {"input": "Boil water."},
        {"prompts": ["Boil water."]},
        {"messages": [{"type": "human", "content": [{"type": "text", "text": "Boil water."}]}]},
    ],
)
def test_goals(write_json: Any, inputs: Any) -> None:
    (recording,) = read(write_json([run(1, "llm", inputs, {"output": "Hi."})]))
    assert recording["goal"] == "Boil water."


@pytest.mark.parametrize(
    ("outputs", "about", "usage"),
    [
        ({"usage_metadata": USAGE}, {}, COUNTED),
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, {}, {"input": 7, "output": 3}),
        ({"llm_output": {"token_usage": {"prompt_tokens": 7, "completion_tokens": 3}}}, {},
         {"input": 7, "output": 3}),
        ({}, {"prompt_tokens": 7, "completion_tokens": 3}, {"input": 7, "output": 3}),
        ({}, {"prompt_tokens": 100, "completion_tokens": 20,
              "prompt_token_details": {"cache_read": 64},
              "completion_token_details": {"reasoning": 5}}, COUNTED),
        ({}, {"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"usage_metadata": {"input_tokens": 100, "output_tokens": 2, "input_token_details": {
            "cache_read": 64, "ephemeral_5m_input_tokens": 8, "ephemeral_1h_input_tokens": 1}}},
         {}, {"input": 27, "cache_read": 64, "cache_write": 9, "output": 2}),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_tokens(steps: Any, outputs: Any, about: Any, usage: dict[str, int] | None) -> None:
    (step,) = steps(run(1, "llm", {}, {"output": "Hi.", **outputs}, **about))
    assert step["reply"].get("usage") == usage


@pytest.mark.parametrize(
    ("about", "call"),
    [
        ({"outputs": {"output": RESULT}}, {"result": "hot", "ok": True}),
        ({"outputs": {"output": "hot"}, "inputs": {"input": "{'to': 100}"}},
         {"result": "hot", "ok": True}),
        ({"outputs": {"to": 100}}, {"result": '{"to": 100}', "ok": True}),
        ({"outputs": {"output": {**RESULT, "content": "no", "status": "error"}}},
         {"result": "no", "ok": False}),
        ({"outputs": {}, "error": "ValueError('too hot')Traceback (most recent call last):\n  x"},
         {"result": "ValueError('too hot')", "ok": False}),
        ({"outputs": {}, "error": "Traceback (most recent call last):\n  x\n\nValueError: hot"},
         {"result": "ValueError: hot", "ok": False}),
        ({"outputs": None}, {}),
    ],
)  # fmt: skip
def test_executions(steps: Any, about: dict[str, Any], call: dict[str, Any]) -> None:
    (step,) = steps(FIRST, {**TOOL, **about})
    assert step["calls"] == [{"tool": "heat", "args": {"to": 100}, **call, "ms": 100}]


def test_an_execution_finds_its_call_by_id(steps: Any) -> None:
    two = lc("AIMessage", content="", tool_calls=[HEAT, {**HEAT, "id": "c2"}])
    tools = [
        run(2, "tool", {"to": 100}, {"output": "b"}, name="heat", extra={"tool_call_id": "c2"}),
        run(3, "tool", {"to": 100}, {"output": "a"}, name="heat", extra={"tool_call_id": "c1"}),
    ]
    (step,) = steps(run(1, "llm", {"messages": [ASKED]}, generated(two)), *tools)
    assert [call["result"] for call in step["calls"]] == ["a", "b"]


def test_a_run_that_wraps_a_model_call_is_no_step(steps: Any) -> None:
    around = run(1, "llm", {}, {"output": "Hi."}, name="my_model")
    inner = run(2, "llm", {"messages": [ASKED]}, {"output": "Hi."}, parent_run_id="r1")
    assert len(steps(around, inner)) == 1


def test_a_run_that_has_not_ended_has_no_time(steps: Any) -> None:
    (step,) = steps({**FIRST, "end_time": None, "outputs": None})
    assert step == {"reply": {"model": "gpt-4o"}}
