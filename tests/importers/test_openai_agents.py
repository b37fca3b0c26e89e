"""Items that processors of OpenAI's Agents SDK export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, available, recordings
from harness.importers._head import head_of

FORMAT = "openai-agents"
TRACE = {"object": "trace", "id": "trace_1", "workflow_name": "cooking", "group_id": None}
USAGE = {
    "requests": 1, "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 5},
}  # fmt: skip
COUNTED = {"input": 36, "cache_read": 64, "output": 15, "reasoning": 5}


def span(number: int, kind: str, **more: Any) -> dict[str, Any]:
    """A span of the agent's run that begins at its number of seconds and takes 100 ms."""
    about = {key: more.pop(key) for key in list(more) if key not in ("error", *ITEM)}
    at = f"2026-01-01T00:00:{number:02}"
    return {
        "object": "trace.span", "id": f"span_{number}", "trace_id": "trace_1",
        "parent_id": "span_0", "started_at": f"{at}.000000+00:00",
        "ended_at": f"{at}.100000+00:00", "span_data": {"type": kind, **about}, "error": None,
        **more,
    }  # fmt: skip


ITEM = ("id", "trace_id", "parent_id", "started_at", "ended_at", "span_data", "object")
ASKED = {"role": "user", "content": "Boil water."}
SYSTEM = {"role": "system", "content": "Cook."}
MADE = {"id": "c1", "type": "function", "function": {"name": "heat", "arguments": '{"to": 100}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [MADE]}
BACK = {"role": "tool", "tool_call_id": "c1", "content": "hot"}
DONE = {"role": "assistant", "content": "It boils."}
AGENT = span(0, "agent", name="cook", tools=["heat", "cool"], handoffs=[],
             ended_at="2026-01-01T00:00:09+00:00", parent_id=None)  # fmt: skip
FIRST = span(1, "generation", input=[SYSTEM, ASKED], output=[CALLED], model="gpt-x", usage=USAGE)
HEAT = span(2, "function", name="heat", input='{"to": 100}', output="hot", mcp_data=None)
LAST = span(
    3, "generation", input=[SYSTEM, ASKED, CALLED, BACK], output=[DONE], model="gpt-x", usage=USAGE
)
ITEMS = (TRACE, FIRST, HEAT, LAST, AGENT)
WHOLE: dict[str, Any] = {
    "schema": "harness/scenario@1",
    "id": "openai-agents/trace_1",
    "title": "cook",
    "source": "openai-agents:runs.jsonl",
    "goal": "Boil water.",
    "tags": ["openai-agents"],
    "steps": [
        {
            "reply": {"model": "gpt-x", "usage": COUNTED, "ms": 100},
            "calls": [
                {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 100}
            ],
        },
        {"reply": {"text": "It boils.", "model": "gpt-x", "usage": COUNTED, "ms": 100}},
    ],
    "recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
    "tools": ["heat", "cool"],
}


def read(path: Path, intake: Intake | None = None) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path, intake))


@pytest.mark.parametrize(
    "lines",
    [ITEMS, [{"data": list(ITEMS)}], [{"data": list(ITEMS[:2])}, {"data": list(ITEMS[2:])}],
     [ITEMS[1], TRACE, *ITEMS[2:]]],
    ids=["items", "a batch", "two batches", "trace later"],
)  # fmt: skip
def test_a_trace_in_each_shape_of_a_file(write_lines: Any, lines: Any) -> None:
    path = write_lines(*lines)
    assert [name for name, module in available().items() if module.fits(head_of(path))] == [FORMAT]
    assert read(path) == [WHOLE]


def test_a_list(write_json: Any) -> None:
    assert read(write_json(list(ITEMS))) == [{**WHOLE, "source": "openai-agents:runs.json"}]


def test_traces_of_a_group_are_one_recording(write_lines: Any) -> None:
    later = span(6, "generation", input=[ASKED, DONE, {"role": "user", "content": "Cool it."}],
                 output=[{"role": "assistant", "content": "Cold."}], trace_id="trace_2",
                 id="span_6", parent_id=None)  # fmt: skip
    traces = [{**TRACE, "group_id": "g 1"}, {**TRACE, "id": "trace_2", "group_id": "g 1"}]
    (recording,) = read(write_lines(*traces, *ITEMS[1:], later))
    assert recording["id"] == "openai-agents/g-1"
    assert recording["steps"][-1] == {
        "user": "Cool it.",
        "idle_ms": 2900,
        "reply": {"text": "Cold.", "ms": 100},
    }


