"""The importer of tau2-bench's results; samples follow its data model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import available, tau2
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

FORMAT = "tau2"


def say(role: str, content: str | None, second: int | None = None, **more: Any) -> dict[str, Any]:
    stamp = {} if second is None else {"timestamp": f"2026-01-31T10:00:{second:02d}.5"}
    return {"role": role, "content": content, "tool_calls": None, **stamp, **more}


def call(call_id: str, name: str, **args: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": args, "requestor": "assistant"}


def result(call_id: str, content: str, second: int | None = None, **more: Any) -> dict[str, Any]:
    about = {"requestor": "assistant", "error": False, **more}
    stamp = {} if second is None else {"timestamp": f"2026-01-31T10:00:{second:02d}.5"}
    return {"id": call_id, "role": "tool", "content": content, **stamp, **about}


GREETING = say("assistant", "Hi! How can I help?", 0)
ASK = say("user", "Cancel my order.", 4)
LOOK = say(
    "assistant",
    None,
    6,
    tool_calls=[call("a", "find_order", id=7)],
    usage={"prompt_tokens": 100, "completion_tokens": 20},
    generation_time_seconds=1.25,
)
SEEN = result("a", '{"order": 7}', 7)
DONE = say("assistant", "It is cancelled.", 9, usage={"prompt_tokens": 130, "completion_tokens": 8})
BYE = say("user", "Thanks. ###STOP###", 12)
TALK = [GREETING, ASK, LOOK, SEEN, DONE, BYE]


def run(*messages: Any, **more: Any) -> dict[str, Any]:
    about = {
        "id": "r-1",
        "task_id": "12",
        "trial": 0,
        "start_time": "2026-01-31T10:00:00",
        "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0},
    }
    return {**about, "messages": list(messages) or TALK, **more}


def results(*runs: Any, **more: Any) -> dict[str, Any]:
    told = {
        "domain": "retail",
        "reason_for_call": "You want to cancel an order.",
        "task_instructions": "Be brief.",
        "known_info": None,
    }
    return {
        "timestamp": "2026-01-31",
        "info": {
            "agent_info": {"implementation": "llm_agent", "llm": "openai/gpt-x"},
            "environment_info": {"domain_name": "retail", "policy": "Be kind."},
            "max_steps": 200,
        },
        "tasks": [{"id": "12", "user_scenario": {"instructions": told}}],
        "simulations": list(runs),
        **more,
    }


def test_a_simulation_becomes_steps(write_json: Write) -> None:
    assert read(FORMAT, write_json(results(run()))) == [
        {
            "schema": "harness/scenario@1",
            "id": "tau2/retail/12-trial-0",
            "title": "tau2-bench retail, task 12 trial 0",
            "source": "tau2:runs.json",
            "goal": "You want to cancel an order.\n\nBe brief.",
            "tags": ["tau2"],
            "tools": ["find_order"],
            "steps": [
                {
                    "user": "Cancel my order.",
                    "reply": {
                        "model": "gpt-x",
                        "usage": {"input": 100, "output": 20},
                        "ms": 1250,
                    },
                    "calls": [
                        {
                            "tool": "find_order",
                            "args": {"id": 7},
                            "result": '{"order": 7}',
                            "ok": True,
                            "ms": 1000,
                        }
                    ],
                },
                {
                    "reply": {
                        "text": "It is cancelled.",
                        "model": "gpt-x",
                        "usage": {"input": 130, "output": 8},
                        "ms": 2000,
                    }
                },
            ],
            "recorded": {"exit_reason": "agent_finished", "outcome": "success"},
        }
    ]


@pytest.mark.parametrize(
    ("reason", "reward", "recorded"),
    [
        ("user_stop", 1.0, {"exit_reason": "agent_finished", "outcome": "success"}),
        ("user_stop", 0.5, {"exit_reason": "agent_finished", "outcome": "failure"}),
        ("agent_stop", 0, {"exit_reason": "agent_finished", "outcome": "failure"}),
        ("agent_stop", None, {"exit_reason": "agent_finished"}),
        ("max_steps", 0.0, {"exit_reason": "max_iterations", "outcome": "failure"}),
        ("timeout", 0.0, {"exit_reason": "time_budget", "outcome": "failure"}),
        ("too_many_errors", 0.0, {"exit_reason": "repeated_error", "outcome": "failure"}),
        ("infrastructure_error", 0.0, {"exit_reason": "infrastructure"}),
        ("agent_error", 0.0, {"exit_reason": "error"}),
        ("user_error", 0.0, {"exit_reason": "error"}),
        ("context_window_exceeded", 0.0, {"exit_reason": "error"}),
        ("unexpected_error", 0.0, {"exit_reason": "error"}),
        ("something_new", 1.0, {"exit_reason_source": "unknown"}),
    ],
)
def test_the_end(
    write_json: Write, reason: str, reward: float | None, recorded: dict[str, str]
) -> None:
    info = None if reward is None else {"reward": reward}
    made = run(termination_reason=reason, reward_info=info)
    (found,) = read(FORMAT, write_json(results(made)))
    assert found.get("recorded") == recorded


def test_a_person_who_transfers_makes_it_blocked(write_json: Write) -> None:
    away = say("user", "###TRANSFER###")
    (found,) = read(FORMAT, write_json(results(run(ASK, DONE, away))))
    assert found["recorded"] == {
        "exit_reason": "blocked",
        "exit_reason_source": "inferred",
        "outcome": "success",
    }


def test_the_persons_own_calls_are_not_the_agents(write_json: Write) -> None:
    acts = say("user", None, tool_calls=[{**call("u", "reboot"), "requestor": "user"}])
    done = result("u", "rebooted", requestor="user")
    (found,) = read(FORMAT, write_json(results(run(ASK, DONE, acts, done, DONE, BYE))))
    assert calls(found) == []
    assert len(found["steps"]) == 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (result("a", "no", error=True), {"result": "no", "ok": False}),
        (result("a", "Error: odd"), {"result": "Error: odd", "ok": True}),
        ({"role": "tool", "tool_messages": [result("a", "yes")]}, {"result": "yes", "ok": True}),
        (result("b", "another's"), {}),
    ],
)
def test_results(write_json: Write, answer: dict[str, Any], expected: dict[str, Any]) -> None:
    plain = {key: value for key, value in LOOK.items() if key != "timestamp"}
    (found,) = read(FORMAT, write_json(results(run(plain, answer))))
    assert calls(found) == [{"tool": "find_order", "args": {"id": 7}, **expected}]


def test_the_response_is_more_exact_than_its_usage(write_json: Write) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    raw = {"model": "gpt-y", "usage": usage, "choices": [{"finish_reason": "stop"}]}
    made = run(ASK, {**DONE, "raw_data": raw})
    (found,) = read(FORMAT, write_json(results(made)))
    reply = found["steps"][0]["reply"]
    assert (reply["model"], reply["finish_reason"]) == ("gpt-y", "stop")
    assert reply["usage"] == {"input": 40, "cache_read": 60, "output": 5, "reasoning": 15}


def test_one_simulation_and_a_folder_of_them(tmp_path: Path, write_json: Write) -> None:
    folder = tmp_path / "simulations"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"r-{number}.json").write_text(json.dumps(run(trial=number)))
    write_json(results(simulation_index=[{"id": "r-1"}]), "results.json")
    one = read(FORMAT, folder / "r-1.json")
    assert [(found["id"], found["goal"]) for found in one] == [
        ("tau2/task/12-trial-1", "Cancel my order.")
    ]
    for path in (tmp_path, tmp_path / "results.json"):
        assert [found["id"] for found in read(FORMAT, path)] == [
            "tau2/retail/12-trial-1",
            "tau2/retail/12-trial-2",
        ]
        assert tau2.fits(head_of(path))
    assert tau2.fits(head_of(folder / "r-1.json"))


def test_only_the_broken_simulation_is_lost(write_json: Write) -> None:
    path = write_json(
        results(
            run(),
            run(termination_reason=None),
            run(messages=None, ticks=[{}]),
            run(messages=[], termination_reason="infrastructure_error"),
            run({"role": "robot"}),
            run({**LOOK, "usage": {"prompt_tokens": "many"}}),
            run({**DONE, "generation_time_seconds": -1}, ASK, {**DONE, "timestamp": "soon"}),
            run(reward_info={"reward": "good"}),
            run(trial=3),
            5,
        )
    )
    found, problems = lenient(FORMAT, path)
    assert [recording["id"][-7:] for recording in found] == ["trial-0", "trial-3"]
    words = [
        "simulation 2: key 'termination_reason' must be a text",
        "simulation 3: is a voice run",
        "simulation 4: holds no message of the agent (it ended with 'infrastructure_error')",
        "simulation 5, message 1: key 'role' must be user",
        "simulation 6, message 1, usage: key 'prompt_tokens' must be a whole number",
        "simulation 7, message 3: a time stamp must be",
        "simulation 8: key 'reward' must be a number",
        "simulation 10: expected an object with key 'termination_reason'",
    ]
    for problem, expected in zip(problems, words, strict=True):
        assert problem.startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (results(), "expected at least one simulation"),
        ({"tasks": []}, "expected tau2-bench results"),
        ([1], "expected tau2-bench results"),
    ],
)
def test_refused(write_json: Write, refused: Refused, value: Any, words: str) -> None:
    assert words in refused(write_json(value))


def test_every_guard_can_look_on(write_json: Write) -> None:
    (found,) = read(FORMAT, write_json(results(run())))
    assert observed(found) == 2
    assert sum(tokens(found).values()) == 258


def test_no_other_importer_takes_its_files(write_json: Write, corpora: Path) -> None:
    head = head_of(write_json(results(run())))
    assert [name for name, module in available().items() if module.fits(head)] == ["tau2"]
    assert fitting(tau2, corpora) == set()
