"""Langfuse's traces, as files of all shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, available
from harness.importers._head import head_of
from tests.importers.langfuse_runs import (
    ASKED,
    CALLED,
    FIRST,
    LAST,
    ROOT,
    TOOL,
    observation,
    read,
    trace,
)
from tests.importers.otlp_requests import read as read_otlp
from tests.importers.otlp_requests import request, span

FORMAT = "langfuse"
WHOLE: dict[str, Any] = {
    "schema": "harness/scenario@1",
    "id": "langfuse/t",
    "title": "cook",
    "source": "langfuse:runs.json",
    "goal": "Boil water.",
    "tags": ["langfuse"],
    "steps": [
        {
            "reply": {"model": "gpt-4o", "usage": {"input": 100, "output": 20}, "ms": 100},
            "calls": [
                {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 100}
            ],
        },
        {"reply": {"text": "It boils.", "model": "gpt-4o", "ms": 100}},
    ],
    "recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
    "tools": ["heat"],
}


# -- the shapes of a file ----------------------------------------------------------------------


def snake(about: dict[str, Any]) -> dict[str, Any]:
    """As an export to storage has it."""
    keys = {
        "traceId": "trace_id", "startTime": "start_time", "endTime": "end_time",
        "model": "provided_model_name", "usageDetails": "usage_details",
    }  # fmt: skip
    stored = {"parent_observation_id": about.get("parentObservationId"), **about}
    stored.pop("parentObservationId", None)
    made = {keys.get(key, key): value for key, value in stored.items()}
    for key in ("start_time", "end_time"):
        made[key] = made[key].removesuffix("Z").replace("T", " ")
    for key in ("input", "output"):
        if not isinstance(made.get(key), str | None):
            made[key] = json.dumps(made[key])
    if "usage_details" in made:
        made["usage_details"] = {key: str(count) for key, count in made["usage_details"].items()}
    return made


OBSERVATIONS = (ROOT, FIRST, TOOL, LAST)
SHAPES: dict[str, Any] = {
    "interface": trace(*OBSERVATIONS),
    "API": {**trace(*OBSERVATIONS)["trace"], "observations": list(OBSERVATIONS)},
    "list of traces": [trace(*OBSERVATIONS)],
    "page of traces": {"data": [trace(*OBSERVATIONS)], "meta": {"page": 1}},
    "page of observations": {"data": list(OBSERVATIONS), "meta": {"page": 1}},
    "list of observations": list(OBSERVATIONS),
    "storage": [snake(each) for each in OBSERVATIONS],
    "any order": trace(LAST, TOOL, ROOT, FIRST),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_trace_in_each_shape_of_a_file(write_json: Any, shape: str) -> None:
    path = write_json(SHAPES[shape])
    assert [name for name, module in available().items() if module.fits(head_of(path))] == [FORMAT]
    assert read(path) == [WHOLE]


def test_json_lines_and_folders_are_read_together(tmp_path: Path, write_lines: Any) -> None:
    assert read(write_lines(*OBSERVATIONS)) == [{**WHOLE, "source": "langfuse:runs.jsonl"}]
    folder = tmp_path / "pages"
    folder.mkdir()
    for number, each in enumerate((LAST, FIRST, ROOT, TOOL)):
        (folder / f"{number}.json").write_text(json.dumps({"data": [each]}))
    (folder / "notes.json").write_text('{"by": "me"}')
    assert available()[FORMAT].fits(head_of(folder))
    assert read(folder) == [{**WHOLE, "source": "langfuse:pages"}]


def test_traces_of_a_session_are_one_recording(write_json: Any) -> None:
    later = observation(5, traceId="u", input=[*ASKED, {"role": "user", "content": "Cool it."}],
                        output="Cold.")  # fmt: skip
    path = write_json(
        [trace(*OBSERVATIONS, sessionId="s 1"), trace(later, id="u", sessionId="s 1"),
         trace(observation(7, traceId="v", output="Alone."), id="v")]
    )  # fmt: skip
    first, second = read(path)
    assert (first["id"], second["id"]) == ("langfuse/s-1", "langfuse/v")
    assert first["steps"][-1] == {
        "user": "Cool it.",
        "idle_ms": 1900,
        "reply": {"text": "Cold.", "ms": 100},
    }


# -- endings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("around", "recorded"),
    [
        ({}, {"exit_reason": "agent_finished", "exit_reason_source": "inferred"}),
        ({"level": "ERROR", "statusMessage": "boom"}, {"exit_reason": "error"}),
        ({"level": "ERROR"}, {"exit_reason": "error"}),
        ({"level": "WARNING", "statusMessage": "slow"},
         {"exit_reason": "agent_finished", "exit_reason_source": "inferred"}),
        ({"level": "ERROR", "statusMessage": "Recursion limit of 5 reached without hitting ..."},
         {"exit_reason": "max_iterations", "limits": {"recursion_limit": 5}}),
    ],
)  # fmt: skip
def test_how_it_ended(write_json: Any, around: dict[str, Any], recorded: dict[str, Any]) -> None:
    (recording,) = read(write_json(trace({**ROOT, **around}, FIRST, TOOL, LAST)))
    assert recording["recorded"] == recorded


def test_a_failed_call_is_a_step(write_json: Any) -> None:
    failed = {**LAST, "output": None, "level": "ERROR", "statusMessage": "Error code: 400"}
    (recording,) = read(write_json(trace(FIRST, TOOL, failed)))
    assert recording["steps"][1]["reply"] == {
        "model": "gpt-4o",
        "ms": 100,
        "error": "Error code: 400",
    }


# -- what cannot be read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": None}, "observation 1: key 'id' must be a text, found None"),
        ({"startTime": "noon"}, "a time stamp must be"),
        ({"startTime": float("nan")}, "a time stamp must be"),
        ({"usageDetails": {"input": -1, "output": 2}}, "key 'input' must be 0 to"),
        ({"usageDetails": {"input": 10**30, "output": 2}}, "key 'input' must be 0 to"),
        ({"usageDetails": {"input": [], "output": 2}}, "key 'input' must be a whole number"),
        ({"parentObservationId": 7}, "key 'parentObservationId' must be a text"),
        ({"input": [{"role": "chef", "content": "x"}]}, "key 'role': found 'chef'"),
    ],
)
def test_a_broken_trace_is_lost_alone(write_lines: Any, change: dict[str, Any], words: str) -> None:
    bad = trace({**FIRST, "traceId": "bad", **change}, id="bad")
    path = write_lines(bad, "{", trace(*OBSERVATIONS))
    intake = Intake()
    assert [each["id"] for each in read(path, intake)] == ["langfuse/t"]
    assert (intake.broken, len(intake.problems)) == (2, 2)
    assert any(words in problem for problem in intake.problems)
    assert all(str(path) in problem for problem in intake.problems)


@pytest.mark.parametrize("value", [None, [], {}, "", 7, True, "\ud800", [None], {"a": {}}])
def test_odd_inputs_and_outputs_are_no_problem(write_json: Any, value: Any) -> None:
    odd = {**TOOL, "input": value, "output": value, "metadata": value}
    last = {**LAST, "output": value, "metadata": value}
    (recording,) = read(write_json(trace(FIRST, odd, last)))
    assert len(recording["steps"]) == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (trace(ROOT, TOOL), "none of the 2 spans is a generation with input, output or usage"),
        (trace(observation(1)), "none of the 1 spans is a generation"),
        (trace(), "none of the 0 spans is a generation"),
        ({"data": [{"id": "t", "timestamp": "x", "observations": ["o1"]}]},
         "holds only the ids of its observations; export the trace itself"),
        ({"id": "t", "name": "x"}, "key 'observations' is missing; found keys: 'id', 'name'"),
        ([], "the list is empty"),
        (7, "expected an object with key 'observations', found 7"),
    ],
)  # fmt: skip
def test_what_holds_no_run_is_refused(
    write_json: Any, refused: Any, value: Any, words: str
) -> None:
    assert words in refused(write_json(value))


def test_a_folder_without_traces_is_refused(tmp_path: Path, refused: Any) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert "the folder holds no file of Langfuse traces" in refused(tmp_path)


def test_spans_of_the_sdk_on_their_way_to_langfuse(write_json: Any) -> None:
    """The SDK sends OTLP, so that a collector of such spans reads them as well."""
    about = "langfuse.observation."
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    spans = [
        span(9, {f"{about}type": "chain", f"{about}level": "ERROR"}, ms=900, name="LangGraph",
             error="Recursion limit of 4 reached"),
        span(1, {f"{about}type": "generation", f"{about}input": json.dumps({"messages": ASKED}),
                 f"{about}output": json.dumps(CALLED), f"{about}model.name": "gpt-4o",
                 f"{about}usage_details": json.dumps(usage), "session.id": "s"}, parent=9, at=1),
        span(2, {f"{about}type": "tool", f"{about}output": "hot",
                 f"{about}input": '{"args": [], "kwargs": {"to": 100}}'}, parent=9, at=20,
             name="heat"),
    ]  # fmt: skip
    (recording,) = read_otlp(write_json(request(*spans)))
    assert (recording["id"], recording["goal"]) == ("otlp/s", "Boil water.")
    assert recording["recorded"]["exit_reason"] == "max_iterations"
    assert recording["steps"] == [
        {
            "reply": {"model": "gpt-4o", "usage": {"input": 100, "output": 20}, "ms": 10},
            "calls": [{"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 10}],
        }
    ]
