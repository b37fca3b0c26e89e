"""The importer of ATIF trajectories."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.importers import atif
from harness.importers._head import head_of
from tests.importers.event_runs import (
    Refused,
    Write,
    calls,
    fitting,
    lenient,
    observed,
    read,
    tokens,
)

FORMAT = "atif"


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"source": "user", "message": text, **more}


def agent(
    text: Any, *asked: tuple[Any, Any, Any], seen: dict[Any, Any] | None = None, **more: Any
) -> dict[str, Any]:
    step: dict[str, Any] = {"source": "agent", "message": text, **more}
    if asked:
        step["tool_calls"] = [
            {"tool_call_id": name, "function_name": tool, "arguments": args}
            for name, tool, args in asked
        ]
    if seen is not None:
        step["observation"] = {
            "results": [
                {**({"source_call_id": name} if name else {}), "content": content}
                for name, content in seen.items()
            ]
        }
    return step


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    about = {"name": "bee", "version": "1", "model_name": "vendor/model-x"}
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "s",
        "agent": about,
        "steps": numbered,
        **more,
    }


ASK = user("Make tea.")
HEAT = agent("Heating.", ("a", "heat", {"to": 100}), seen={"a": "hot"})
DONE = agent("", ("z", "finish", {}))


def at(second: int) -> str:
    return f"2026-01-31T10:00:{second:02d}Z"


def test_a_trajectory_becomes_steps(write_json: Write) -> None:
    metrics = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cached_tokens": 60,
        "cost_usd": 0.1,
        "extra": {"cache_creation_input_tokens": 10, "reasoning_tokens": 5},
    }
    asked = (("a", "heat", {"to": 100}), ("b", "look", "at it"))
    seen = {"b": [{"type": "text", "text": "dark"}, {"type": "image"}], "a": "hot"}
    document = trajectory(
        {"source": "system", "message": "You make tea.", "timestamp": at(0)},
        user("Make tea.", timestamp=at(1)),
        agent("Heating.", *asked, seen=seen, timestamp=at(4), metrics=metrics),
        user([{"type": "text", "text": "And now?"}], timestamp=at(9)),
        agent("It boils.", timestamp=at(10), model_name="model-y"),
        agent={"name": "bee", "tool_definitions": [{"function": {"name": "pour"}}]},
    )
    assert read(FORMAT, write_json(document, "tea.trajectory.json")) == [
        {
            "schema": "harness/scenario@1",
            "id": "atif/tea",
            "title": "bee on tea",
            "source": "atif:tea.trajectory.json",
            "goal": "Make tea.",
            "tags": ["atif", "agent:bee"],
            "tools": ["heat", "look", "pour"],
            "steps": [
                {
                    "reply": {
                        "text": "Heating.",
                        "ms": 3000,
                        "usage": {
                            "input": 30,
                            "cache_read": 60,
                            "cache_write": 10,
                            "output": 15,
                            "reasoning": 5,
                        },
                    },
                    "calls": [
                        {"tool": "heat", "args": {"to": 100}, "result": "hot", "ms": 0},
                        {
                            "tool": "look",
                            "args": {"unparsed": "at it"},
                            "ok": False,
                            "result": "dark\n[image]",
                            "ms": 0,
                        },
                    ],
                },
                {
                    "user": "And now?",
                    "idle_ms": 5000,
                    "reply": {"text": "It boils.", "model": "model-y", "ms": 1000},
                },
            ],
            "recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
        }
    ]


OPENHANDS = (
    "<function=look>\n<parameter=at>\nit\n</parameter>\n<parameter=x>1</parameter></function>"
)
TERMINUS = json.dumps({"commands": [{"keystrokes": "ls\n"}, 5], "task_complete": False})


@pytest.mark.parametrize(
    ("step", "made"),
    [
        (HEAT, [{"tool": "heat", "args": {"to": 100}, "result": "hot"}]),
        (agent("", ("a", "heat", {})), [{"tool": "heat"}]),
        (
            agent("", ("a", "x", {}), ("b", "y", {}), seen={None: "first"}),
            [{"tool": "x", "result": "first"}, {"tool": "y"}],
        ),
        (
            agent(OPENHANDS, seen={None: "dark"}),
            [{"tool": "look", "args": {"at": "it", "x": "1"}, "result": "dark"}],
        ),
        (
            agent(TERMINUS, seen={None: "a b"}),
            [{"tool": "terminal", "args": {"keystrokes": ["ls\n"]}, "result": "a b"}],
        ),
        (
            agent("open x", seen={None: "?"}),
            [{"tool": "message", "args": {"text": "open x"}, "result": "?"}],
        ),
        (agent("{broken", seen={"none": None}), []),
        (agent("<function=look>" * 50), []),
    ],
)
def test_calls(write_json: Write, step: dict[str, Any], made: list[Any]) -> None:
    (found,) = read(FORMAT, write_json(trajectory(ASK, step)))
    assert calls(found) == made


FINISHED = {"exit_reason": "agent_finished", "exit_reason_source": "inferred"}


@pytest.mark.parametrize(
    ("steps", "recorded"),
    [
        ([HEAT, DONE], FINISHED),
        ([HEAT, agent("Done.")], FINISHED),
        ([HEAT, agent('{"commands": [], "task_complete": true}', seen={None: ""})], FINISHED),
        ([HEAT, agent("<function=submit></function>")], FINISHED),
        ([agent("Done.")], None),
        ([HEAT], None),
        ([HEAT, agent("Done."), user("No.")], {"exit_reason_source": "unknown"}),
    ],
)
def test_the_end(write_json: Write, steps: list[Any], recorded: dict[str, str] | None) -> None:
    (found,) = read(FORMAT, write_json(trajectory(ASK, *steps)))
    assert found.get("recorded") == recorded


@pytest.mark.parametrize(
    ("metrics", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, {"input": 9, "output": 2}),
        ({"prompt_tokens": 9, "cached_tokens": 9}, {"cache_read": 9}),
        # More was written to the cache than is left: it was not counted in the prompt.
        (
            {"prompt_tokens": 9, "extra": {"cache_creation_input_tokens": 10}},
            {"input": 9},
        ),
        ({"cost_usd": 0.1}, None),
        ({}, None),
        ({"prompt_tokens": None}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
    ],
)
def test_tokens(write_json: Write, metrics: Any, usage: dict[str, int] | None) -> None:
    (found,) = read(FORMAT, write_json(trajectory(ASK, {**HEAT, "metrics": metrics})))
    assert found["steps"][0]["reply"].get("usage") == usage


def test_totals_are_spread_where_no_step_has_metrics(write_json: Write) -> None:
    total = {"total_prompt_tokens": 101, "total_completion_tokens": 7, "total_cost_usd": 1.0}
    (found,) = read(FORMAT, write_json(trajectory(ASK, HEAT, DONE, final_metrics=total)))
    assert [step["reply"]["usage"] for step in found["steps"]] == [
        {"input": 51, "output": 4},
        {"input": 50, "output": 3},
    ]
    assert found["tags"] == ["atif", "agent:bee", "spread:usage"]


def test_a_continuation_is_the_same_run(tmp_path: Path, write_json: Write) -> None:
    first = trajectory(ASK, HEAT, continued_trajectory_ref="trajectory.cont-1.json")
    copied = {"is_copied_context": True}
    second = trajectory(user("You take over.", **copied), {**HEAT, **copied}, user("Go on."), DONE)
    folder = tmp_path / "jobs" / "tea__x1" / "agent"
    folder.mkdir(parents=True)
    for name, document in (("trajectory.json", first), ("trajectory.cont-1.json", second)):
        (folder / name).write_text(json.dumps(document))
    for path in (tmp_path, folder / "trajectory.json"):
        (found,) = read(FORMAT, path)
        assert found["id"] == "atif/tea__x1"
        assert found["goal"] == "Make tea."
        assert [step.get("nudge") for step in found["steps"]] == [None, "Go on."]
        assert found["recorded"]["exit_reason"] == "agent_finished"
    (alone,) = read(FORMAT, folder / "trajectory.cont-1.json")
    assert (alone["goal"], len(alone["steps"])) == ("You take over.", 1)
    (folder / "trajectory.cont-1.json").unlink()
    (cut,) = read(FORMAT, folder / "trajectory.json")
    assert (len(cut["steps"]), "recorded" in cut) == (1, False)
    assert atif.fits(head_of(tmp_path))


def test_embedded_sub_agents_are_runs_of_their_own(write_json: Write) -> None:
    inner = trajectory(user("Look."), agent("Seen."), trajectory_id="sub-1")
    ref = {"continued_trajectory_ref": "runs.cont-1.json"}
    path = write_json(trajectory(ASK, HEAT, subagent_trajectories=[inner, {}, 5], **ref))
    more = trajectory(user("More."), agent("Seen."), trajectory_id="sub-2")
    write_json(trajectory(DONE, subagent_trajectories=[more]), "runs.cont-1.json")
    found, problems = lenient(FORMAT, path)
    assert [(recording["id"], recording["goal"]) for recording in found] == [
        ("atif/runs", "Make tea."),
        ("atif/sub-1", "Look."),
        ("atif/sub-2", "More."),
    ]
    assert found[1]["tags"] == ["atif", "agent:bee", "sub-agent"]
    assert ["sub-agent 2" in problems[0], "sub-agent 3" in problems[1]] == [True, True]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "expected an object with key 'schema_version'"),
        ({"schema_version": "XYZ-1", "steps": []}, "must begin with ATIF-, found 'XYZ-1'"),
        (trajectory(), "holds no step of the agent"),
        (trajectory(ASK), "holds no step of the agent"),
        (trajectory(ASK, steps=None), "key 'steps' must be a list"),
        (trajectory({"source": "robot"}), "step 1: key 'source' must be system, user or agent"),
        (trajectory(agent("x", timestamp="soon")), "step 1: a time stamp must be"),
        (trajectory(agent("x", timestamp=5)), "step 1: key 'timestamp' must be a text"),
        (
            trajectory(agent("", ("a", "x", {}), seen={"b": "y"})),
            "key 'source_call_id' names no open call of the step, so its result is lost: 'b'",
        ),
        (trajectory(agent("", (7, "x", {}))), "key 'tool_call_id' must be a text"),
        (trajectory(agent("", ("a", None, {}))), "key 'function_name' must be a text"),
        (trajectory(agent("x", metrics=[])), "key 'metrics' must be an object"),
        (
            trajectory(agent("x", metrics={"prompt_tokens": 1, "cached_tokens": 2})),
            "step 1, metrics: key 'prompt_tokens' must be at least",
        ),
        (trajectory(agent("x", metrics={"prompt_tokens": -1})), "key 'prompt_tokens' must be 0 to"),
    ],
)
def test_refused(write_json: Write, refused: Refused, document: Any, words: str) -> None:
    assert words in refused(write_json(document))


def test_a_result_of_no_call_is_lost_alone(write_json: Write) -> None:
    odd = agent("Heating.", ("a", "heat", {}), seen={"b": "cold", "a": "hot"})
    found, problems = lenient(FORMAT, write_json(trajectory(ASK, odd, odd, DONE)))
    assert [call.get("result") for call in calls(found[0])] == ["hot", "hot", None]
    assert ["step 2: key" in problems[0], "step 3: key" in problems[1]] == [True, True]


def test_a_folder_loses_only_what_is_broken(tmp_path: Path, write_json: Write) -> None:
    write_json(trajectory(ASK, DONE), "a.trajectory.json")
    (tmp_path / "b.trajectory.json").write_text("{broken")
    write_json(trajectory(user("Two."), agent("\ud800")), "c.trajectory.json")
    found, problems = lenient(FORMAT, tmp_path)
    assert [recording["id"] for recording in found] == ["atif/a", "atif/c"]
    assert found[1]["steps"][0]["reply"]["text"] == "\N{REPLACEMENT CHARACTER}"
    assert [tmp_path / "b.trajectory.json" == Path(p.split(": ")[0]) for p in problems] == [True]


def test_a_folder_without_trajectories(tmp_path: Path, refused: Refused) -> None:
    assert "holds no *trajectory*.json file" in refused(tmp_path)


def _own_steps(path: Path) -> list[dict[str, Any]]:
    steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
    return [s for s in steps if s["source"] == "agent" and not s.get("is_copied_context")]


def test_real_trajectories(tmp_path: Path, corpora: Path) -> None:
    files = sorted((corpora / "atif_and_others").glob("atif_source__*.json"))
    assert len(files) == 4
    for path in files:
        shutil.copy(path, tmp_path)
        # A run goes on in the file that continues it.
        rest = [p for p in files if re.sub(r"\.cont-\d+", "", p.name) == path.name and p != path]
        steps = [step for file in (path, *rest) for step in _own_steps(file)]
        (found,) = read(FORMAT, path)
        assert len(found["steps"]) == len(steps)
        counted = tokens(found)
        assert counted["input"] == sum(s["metrics"]["prompt_tokens"] for s in steps)
        assert counted["output"] == sum(s["metrics"]["completion_tokens"] for s in steps)
        assert observed(found) == len(steps)
        assert found["recorded"] == {
            "exit_reason": "agent_finished",
            "exit_reason_source": "inferred",
        }
        assert found["goal"]
    # In a folder the continuation is no run of its own.
    assert len(read(FORMAT, tmp_path)) == 3


def test_real_calls(corpora: Path) -> None:
    folder = corpora / "atif_and_others"
    (found,) = read(FORMAT, folder / "atif_source__openhands_hello-world.trajectory.json")
    assert [call["tool"] for call in calls(found)] == ["str_replace_editor", "finish"]
    name = "atif_source__openhands_hello-world.trajectory.no_function_calling.json"
    (found,) = read(FORMAT, folder / name)
    assert [call["tool"] for call in calls(found)] == ["execute_bash", "finish"]
    assert "exit code 0" in calls(found)[0]["result"]


def test_it_takes_only_its_own_files(corpora: Path) -> None:
    own = {path.name for path in (corpora / "atif_and_others").glob("atif_source__*")}
    assert fitting(atif, corpora) == own
