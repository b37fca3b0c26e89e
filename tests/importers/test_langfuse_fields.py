"""What an observation of Langfuse's says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.langfuse_runs import ASKED, CALLED, FIRST, observation, read, trace


@pytest.fixture
def steps(write_json: Any) -> Any:
    """The steps that the observations of one trace become."""

    def steps(*observations: dict[str, Any]) -> list[dict[str, Any]]:
        (recording,) = read(write_json(trace(*observations)))
        found: list[dict[str, Any]] = recording["steps"]
        return found

    return steps


@pytest.mark.parametrize(
    ("details", "usage"),
    [
        ({"input": 100, "output": 20}, {"input": 100, "output": 20}),
        (
            {"input": 100, "input_cached_tokens": 64, "output": 20, "output_reasoning_tokens": 5,
             "total": 120},
            {"input": 36, "cache_read": 64, "output": 15, "reasoning": 5},
        ),
        (
            {"input": 36, "input_cache_read": 64, "output": 15, "output_reasoning": 5,
             "total": 120},
            {"input": 36, "cache_read": 64, "output": 15, "reasoning": 5},
        ),
        (
            {"input": 9, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 8,
             "output": 2},
            {"input": 9, "cache_read": 64, "cache_write": 8, "output": 2},
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 20,
             "prompt_tokens_details": {"cached_tokens": 64}},
            {"input": 36, "cache_read": 64, "output": 20},
        ),
        (
            {"input_tokens": 100, "output_tokens": 20,
             "input_tokens_details": {"cached_tokens": 64}},
            {"input": 36, "cache_read": 64, "output": 20},
        ),
        ({"input": "100", "output": "20"}, {"input": 100, "output": 20}),
        ({"input": 0, "output": 0, "total": 0}, None),
        ({"total": 120}, None),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_tokens(steps: Any, details: Any, usage: dict[str, int] | None) -> None:
    (step,) = steps(observation(1, input=ASKED, output="Hi.", usageDetails=details))
    assert step["reply"].get("usage") == usage


def test_usage_of_older_servers(steps: Any) -> None:
    usage = {"unit": "TOKENS", "input": 7, "output": 3, "total": 10}
    (step,) = steps(observation(1, input=ASKED, output="Hi.", usage=usage))
    assert step["reply"]["usage"] == {"input": 7, "output": 3}


CALLS = [{"tool": "heat", "args": {"to": 100}}]


@pytest.mark.parametrize(
    ("output", "text", "calls"),
    [
        ("Hi.", "Hi.", []),
        ({"role": "assistant", "content": "Hi."}, "Hi.", []),
        ([{"role": "assistant", "content": "Hi."}], "Hi.", []),
        ({"choices": [{"message": CALLED, "finish_reason": "tool_calls"}]}, "", CALLS),
        ([{"type": "reasoning", "summary": []},
          {"type": "function_call", "call_id": "c1", "name": "heat", "arguments": '{"to": 100}'}],
         "", CALLS),
        ([{"type": "message", "role": "assistant",
           "content": [{"type": "output_text", "text": "Hi."}]}], "Hi.", []),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "heat"},
                                           {"type": "text", "text": "Hi."}],
          "tool_calls": [{"id": "c1", "name": "heat", "args": {"to": 100}}]}, "Hi.", CALLS),
        ({"content": {"role": "model", "parts": [{"function_call": {"name": "heat",
                                                                    "args": {"to": 100}}}]}},
         "", CALLS),
    ],
    ids=["text", "message", "messages", "completion", "response's call", "response's text",
         "LangChain", "Gemini"],
)  # fmt: skip
def test_replies(steps: Any, output: Any, text: str, calls: list[Any]) -> None:
    (step,) = steps(observation(1, input=ASKED, output=output))
    assert (step["reply"].get("text", ""), step.get("calls", [])) == (text, calls)


@pytest.mark.parametrize(
    ("given", "goal"),
    [
        (ASKED, "Boil water."),
        ("Boil water.", "Boil water."),
        ({"input": ASKED, "tools": []}, "Boil water."),
        ("system: Cook.\nuser: Boil water.\nassistant: None\ntool: user: x", "Boil water."),
        ("user: Boil\nwater.", "Boil\nwater."),
        ({"contents": [{"role": "user", "parts": [{"text": "Boil water."}]}]}, "Boil water."),
    ],
)
def test_goals(write_json: Any, given: Any, goal: str) -> None:
    (recording,) = read(write_json(trace(observation(1, input=given, output="Hi."))))
    assert recording["goal"] == goal
    assert "user" not in recording["steps"][0]


def test_none_in_a_joined_prompt_is_no_reply_and_the_call_around_it_knows_more(
    steps: Any,
) -> None:
    around = observation(
        1, input="x", output={"choices": [{"message": CALLED}]}, endTime="2026-01-01T00:00:09Z"
    )
    inner = observation(2, parentObservationId="o1", input="user: Boil water.", output="None")
    assert steps(around, inner) == [{"reply": {"ms": 100}, "calls": CALLS}]
    assert steps(observation(1, input="Anything?", output="None"))[0]["reply"]["text"] == "None"


@pytest.mark.parametrize(
    ("about", "call"),
    [
        ({"input": {"to": 100}, "output": "hot"}, {"result": "hot", "ok": True}),
        ({"input": {"args": [], "kwargs": {"to": 100}}, "output": 5}, {"result": "5", "ok": True}),
        ({"output": None}, {}),
        ({"level": "ERROR", "statusMessage": "burnt"}, {"result": "burnt", "ok": False}),
        ({"level": "ERROR", "output": "x"}, {"result": "x", "ok": False}),
        ({"type": "SPAN", "output": {"type": "tool", "content": "hot", "tool_call_id": "c1"}},
         {"result": "hot", "ok": True}),
        ({"output": {"role": "tool", "content": "burnt", "status": "error"}},
         {"result": "burnt", "ok": False}),
        ({"type": "SPAN", "metadata": {"attributes": {"openinference.span.kind": "TOOL",
                                                      "output.value": "hot"}}},
         {"result": "hot", "ok": True}),
    ],
)  # fmt: skip
def test_executions(steps: Any, about: dict[str, Any], call: dict[str, Any]) -> None:
    (step,) = steps(FIRST, observation(2, **{"kind": "TOOL", "name": "heat", **about}))
    assert step["calls"] == [{"tool": "heat", "args": {"to": 100}, **call, "ms": 100}]


def test_events_of_beeai_are_one_execution(steps: Any) -> None:
    """Its instrumentation makes a span of each event and ends them all when the run is over."""

    def event(number: int, name: str, **more: Any) -> dict[str, Any]:
        about = {"openinference.span.kind": "TOOL", "target": f"tool.heat.{name}", "name": name}
        named = f"tool.heat.{name}-1"
        return observation(number, "SPAN", name=named, metadata={"attributes": {**about, **more}})

    asked = {"tool.parameters": {"to": 100}}
    events = [
        event(2, "start", **asked),
        event(3, "success", **asked, **{"output.value": "hot"}),
        event(4, "finish"),
    ]
    (step,) = steps(observation(1, input=ASKED), *events)
    assert step["calls"] == [
        {"tool": "tool.heat", "args": {"to": 100}, "result": "hot", "ok": True}
    ]
