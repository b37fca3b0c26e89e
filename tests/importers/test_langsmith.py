"""LangSmith's runs, as files of all shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, available
from harness.importers._head import head_of
from tests.importers.langsmith_runs import (
    ASKED,
    COUNTED,
    FIRST,
    LAST,
    ROOT,
    RUNS,
    TOOL,
    generated,
    lc,
    read,
    run,
)

FORMAT = "langsmith"
WHOLE: dict[str, Any] = {
    "schema": "harness/scenario@1",
    "id": "langsmith/r0",
    "title": "LangGraph",
    "source": "langsmith:runs.json",
    "goal": "Boil water.",
    "tags": ["langsmith"],
    "steps": [
        {
            "reply": {
                "model": "gpt-4o", "finish_reason": "tool_calls", "usage": COUNTED, "ms": 100,
            },
            "calls": [
                {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 100}
            ],
        },
        {
            "reply": {
                "text": "It boils.", "model": "gpt-4o", "finish_reason": "stop", "usage": COUNTED,
                "ms": 100,
            }
        },
    ],
    "recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
    "tools": ["heat"],
}  # fmt: skip


# -- the shapes of a file ----------------------------------------------------------------------


def exported(about: dict[str, Any]) -> dict[str, Any]:
    """As a bulk export has it: objects are texts."""
    texts = {key: json.dumps(about[key]) for key in ("inputs", "outputs", "extra")}
    return {**about, **texts}


def nested(about: dict[str, Any]) -> dict[str, Any]:
    keys = ("trace_id", "parent_run_id")
    return {key: value for key, value in about.items() if key not in keys}


SHAPES: dict[str, Any] = {
    "list": list(RUNS),
    "answer of the API": {"runs": list(RUNS), "cursors": {}},
    "children within": {**nested(ROOT), "child_runs": [nested(each) for each in RUNS[1:]]},
    "bulk export": [exported(each) for each in RUNS],
    "any order": [LAST, TOOL, ROOT, FIRST],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_trace_in_each_shape_of_a_file(write_json: Any, shape: str) -> None:
    path = write_json(SHAPES[shape])
    assert [name for name, module in available().items() if module.fits(head_of(path))] == [FORMAT]
    assert read(path) == [WHOLE]


def test_json_lines_and_folders_are_read_together(tmp_path: Path, write_lines: Any) -> None:
    assert read(write_lines(*RUNS)) == [{**WHOLE, "source": "langsmith:runs.jsonl"}]
    folder = tmp_path / "pages"
    folder.mkdir()
    for number, each in enumerate(RUNS):
        (folder / f"{number}.json").write_text(json.dumps([each]))
    assert available()[FORMAT].fits(head_of(folder))
    assert read(folder) == [{**WHOLE, "source": "langsmith:pages"}]


@pytest.mark.parametrize("key", ["session_id", "thread_id", "conversation_id"])
def test_traces_of_a_thread_are_one_recording(write_json: Any, key: str) -> None:
    extra = {"metadata": {key: "my thread"}}
    again = [ASKED, lc("AIMessage", content="It boils."), lc("HumanMessage", content="Cool it.")]
    later = run(5, "llm", {"messages": [again]}, generated(lc("AIMessage", content="Cold.")),
                extra=extra, trace_id="r5", parent_run_id=None)  # fmt: skip
    (recording,) = read(write_json([{**ROOT, "extra": extra}, *RUNS[1:], later]))
    assert recording["id"] == "langsmith/my-thread"
    assert recording["steps"][-1] == {
        "user": "Cool it.",
        "idle_ms": 1900,
        "reply": {"text": "Cold.", "ms": 100},
    }


@pytest.mark.parametrize(
    ("error", "recorded"),
    [
        (None, WHOLE["recorded"]),
        ("ValueError('x')Traceback ...", {"exit_reason": "error"}),
        ("GraphRecursionError('Recursion limit of 25 reached without hitting a stop')",
         {"exit_reason": "max_iterations", "limits": {"recursion_limit": 25}}),
    ],
)  # fmt: skip
def test_how_it_ended(write_json: Any, error: str | None, recorded: dict[str, Any]) -> None:
    (recording,) = read(write_json([{**ROOT, "error": error}, *RUNS[1:]]))
    assert recording["recorded"] == recorded


# -- what cannot be read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": 7}, "key 'id' must be a text, found 7"),
        ({"run_type": None}, "key 'run_type' must be a text, found None"),
        ({"start_time": "noon"}, "a time stamp must be"),
        ({"error": {"a": 1}}, "key 'error' must be a text"),
        ({"outputs": {"usage_metadata": {"input_tokens": -1}}}, "key 'input_tokens' must be 0 to"),
        ({"outputs": {"usage_metadata": {"input_tokens": float("nan")}}}, "must be a whole number"),
        ({"inputs": {"messages": [{"role": "chef"}]}}, "key 'role': found 'chef'"),
    ],
)
def test_a_broken_run_is_lost_alone(write_lines: Any, change: dict[str, Any], words: str) -> None:
    bad = {**FIRST, "trace_id": "bad", "id": "bad", "parent_run_id": None, **change}
    path = write_lines(bad, "{", *RUNS)
    intake = Intake()
    assert [each["id"] for each in read(path, intake)] == ["langsmith/r0"]
    assert intake.broken == 2
    assert any(words in problem for problem in intake.problems)


@pytest.mark.parametrize("value", [None, [], {}, "", 7, True, "\ud800", [None], {"a": {}}, [[]]])
def test_odd_inputs_and_outputs_are_no_problem(write_json: Any, value: Any) -> None:
    odd = {"inputs": value, "outputs": value, "extra": value}
    wrapped = {"messages": value}, {"generations": value, "choices": None, "llm_output": value}
    last = run(4, "llm", *wrapped)
    (recording,) = read(write_json([FIRST, {**TOOL, **odd}, {**LAST, **odd}, last]))
    assert len(recording["steps"]) == 3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([ROOT, TOOL], "none of the 2 spans is a run of type llm"),
        ({"runs": []}, "none of the 0 spans is a run of type llm"),
        ({"runs": 7}, "key 'runs' must be a list"),
        ([], "the list is empty"),
        ({"name": "x"}, "key 'id' is missing; found keys: 'name'"),
    ],
)
def test_what_holds_no_run_is_refused(
    write_json: Any, refused: Any, value: Any, words: str
) -> None:
    assert words in refused(write_json(value))