RESPONSE: dict[str, Any] = {
    "object": "response", "id": "resp_1", "model": "gpt-x", "status": "completed", "usage": USAGE,
    "tools": [{"type": "function", "name": "heat"}],
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "Heating."}]},
        {"type": "function_call", "call_id": "c1", "name": "heat", "arguments": '{"to": 100}'},
    ],
}  # fmt: skip
ANSWERED = {
    "reply": {
        "text": "Heating.", "model": "gpt-x", "finish_reason": "completed", "usage": COUNTED,
        "ms": 100,
    },
    "calls": [{"tool": "heat", "args": {"to": 100}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("data", "step"),
    [
        ({"type": "response", "input": "Boil water.", "response": RESPONSE}, ANSWERED),
        ({"type": "response", "input": [ASKED], "response": RESPONSE, "usage": None}, ANSWERED),
        ({"type": "generation", "input": [ASKED], "output": [RESPONSE], "model": "asked"},
         ANSWERED),
        ({"type": "response", "response_id": "resp_1", "usage": USAGE},
         {"reply": {"usage": COUNTED, "ms": 100}}),
        ({"type": "generation", "usage": {"input_tokens": 100, "output_tokens": 20}},
         {"reply": {"usage": {"input": 100, "output": 20}, "ms": 100}}),
        ({"type": "generation", "usage": {"requests": 1}}, {"reply": {"ms": 100}}),
        ({"type": "generation", "usage": {"requests": 1, "input_tokens": 0, "output_tokens": 0}},
         {"reply": {"ms": 100}}),
        ({"type": "response", "response": {**RESPONSE, "output": [], "status": "incomplete",
                                           "incomplete_details": {"reason": "max_output_tokens"}}},
         {"reply": {"model": "gpt-x", "finish_reason": "max_output_tokens", "usage": COUNTED,
                    "ms": 100}}),
    ],
    ids=["response", "with input items", "streamed generation", "only an id", "sent usage",
         "no usage", "zeros", "cut off"],
)  # fmt: skip
def test_model_calls(write_lines: Any, data: dict[str, Any], step: dict[str, Any]) -> None:
    (recording,) = read(write_lines(TRACE, span(1, "x", span_data=data)))
    assert recording["steps"] == [step]
    assert ("content:none" in recording["tags"]) is ("input" not in data)


def test_results_stand_in_what_the_next_response_was_given(write_lines: Any) -> None:
    given = [ASKED, RESPONSE["output"][2],
             {"type": "function_call_output", "call_id": "c1", "output": "hot"}]  # fmt: skip
    spans = [
        span(1, "response", input=[ASKED], response=RESPONSE),
        span(2, "response", input=given, response={**RESPONSE, "output": RESPONSE["output"][:2]}),
    ]
    (recording,) = read(write_lines(TRACE, *spans))
    assert recording["steps"][0]["calls"] == [
        {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True}
    ]
    assert "user" not in recording["steps"][1]


def test_a_failed_tool_and_arguments_that_are_no_json(write_lines: Any) -> None:
    broken = {**MADE, "function": {"name": "heat", "arguments": "{to"}}
    asked = span(1, "generation", input=[ASKED], output=[{**CALLED, "tool_calls": [broken]}])
    failed = {"message": "Error running tool", "data": {"tool_name": "heat", "error": "no JSON"}}
    tool = span(2, "function", name="heat", input="{to", output=None, error=failed)
    (recording,) = read(write_lines(TRACE, asked, tool))
    assert recording["steps"][0]["calls"] == [
        {"tool": "heat", "args": {"unparsed": "{to"}, "result": "Error running tool: no JSON",
         "ok": False, "ms": 100}
    ]  # fmt: skip


# -- endings -----------------------------------------------------------------------------------

TASK = {**span(0, "custom", name="task", data={}), "id": "span_9", "parent_id": None}
INNER = {**AGENT, "parent_id": "span_9"}
TURN = {**span(0, "custom", name="turn", data={"turn": 1}), "id": "span_8"}


def problem(message: str, **data: Any) -> dict[str, Any]:
    return {"message": message, "data": data or None}


@pytest.mark.parametrize(
    ("items", "recorded"),
    [
        ((INNER, TASK), WHOLE["recorded"]),
        (({**INNER, "error": problem("Max turns exceeded", max_turns=2)}, TASK),
         {"exit_reason": "max_iterations", "limits": {"max_iterations": 2}}),
        (({**INNER, "error": problem("Error in agent run", error="boom")}, TASK),
         {"exit_reason": "error"}),
        (({**AGENT, "error": problem("Guardrail tripwire triggered", guardrail="g")},),
         {"exit_reason": "error"}),
        (({**TURN, "error": problem("Tool not found", tool_name="x")}, INNER, TASK),
         {"exit_reason": "error"}),
        (({**TURN, "error": problem("Tool not found", tool_name="x")}, TURN, INNER, TASK),
         WHOLE["recorded"]),
    ],
    ids=["finished", "most turns", "error", "guardrail", "error of the last turn",
         "error of a turn before"],
)  # fmt: skip
def test_how_it_ended(write_lines: Any, items: Any, recorded: dict[str, Any]) -> None:
    turns = [{**each, "id": f"{each['id']}_{n}"} if each["id"] == "span_8" else each
             for n, each in enumerate(items)]  # fmt: skip
    (recording,) = read(write_lines(*ITEMS[:4], *turns))
    assert recording["recorded"] == recorded


def test_what_went_wrong_in_a_model_call(write_lines: Any) -> None:
    failed = span(3, "generation", error=problem("Error getting response", error="code 400"))
    (recording,) = read(write_lines(*ITEMS[:3], failed))
    assert recording["steps"][1]["reply"]["error"] == "Error getting response: code 400"


# -- what cannot be read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": None}, "key 'id' must be a text, found None"),
        ({"span_data": []}, "key 'span_data' must be an object"),
        ({"started_at": "noon"}, "a time stamp must be"),
        ({"error": "boom"}, "key 'error' must be an object"),
        ({"span_data": {"type": "generation", "usage": {"input_tokens": 1.5}}},
         "key 'input_tokens' must be a whole number"),
        ({"span_data": {"type": "generation", "usage": {"input_tokens": 10**30}}},
         "key 'input_tokens' must be 0 to"),
        ({"span_data": {"type": "generation", "input": [{"role": "chef"}]}},
         "key 'role': found 'chef'"),
    ],
)  # fmt: skip
def test_a_broken_item_is_lost_alone(write_lines: Any, change: Any, words: str) -> None:
    bad = {**FIRST, "trace_id": "bad", "id": "bad", "parent_id": None, **change}
    path = write_lines(TRACE, bad, "{", *ITEMS[1:])
    intake = Intake()
    assert [each["id"] for each in read(path, intake)] == ["openai-agents/trace_1"]
    assert intake.broken == 2
    assert any(words in problem for problem in intake.problems)


@pytest.mark.parametrize("value", [None, [], {}, "", 7, True, "\ud800", [None], {"a": {}}])
def test_odd_inputs_and_outputs_are_no_problem(write_lines: Any, value: Any) -> None:
    odd = {"input": value, "output": value, "tools": value, "name": value}
    spans = [span(4, "generation", **odd), span(5, "function", **odd), span(6, "agent", **odd)]
    (recording,) = read(write_lines(*ITEMS, *spans))
    assert len(recording["steps"]) == 3


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([TRACE], "none of the 0 spans is of a generation or a response"),
        ([TRACE, HEAT], "none of the 1 spans is of a generation or a response"),
        ([{"name": "x"}], "key 'object' is missing; found keys: 'name'"),
        ([{"data": []}], "none of the 0 spans"),
    ],
)
def test_what_holds_no_run_is_refused(
    write_lines: Any, refused: Any, lines: list[Any], words: str
) -> None:
    assert words in refused(write_lines(*lines))
