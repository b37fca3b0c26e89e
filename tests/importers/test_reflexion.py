"""The importer of Reflexion's logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings

FORMAT = "reflexion"
Write = Callable[..., Path]
Refused = Callable[[Path], str]


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def act(action: str, observation: str | None = "Water boils.") -> dict[str, Any]:
    return {"action": action, "observation": observation}


def trial(*steps: dict[str, Any], number: int = 1, label: str = "INCORRECT", **more: Any) -> Any:
    run = {
        "question": "When does water boil?",
        "trial": number,
        "label": label,
        "steps": list(steps),
        "reflection_shown_to_agent": None,
    }
    return {**run, **more}


def test_a_hotpot_trial_becomes_one_step_an_action(write_lines: Write) -> None:
    steps = (act("Search[water]"), act("Heat it", None), act("Finish[100]", "Answer is INCORRECT"))
    line = trial(*steps, number=2, reflection_shown_to_agent="Look it up.")
    assert read(write_lines(line)) == [
        {
            "schema": "harness/scenario@1",
            "id": "reflexion/runs/question-001-trial-2",
            "title": "HotpotQA question 1, trial 2",
            "source": "reflexion:runs.jsonl",
            "goal": "When does water boil?",
            "tags": ["reflexion", "hotpotqa"],
            "tools": ["Finish", "Lookup", "Search"],
            "steps": [
                {
                    "nudge": "Look it up.",
                    "calls": [
                        {
                            "tool": "Search",
                            "args": {"input": "water"},
                            "result": "Water boils.",
                            "ok": True,
                        }
                    ],
                },
                {"calls": [{"tool": "unparsed", "args": {"input": "Heat it"}, "ok": False}]},
                {
                    "calls": [
                        {
                            "tool": "Finish",
                            "args": {"input": "100"},
                            "result": "Answer is INCORRECT",
                            "ok": True,
                        }
                    ],
                    "score": 0.0,
                },
            ],
            "recorded": {"exit_reason": "agent_finished", "outcome": "failure"},
        }
    ]


@pytest.mark.parametrize(
    ("steps", "label", "recorded", "score"),
    [
        (["Finish[a]"], "CORRECT", ("agent_finished", None, "success"), 1.0),
        (["Search[a]"] * 5 + ["Finish[a]"], "CORRECT", ("agent_finished", None, "success"), 1.0),
        (["Search[a]"] * 6, "HALTED", ("max_iterations", "inferred", "failure"), None),
        (["Search[a]"] * 3, "HALTED", (None, None, "failure"), None),
    ],
)
def test_how_a_hotpot_trial_ended(
    write_lines: Write, steps: list[str], label: str, recorded: tuple[Any, ...], score: object
) -> None:
    (found,) = read(write_lines(trial(*map(act, steps), label=label)))
    ending = found["recorded"]
    keys = ("exit_reason", "exit_reason_source", "outcome")
    assert tuple(ending.get(key) for key in keys) == recorded
    assert found["steps"][-1].get("score") == score


@pytest.mark.parametrize(
    ("observation", "ok"),
    [
        ("Could not find [x]. Similar: ['y']", True),
        ("Invalid Action. Valid Actions are Lookup[<topic>]", False),
        ("The last page Searched was not found, so you cannot Lookup", False),
    ],
)
def test_a_search_that_found_nothing_did_not_fail(
    write_lines: Write, observation: str, ok: bool
) -> None:
    (found,) = read(write_lines(trial(act("Search[x]", observation))))
    assert found["steps"][0]["calls"][0]["ok"] is ok


def test_what_was_solved_is_carried_over_and_no_run(write_lines: Write) -> None:
    good = trial(act("Finish[a]"), number=2, label="CORRECT")
    other = trial(act("Finish[b]"), number=2, question="Why?")
    lines = [trial(act("Finish[b]")), good, other, {**good, "trial": 3}, {**good, "trial": 4,
             "steps": []}, {**other, "trial": 3}]  # fmt: skip
    ids = [found["id"].removeprefix("reflexion/runs/question-") for found in read(
        write_lines(*lines))]  # fmt: skip
    assert ids == ["001-trial-1", "001-trial-2", "002-trial-2", "002-trial-3"]


def program(*reflections: str, solved: bool = True, **more: Any) -> dict[str, Any]:
    run = {
        "task_id": "kettle/1",
        "prompt": "def boil(): ...",
        "reflections": list(reflections),
        "is_solved": solved,
        "solution": "return 100",
    }
    return {**run, **more}


def test_a_programming_task_becomes_one_step_a_program(write_lines: Write) -> None:
    lines = (program("Too cold.", solved=False), {**program("a", "b"), "task_id": "2"})
    first, last = read(write_lines(*lines))
    assert first == {
        "schema": "harness/scenario@1",
        "id": "reflexion/runs/kettle-1",
        "title": "kettle/1",
        "source": "reflexion:runs.jsonl",
        "goal": "def boil(): ...",
        "tags": ["reflexion", "programming"],
        "steps": [{"feedback": "Too cold."}, {"output": "return 100"}],
        "recorded": {
            "exit_reason": "quality_reached",
            "exit_reason_source": "inferred",
            "outcome": "failure",
        },
    }
    # The longest run of a file may have been cut off by the limit.
    assert last["recorded"] == {"outcome": "success"}
    assert len(last["steps"]) == 3


Trials = Callable[..., Path]


@pytest.fixture
def trials(tmp_path: Path) -> Trials:
    """Write one ALFWorld log a trial; each is a list of (success, memory) by environment."""

    def write(*logs: Any, run: str = "tea", first: int = 0) -> Path:
        for number, log in enumerate(logs, first):
            environments = [
                {"name": f"env_{n}", "is_success": good, "memory": memory}
                for n, (good, memory) in enumerate(log)
            ] if isinstance(log, list) else log  # fmt: skip
            path = tmp_path / f"{run}_run_logs_{number}.json"
            path.write_text(json.dumps(environments), encoding="utf-8")
        return tmp_path

    return write


def test_an_environment_becomes_one_step_a_trial(trials: Trials) -> None:
    folder = trials(
        [(True, []), (False, ["a"]), (False, ["x"])],
        [(True, []), (True, ["a"]), (False, ["x", "y"])],
        [(True, []), (True, ["a"]), (False, ["x", "y"])],
    )
    first, second, third = read(folder)
    assert first["id"] == "reflexion/tea/env_0"
    assert first["steps"] == [{"score": 1.0}]
    assert second["steps"] == [{"score": 0.0, "feedback": "a"}, {"score": 1.0}]
    assert second["recorded"] == {
        "exit_reason": "quality_reached",
        "exit_reason_source": "inferred",
        "outcome": "success",
    }
    assert third["steps"] == [
        {"score": 0.0, "feedback": "x"},
        {"score": 0.0, "feedback": "y"},
        {"score": 0.0},
    ]
    assert third["recorded"] == {
        "exit_reason": "max_iterations",
        "exit_reason_source": "inferred",
        "limits": {"max_iterations": 3},
        "outcome": "failure",
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ([], "expected a HotpotQA trial (key 'question') or a programming task (key"),
        ({"task_id": 1}, "'reflections'), found ['task_id']"),
        (trial(), "key 'steps' is an empty list"),
        (trial(act("Finish[a]"), label="correct"), "key 'label': found 'correct'"),
        (trial({"observation": "x"}), "step 1: key 'action' is missing; found keys: 'observation'"),
        (trial(act("Finish[a]"), trial="1"), "key 'trial' must be a whole number, found '1'"),
        (trial(act("Finish[a]"), question=None), "key 'question' must be a text, found None"),
        (program(solved="yes"), "key 'is_solved' must be true or false, found 'yes'"),
        (program(reflections=[1]), "key 'reflections', value 1: must be a text, found 1"),
        (program(reflections="x"), "key 'reflections' must be a list, found 'x'"),
        (program(solution=None), "key 'solution' must be a text, found None"),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(trial(act("Finish[a]")), line))
    assert ": line 2" in message
    assert words in message


@pytest.mark.parametrize(
    ("logs", "words"),
    [
        (([(True, [])], {}), "log: must be a list as long as trial 0's, found {}"),
        (([(True, [])], []), "log: must be a list as long as trial 0's, found []"),
        (([(1, [])],), "environment 1: key 'is_success' must be true or false, found 1"),
        (([(True, [2])],), "environment 1: key 'memory', value 1: must be a text, found 2"),
    ],
)
def test_trials_of_another_shape_are_refused(
    trials: Trials, refused: Refused, logs: tuple[Any, ...], words: str
) -> None:
    assert words in refused(trials(*logs))


def test_trials_that_do_not_belong_together_are_refused(
    trials: Trials, refused: Refused, tmp_path: Path
) -> None:
    assert "the folder holds no *.jsonl and no *_run_logs_N.json" in refused(tmp_path)
    folder = trials([(False, [])], first=1)
    assert "tea_run_logs_0.json: is missing; trials count from 0" in refused(folder)
    trials([(False, [])])
    one = tmp_path / "tea_run_logs_1.json"
    assert "is one trial of several; name the folder of them" in refused(one)
    one.write_text(json.dumps([{"name": "env_9", "is_success": True, "memory": []}]))
    assert "key 'name' must be 'env_0' as in trial 0, found 'env_9'" in refused(folder)
