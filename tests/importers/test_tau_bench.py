"""The importer of tau-bench."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.importers import _reading, recordings

FORMAT = "tau-bench"
Write = Callable[..., Path]
Refused = Callable[[Path], str]


def say(role: str, content: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(call_id: str, name: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def trajectory(*messages: dict[str, Any], reward: float = 1.0, task: int = 4) -> dict[str, Any]:
    return {
        "task_id": task,
        "trial": 0,
        "reward": reward,
        "info": {"task": {"instruction": "You want to swap your bicycle."}},
        "traj": [say("system", "You run a bicycle shop."), *messages],
    }


GOOD = trajectory(
    say("user", "Hello."),
    say("user", "I want to swap my bicycle."),
    say("assistant", "Which one?"),
    say("user", "The red one."),
    say(
        "assistant",
        tool_calls=[call("a", "find", '{"colour": "red"}'), call("b", "stock", "not json")],
    ),
    say("tool", "Error: out of stock", tool_call_id="b", name="stock"),
    say("tool", "bicycle 7", tool_call_id="a", name="find"),
    say("assistant", "Swapping.", tool_calls=[call("a", "swap", '{"id": 7}')]),
    say("tool", "done", tool_call_id="a", name="swap"),
    say("assistant", "It is done."),
    say("user", "Thanks ###STOP###"),
)


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def test_a_run_becomes_steps(write_json: Write) -> None:
    (recording,) = read(write_json([GOOD]))
    assert recording == {
        "schema": "harness/scenario@1",
        "id": "tau-bench/runs/task-004-trial-0",
        "title": "tau-bench task 4, trial 0",
        "source": "tau-bench:runs.json",
        "goal": "You want to swap your bicycle.",
        "tags": ["tau-bench"],
        "tools": ["find", "stock", "swap"],
        "steps": [
            {"user": "Hello.\n\nI want to swap my bicycle.", "reply": {"text": "Which one?"}},
            {
                "user": "The red one.",
                "calls": [
                    {
                        "tool": "find",
                        "args": {"colour": "red"},
                        "result": "bicycle 7",
                        "ok": True,
                    },
                    {
                        "tool": "stock",
                        "args": {"unparsed": "not json"},
                        "result": "Error: out of stock",
                        "ok": False,
                    },
                ],
            },
            {
                "reply": {"text": "Swapping."},
                "calls": [{"tool": "swap", "args": {"id": 7}, "result": "done", "ok": True}],
            },
            {"reply": {"text": "It is done."}},
        ],
        "recorded": {
            "exit_reason": "agent_finished",
            "exit_reason_source": "inferred",
            "outcome": "success",
        },
    }


@pytest.mark.parametrize(
    "arguments", ["", "[1]", '{"id": 1', '{"id": NaN}', '{"id": 1e999}', "[" * 100_000]
)
def test_unparsed_arguments_are_a_failed_call_whatever_the_result(
    write_json: Write, arguments: str
) -> None:
    run = trajectory(
        say("assistant", tool_calls=[call("a", "find", arguments)]),
        say("tool", "fine", tool_call_id="a"),
    )
    (recording,) = read(write_json([run]))
    assert recording["steps"][0]["calls"] == [
        {"tool": "find", "args": {"unparsed": arguments}, "result": "fine", "ok": False}
    ]


HANDED_OVER = [
    say("assistant", tool_calls=[call("a", "transfer_to_human_agents")]),
    say("tool", "Transfer successful", tool_call_id="a"),
]


@pytest.mark.parametrize(
    ("messages", "reason", "limits"),
    [
        ([say("assistant", "Bye."), say("user", "###STOP###")], "agent_finished", None),
        (HANDED_OVER, "blocked", None),
        ([say("assistant", "Hm.")] * 30, "max_iterations", {"max_iterations": 30}),
        ([say("assistant", "Hm.")] * 30 + [say("user", "###STOP###")], "agent_finished", None),
        ([say("assistant", "Hm.")] * 29, None, None),
        ([say("assistant", "I am done. ###STOP###")], None, None),
    ],
)
def test_exit_reason_comes_from_the_end_and_not_from_the_reward(
    write_json: Write, messages: list[dict[str, Any]], reason: str | None, limits: object
) -> None:
    for reward, outcome in ((1.0, "success"), (0.0, "failure"), (0, "failure")):
        (recording,) = read(write_json([trajectory(*messages, reward=reward)]))
        expected = {
            "exit_reason": reason,
            "exit_reason_source": None if reason is None else "inferred",
            "outcome": outcome,
            "limits": limits,
        }
        assert recording["recorded"] == {k: v for k, v in expected.items() if v is not None}


def test_ids_stay_unique(write_json: Write) -> None:
    ids = [recording["id"] for recording in read(write_json([GOOD, GOOD, GOOD]))]
    assert ids == [f"tau-bench/runs/task-004-trial-0{end}" for end in ("", "-2", "-3")]


def changed(path: str, value: Any) -> dict[str, Any]:
    """GOOD with the value at ``path`` replaced, or the key removed where it is ``...``."""
    run = deepcopy(GOOD)
    *way, last = path.split(".")
    spot: Any = run
    for part in way:
        spot = spot[int(part) if part.isdigit() else part]
    if value is ...:
        del spot[last]
    else:
        spot[last] = value
    return run


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("text", "expected an object with key 'task_id', found 'text'"),
        (changed("reward", ...), "key 'reward' is missing; found keys: 'task_id'"),
        (changed("reward", "1.0"), "key 'reward' must be a number, found '1.0'"),
        (changed("reward", float("nan")), "key 'reward' must be a finite number"),
        (changed("reward", 10**400), "key 'reward' must be a finite number"),
        (changed("task_id", True), "key 'task_id' must be a whole number, found True"),
        (changed("trial", 10**400), "key 'trial' must be 0 to 9007199254740992, found 1000"),
        (changed("task_id", -1), "key 'task_id' must be 0 to 9007199254740992, found -1"),
        (changed("info.task.instruction", ...), "key 'instruction' is missing"),
        (changed("traj", {}), "key 'traj' must be a list"),
        (changed("traj", [say("user", "Hi.")]), "holds no assistant message"),
        (changed("traj.3.role", "assistent"), "message 4: key 'role': found 'assistent' (did you"),
        (changed("traj.3.content", ["x"]), "message 4: key 'content' must be a text"),
        (changed("traj.5.tool_calls", [{}]), "message 6: key 'function' is missing"),
        (changed("traj.6.tool_call_id", "z"), "message 7: key 'tool_call_id' must name an open"),
    ],
)
def test_another_shape_is_refused(
    write_json: Write, refused: Refused, run: Any, words: str
) -> None:
    message = refused(write_json([GOOD, run]))
    assert "trajectory 2" in message
    assert words in message


def test_a_result_must_answer_the_turn_before_it(write_json: Write, refused: Refused) -> None:
    """Ids recur within a run, so an old call must not be answered by a later result."""
    run = trajectory(
        say("assistant", tool_calls=[call("a", "find")]),
        say("tool", "7", tool_call_id="a"),
        say("assistant", "Found."),
        say("tool", "8", tool_call_id="a"),
    )
    assert "message 5: key 'tool_call_id'" in refused(write_json([run]))


def test_broken_files_are_refused(tmp_path: Path, write_json: Write, refused: Refused) -> None:
    whole = json.dumps([GOOD], indent=1)
    path = tmp_path / "runs.json"
    path.write_text(whole[: len(whole) // 2])
    assert "before the first trajectory: the rest of the file cannot be read" in refused(path)
    path.write_bytes(b'["\xff"]')
    assert "trajectory 1: not UTF-8: byte 1 is 0xff" in refused(path)
    path.write_text("[" * 100_000 + "]" * 100_000)
    assert "trajectory 1: nested too deeply" in refused(path)
    path.write_text(f"[{'9' * 10_000}]")
    assert "integer of too many digits" in refused(path)
    path.write_text(" \n")
    assert "expected a list, found no JSON" in refused(path)
    assert "the list is empty; expected at least one trajectory" in refused(write_json([]))
    assert "expected a list, found an object" in refused(write_json({"a": 1}))
    assert "cannot be read: No such file" in refused(tmp_path / "absent.json")
    assert "cannot be read: Is a directory" in refused(tmp_path)


def test_a_trajectory_too_large_is_refused(
    write_json: Write, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", 10)
    assert "trajectory 1: may hold at most 10 bytes" in refused(write_json([GOOD]))


def test_half_a_surrogate_pair_is_replaced(write_json: Write) -> None:
    run = trajectory(
        say("assistant", "\ud83d \U0001f6b2", tool_calls=[call("a", "find", r'{"id": "\ud83d"}')])
    )
    (recording,) = read(write_json([run]))
    (step,) = recording["steps"]
    assert step["reply"]["text"] == "\ufffd \U0001f6b2"
    assert step["calls"][0]["args"] == {"id": "\ufffd"}


# The recorded runs


@pytest.fixture(scope="module")
def airline(corpora: Path) -> Path:
    return corpora / "tau_bench" / "gpt-4o-airline.json"


@pytest.fixture(scope="module")
def runs(airline: Path) -> list[dict[str, Any]]:
    return read(airline)


def test_counts_of_the_airline_runs(airline: Path, runs: list[dict[str, Any]]) -> None:
    source = json.loads(airline.read_text())
    assert len(runs) == len(source) == 200
    assert len({recording["id"] for recording in runs}) == 200
    assert runs[3]["id"].startswith("tau-bench/gpt-4o-airline/task-")
    outcomes = Counter(recording["recorded"]["outcome"] for recording in runs)
    assert outcomes["success"] == sum(entry["reward"] == 1.0 for entry in source) == 84

    def count(role: str) -> int:
        return sum(message["role"] == role for entry in source for message in entry["traj"])

    steps = [step for recording in runs for step in recording["steps"]]
    calls = [call for step in steps for call in step.get("calls", ())]
    assert len(steps) == count("assistant") == 2454
    assert len(calls) == count("tool") == 1164
    assert sum("user" in step for step in steps) == 1490 - 149  # closing messages open no step
    assert all("result" in call for call in calls)
    failed = [call for call in calls if not call["ok"]]
    assert len(failed) == airline.read_text().count('"content": "Error') == 73


def test_exit_reasons_of_the_airline_runs(runs: list[dict[str, Any]]) -> None:
    reasons = Counter(recording["recorded"].get("exit_reason") for recording in runs)
    assert reasons == {"agent_finished": 147, "blocked": 48, "max_iterations": 5}
