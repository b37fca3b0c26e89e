"""The importer of OpenHands: rows and streams of V0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import openhands
from harness.importers._head import head_of
from tests.importers.event_runs import (
    Refused,
    Write,
    lenient,
    read,
)
from tests.importers.openhands_runs import (
    METRICS,
    STUCK,
    action,
    person,
    response,
    row,
    seen,
    state,
)

FORMAT = "openhands"


BASH = response("r1", "a", "bash", '{"command": "ls"}', "Looking.")
TOUCH = response("r1", "b", "edit", '{"path": "x"}', "Looking.")
FINISH = response("r2", "c", "finish", "{}", "Done.")
STREAM = [
    {**action(0, "system"), "args": {"content": "You code."}},
    person(1, "Fix it.", 1),
    action(2, "recall", 1, source="user"),
    seen(3, "recall", 2, 1.5),
    action(4, "run", 4, **BASH, args={"command": "ls", "thought": "Looking."}),
    seen(5, "run", 4, 4.5, content="x", extras={"metadata": {"exit_code": 0}}, success=True),
    action(6, "edit", 5, **TOUCH),
    seen(7, "error", 6, 5.25, content="no x"),
    action(8, "finish", 9, **FINISH),
]


def test_a_stream_becomes_steps(write_json: Write) -> None:
    """Several actions share one response, whose tokens count once."""
    usage = {"input": 100, "output": 20}
    assert read(FORMAT, write_json(STREAM)) == [
        {
            "schema": "harness/scenario@1",
            "id": "openhands/runs",
            "title": "OpenHands on runs",
            "source": "openhands:runs.json",
            "goal": "Fix it.",
            "tags": ["openhands"],
            "tools": ["bash", "edit", "finish"],
            "steps": [
                {
                    "reply": {
                        "text": "Looking.",
                        "model": "model-x",
                        "finish_reason": "tool_calls",
                        "usage": usage,
                        "ms": 2500,
                    },
                    "calls": [
                        {"tool": "bash", "args": {"command": "ls"}, "result": "x"}
                        | {"exit_code": 0, "ok": True, "ms": 500},
                        {"tool": "edit", "args": {"path": "x"}, "result": "no x"}
                        | {"ok": False, "ms": 250},
                    ],
                },
                {
                    "reply": {
                        "text": "Done.",
                        "model": "model-x",
                        "finish_reason": "tool_calls",
                        "usage": usage,
                        "ms": 3750,
                    },
                    "calls": [{"tool": "finish"}],
                },
            ],
            "recorded": {"exit_reason": "agent_finished"},
        }
    ]


def test_every_place_a_stream_can_stand_in(tmp_path: Path, write_lines: Write) -> None:
    """A list, a list under a key, lines, and a folder with one event a file."""
    whole = tmp_path / "runs.json"
    whole.write_text(json.dumps(STREAM))
    (expected,) = read(FORMAT, whole)
    whole.write_text(json.dumps({"trajectory": STREAM}))
    folder = tmp_path / "runs" / "events"
    folder.mkdir(parents=True)
    for event in STREAM:
        (folder / f"{event['id']}.json").write_text(json.dumps(event))
    for path in (whole, write_lines(*STREAM), folder.parent):
        assert openhands.fits(head_of(path))
        (found,) = read(FORMAT, path)
        assert found["steps"] == expected["steps"]
        assert found["id"] == "openhands/runs"


def test_metrics_know_of_replies_that_could_not_be_read(write_lines: Write) -> None:
    """Such a reply left only a complaint; its tokens and time stand between those of others."""
    told = response("r2", "c", "finish", "{}", "Done.")
    told["tool_call_metadata"]["model_response"]["usage"] = None
    last = action(8, "finish", 9, **told)
    history = [*STREAM[:6], seen(7, "error", None, 6, content="unknown parameter"), last]
    (found,) = read(FORMAT, write_lines(row(*history, metrics=METRICS)))
    first, lost, done = found["steps"]
    assert first["reply"]["ms"] == 1500
    assert lost == {
        "reply": {"usage": {"input": 10, "cache_read": 60, "cache_write": 40, "output": 20}}
        | {"ms": 0},
        "calls": [{"tool": "unparsed", "ok": False, "result": "unknown parameter", "ms": 0}],
    }
    # More was cached than the prompt is long: the cache stands beside it.
    expected = {"input": 120, "cache_read": 100, "cache_write": 40, "output": 10}
    assert done["reply"]["usage"] == expected


def test_totals_are_spread_where_no_reply_has_tokens(write_lines: Write) -> None:
    history = [action(2, "run", args={"command": "ls"}), action(4, "finish")]
    metrics = {"accumulated_token_usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    (found,) = read(FORMAT, write_lines(row(*history, metrics=metrics)))
    assert [step["reply"]["usage"] for step in found["steps"]] == [
        {"input": 3, "output": 1},
        {"input": 2},
    ]
    assert found["tags"] == ["openhands", "spread:usage"]


def test_the_oldest_rows_have_neither_ids_nor_sources(write_lines: Write) -> None:
    asks = {"action": "message", "content": "Add a licence."}
    runs = {"action": "run", "command": "ls", "thought": "Look.", "keep_prompt": True}
    sees = {"observation": "run", "content": "x", "exit_code": 1, "command": "ls"}
    ends = {"action": "finish", "outputs": {}, "thought": "Done."}
    issue = {"owner": "o", "repo": "r", "number": 5}
    line = {"issue": issue, "history": [[asks, {"observation": "null"}], [runs, sees], ends]}
    (found,) = read(FORMAT, write_lines({**line, "success": False, "error": None}))
    assert (found["id"], found["goal"]) == ("openhands/o-r-5", "Add a licence.")
    assert found["steps"] == [
        {
            "reply": {"text": "Look."},
            "calls": [{"tool": "run", "args": {"command": "ls"}, "result": "x", "exit_code": 1}],
        },
        {"reply": {"text": "Done."}, "calls": [{"tool": "finish"}]},
    ]
    assert found["recorded"] == {"exit_reason": "agent_finished", "outcome": "failure"}


ITERATIONS = "RuntimeError: Agent reached maximum iteration. Current iteration: 9, max iteration: 9"
BUDGET = "RuntimeError: Agent reached maximum budget for conversation.Current budget: 2.05, max "
RUN = action(4, "run", args={"command": "ls"})
WAITS = action(5, "message", args={"content": "Which?", "wait_for_response": True})


@pytest.mark.parametrize(
    ("history", "error", "recorded"),
    [
        ([RUN], None, None),
        ([RUN, action(9, "finish")], None, {"exit_reason": "agent_finished"}),
        ([RUN, action(9, "reject")], None, {"exit_reason": "blocked"}),
        ([RUN, WAITS], None, {"exit_reason": "awaiting_user"}),
        ([RUN, WAITS, person(6, "This.")], None, {"exit_reason_source": "unknown"}),
        ([RUN, state(5, "finished")], None, {"exit_reason": "agent_finished"}),
        ([RUN, state(5, "awaiting_user_input")], None, {"exit_reason": "awaiting_user"}),
        ([RUN, state(5, "awaiting_user_input"), state(6, "running")], None, None),
        ([RUN, state(5, "rejected")], None, {"exit_reason": "blocked"}),
        ([RUN, state(5, "stopped")], None, None),
        ([RUN, state(5, "error")], None, {"exit_reason": "error"}),
        ([RUN, state(5, "error", reason="AgentStuckInLoopError: x")], None, STUCK),
        ([RUN], "AgentStuckInLoopError: Agent got stuck in a loop", STUCK),
        (
            [RUN],
            ITERATIONS,
            {"exit_reason": "max_iterations", "limits": {"max_iterations": 9}},
        ),
        ([RUN], "RuntimeError: Agent reached maximum iteration", {"exit_reason": "max_iterations"}),
        (
            [RUN],
            f"{BUDGET}budget: 2.00",
            {"exit_reason": "cost_budget", "limits": {"cost_budget_usd": 2}},
        ),
        ([RUN, action(9, "finish")], "litellm.Timeout", {"exit_reason": "error"}),
    ],
)
def test_the_end(
    write_lines: Write, history: list[Any], error: str | None, recorded: dict[str, Any] | None
) -> None:
    (found,) = read(FORMAT, write_lines(row(*history, error=error)))
    assert found.get("recorded") == recorded


@pytest.mark.parametrize(
    ("about", "outcome"),
    [
        ({"test_result": {"git_patch": "diff"}}, None),
        ({"test_result": {"report": {"resolved": True}}}, "success"),
        ({"report": {"resolved": False}}, "failure"),
        ({"resolved": True}, "success"),
        ({"success": True}, None),
        ({"success": True, "issue": {}}, "success"),
        ({"report": None, "resolved": None}, None),
    ],
)
def test_outcomes(write_lines: Write, about: dict[str, Any], outcome: str | None) -> None:
    (found,) = read(FORMAT, write_lines(row(RUN, **about)))
    assert found.get("recorded", {}).get("outcome") == outcome


def test_only_the_broken_row_is_lost(write_lines: Write) -> None:
    path = write_lines(
        row(RUN),
        row(error="no docker"),
        row({"id": 1}),
        row({"id": 1, "action": "run", "source": "agent", "timestamp": "soon"}),
        row({"kind": "ActionEvent"}),
        row(RUN, metrics={"token_usages": [{"response_id": "x", "prompt_tokens": -1}]}),
        row(RUN, metrics={"response_latencies": [{"response_id": "x", "latency": None}]}),
        row(RUN, resolved="yes"),
        "{broken",
        5,
        row(action(4, "run", args=[])),
    )
    found, problems = lenient(FORMAT, path)
    assert [recording["id"] for recording in found] == ["openhands/org__repo-1"]
    words = [
        "line 2: holds no reply or action of the agent; the run failed with: 'no docker'",
        "line 3, event 1: an event needs 'action' or 'observation'",
        "line 4, event 1: a time stamp must be",
        "line 5, event 1: key 'tool_name' is missing",
        "line 6, metrics: key 'prompt_tokens' must be 0 to",
        "line 7, metrics: key 'latency' must be a number",
        "line 8: key 'resolved' must be true or false",
        "line 9: not JSON",
        "line 10: expected an object with key 'history'",
        "line 11, event 1: key 'args' must be an object",
    ]
    for problem, expected in zip(problems, words, strict=True):
        assert problem.startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"x": 1}, "expected events ('action', 'observation' or 'kind')"),
        ([5], "expected events ('action', 'observation' or 'kind')"),
        ({"trajectory": []}, "expected events ('action', 'observation' or 'kind')"),
        ([person(1, "Fix it.")], "holds no reply or action of the agent"),
        ([RUN, 5], "expected an object"),
    ],
)
def test_refused(write_json: Write, refused: Refused, value: Any, words: str) -> None:
    assert words in refused(write_json(value))


def test_a_folder_without_events(tmp_path: Path, refused: Refused) -> None:
    assert "the folder holds no event files" in refused(tmp_path)
