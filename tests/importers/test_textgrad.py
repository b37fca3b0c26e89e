"""The importer of TextGrad's code optimisation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings

FORMAT = "textgrad"
Write = Callable[..., Path]
Refused = Callable[[Path], str]
TESTS = ["assert boil(1) == 1", "assert boil(1) == 12"]


def report(*passed: bool) -> str:
    good = [test for test, ok in zip(TESTS, passed, strict=True) if ok]
    bad = [f"{test} # output: a\nnote" for test, ok in zip(TESTS, passed, strict=True) if not ok]
    return "\n".join(["Tested passed:", *good, "", "Tests failed:", *bad])


def task(*reports: str, **more: Any) -> dict[str, Any]:
    run = {
        "task_id": "boil-water",
        "prompt": "def boil(n): ...",
        "test": TESTS,
        "implementations": [f"program {n}" for n in range(len(reports))],
        "test_feedback": list(reports),
        "reflections": [f"lesson {n}" for n in range(len(reports) - 1)],
        "is_solved": False,
        "is_bad": False,
    }
    return {**run, **more}


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def test_a_task_becomes_one_step_a_program(write_lines: Write) -> None:
    one, both = report(True, False), report(True, True)
    assert read(write_lines(task(one, both), name="seed_7.jsonl")) == [
        {
            "schema": "harness/scenario@1",
            "id": "textgrad/seed_7/boil-water",
            "title": "boil-water, seed_7",
            "source": "textgrad:seed_7.jsonl",
            "goal": "def boil(n): ...",
            "tags": ["textgrad"],
            "steps": [
                {
                    "output": "program 0",
                    "score": {"passed": 1, "total": 2},
                    "feedback": f"{one}\n\nlesson 0",
                },
                {"output": "program 1", "score": {"passed": 2, "total": 2}, "feedback": both},
            ],
            "recorded": {
                "exit_reason": "quality_reached",
                "exit_reason_source": "inferred",
                "outcome": "failure",
            },
        }
    ]


NONE, ALL = report(False, False), report(True, True)


@pytest.mark.parametrize(
    ("reports", "more", "recorded"),
    [
        ([ALL], {"is_solved": True}, ("quality_reached", "success")),
        ([ALL], {"is_solved": False}, ("quality_reached", "failure")),
        ([ALL], {"is_bad": True}, ("quality_reached", None)),
        ([ALL], {"is_bad": None}, ("quality_reached", "failure")),
        ([NONE] * 5, {"is_solved": True}, ("max_iterations", "success")),
        ([NONE] * 4, {}, (None, "failure")),
        ([*[NONE] * 4, ALL], {}, ("quality_reached", "failure")),
        (["Tested passed:\n\nTests failed:"], {"test": []}, (None, "failure")),
    ],
)
def test_hidden_tests_decide_the_outcome_and_never_the_reason(
    write_lines: Write, reports: list[str], more: dict[str, Any], recorded: tuple[Any, Any]
) -> None:
    (recording,) = read(write_lines(task(*reports, **more)))
    found = recording["recorded"]
    assert (found.get("exit_reason"), found.get("outcome")) == recorded
    assert "explicit" not in str(found)


def test_what_guards_see_does_not_depend_on_the_hidden_tests(write_lines: Write) -> None:
    steps = [
        read(write_lines(task(NONE, ALL, is_solved=solved, is_bad=bad)))[0]["steps"]
        for solved in (True, False)
        for bad in (True, False)
    ]
    assert all(each == steps[0] for each in steps)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ([], "expected an object with key 'task_id', found []"),
        (task(ALL, is_solved=1), "key 'is_solved' must be true or false, found 1"),
        (task(), "key 'implementations' is an empty list"),
        (task(ALL, test_feedback=[]), "key 'test_feedback' must have 1 values for 1 programs"),
        (task(ALL, reflections=["x"]), "key 'reflections' must have 0 values for 1 programs"),
        (task(ALL, test=[1]), "key 'test', value 1: must be a text, found 1"),
        (task("all good"), "program 1: key 'test_feedback' must say 'Tested passed:' and then"),
        (
            task("Tested passed:\n\nTests failed:"),
            "program 1: key 'test_feedback' must name all 2 tests, found 0 passed and 0 failed",
        ),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(task(ALL), line))
    assert ": line 2" in message
    assert words in message


def test_a_folder_without_runs_is_refused(tmp_path: Path, refused: Refused) -> None:
    assert "the folder holds no *.jsonl file" in refused(tmp_path)


def test_counts_of_the_runs(corpora: Path) -> None:
    folder = corpora / "textgrad" / "reflexion_leetcode"
    files = sorted(folder.glob("*.jsonl"))
    source = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    found = read(folder)
    assert len(found) == len(source) == 195
    assert len({recording["id"] for recording in found}) == 195
    for run, recording in zip(source, found, strict=True):
        steps = recording["steps"]
        assert [step["output"] for step in steps] == run["implementations"]
        # Counted another way: by the comment that only a failed test carries.
        failed = [text.count(" # output: ") for text in run["test_feedback"]]
        totals = [step["score"]["total"] - step["score"]["passed"] for step in steps]
        assert totals == failed
        assert {step["score"]["total"] for step in steps} == {len(run["test"])}
        assert [s["score"]["passed"] < len(run["test"]) for s in steps[:-1]] == [True] * len(
            run["reflections"]
        )
    counts = Counter((r["recorded"]["exit_reason"], r["recorded"].get("outcome")) for r in found)
    assert counts == {
        ("quality_reached", "success"): 60,
        ("quality_reached", "failure"): 81,
        ("quality_reached", None): 12,
        ("max_iterations", "failure"): 42,
    }
    lengths = Counter(len(recording["steps"]) for recording in found)
    assert lengths == {1: 133, 2: 11, 3: 6, 4: 1, 5: 44}
