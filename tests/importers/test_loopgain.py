"""The importer of loopgain-bench."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings
from harness.importers.loopgain import _spread

FORMAT = "loopgain"
Write = Callable[..., Path]
Refused = Callable[[Path], str]


def header(target: object = 0.0, **more: Any) -> dict[str, Any]:
    cell = {
        "id": "w9-kettles-plain-model-x",
        "model": "model-x",
        "target_error": target,
        "task_description": "Describe a kettle.",
        **more,
    }
    return {"_header": True, "cell": cell}


def trial(errors: list[Any], seed: int = 2, **more: Any) -> dict[str, Any]:
    run = {
        "iters": len(errors),
        "input_tokens": 1003,
        "output_tokens": 40,
        "wall_clock_s": 2.0049,
        "error_history": errors,
        "failed_iters": [],
        "final_output": "A kettle.",
        **more,
    }
    short = {**run, "iters": 1, "error_history": [9.0]}
    return {"seed": seed, "prompt": "Blue.\n", "conditions": {"LG": short, "B20": run}}


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def test_a_trial_becomes_twenty_steps(write_lines: Write) -> None:
    errors = [float(20 - index) for index in range(20)]
    (recording,) = read(write_lines(header(), trial(errors)))
    steps = recording.pop("steps")
    assert recording == {
        "schema": "harness/scenario@1",
        "id": "loopgain/w9-kettles-plain-model-x/seed-002",
        "title": "w9-kettles-plain-model-x, seed 2",
        "source": "loopgain:runs.jsonl",
        "goal": "Describe a kettle.\n\nBlue.",
        "direction": "lower",
        "tags": ["loopgain", "target_error:0"],
        "recorded": {
            "exit_reason": "max_iterations",
            "limits": {"max_iterations": 20},
            "outcome": "failure",
        },
    }
    assert [step["score"] for step in steps] == errors
    assert steps[0]["reply"] == {
        "model": "model-x",
        "ms": 101,
        "usage": {"input": 51, "output": 2},
    }
    assert steps[19]["reply"] == {
        "model": "model-x",
        "ms": 100,
        "usage": {"input": 50, "output": 2},
    }
    assert sum(step["reply"]["usage"]["input"] for step in steps) == 1003
    assert sum(step["reply"]["ms"] for step in steps) == 2005
    assert [step.get("output") for step in steps] == [None] * 19 + ["A kettle."]


@pytest.mark.parametrize(("total", "parts"), [(0, 20), (19, 20), (20, 20), (1003, 20), (7, 1)])
def test_spread_is_exact_and_even(total: int, parts: int) -> None:
    shares = _spread(total, parts)
    assert len(shares) == parts
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    ("target", "last", "outcome"),
    [
        (0.0, 0.0, "success"),
        (0.0, 1.0, "failure"),
        (2.0, 2.0, "success"),
        (0.0, None, "failure"),
        (None, 0.0, None),
    ],
)
def test_target_and_outcome(
    write_lines: Write, target: float | None, last: float | None, outcome: str | None
) -> None:
    """A target of 0 is a target, a target of null is none."""
    (recording,) = read(write_lines(header(target), trial([3.0] * 19 + [last])))
    tag = [] if target is None else [f"target_error:{target:g}"]
    assert recording["tags"] == ["loopgain", *tag]
    assert "limits" not in recording
    assert recording["recorded"].get("outcome") == outcome


def test_a_crashed_iteration_has_no_score(write_lines: Write) -> None:
    errors = [2.0, 1_000_000.0, None, float("nan"), *[1.0] * 16]
    (recording,) = read(write_lines(header(), trial(errors, failed_iters=[2, [3]])))
    scores = [step.get("score") for step in recording["steps"]]
    assert scores == [2.0, None, None, None, *[1.0] * 16]
    assert all("score" not in step for step in recording["steps"][1:4])


def test_a_short_trial_ended_for_an_unknown_reason(write_lines: Write) -> None:
    (recording,) = read(write_lines(header(), trial([2.0, 1.0], iters=3)))
    assert [step.get("score") for step in recording["steps"]] == [2.0, 1.0, None]
    assert recording["recorded"] == {"outcome": "failure"}
    assert sum(step["reply"]["usage"]["input"] for step in recording["steps"]) == 1003


def test_a_folder_is_read_file_by_file(write_lines: Write, tmp_path: Path) -> None:
    write_lines(header(), trial([1.0] * 20), trial([1.0] * 20, seed=4), name="b.jsonl")
    write_lines(header(), trial([1.0] * 20), name="a.jsonl")
    (tmp_path / "notes.txt").write_text("not a recording")
    name = "loopgain/w9-kettles-plain-model-x/seed"
    ids = [recording["id"] for recording in read(tmp_path)]
    assert ids == [f"{name}-002", f"{name}-002-2", f"{name}-004"]


ONES = [1.0] * 20


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"seed": 2, "prompt": "Bl', "not JSON: Unterminated string"),
        ([], "expected an object with key 'seed', found []"),
        ({**trial(ONES), "seed": "2"}, "key 'seed' must be a whole number, found '2'"),
        ({**trial(ONES), "conditions": {"LG": {}}}, "key 'B20' is missing; found keys: 'LG'"),
        (trial([]), "condition B20 must have 1 to 20 iterations, found 0"),
        (trial([1.0] * 21), "condition B20 must have 1 to 20 iterations, found 21"),
        (trial(ONES, iters=10**12), "must have 1 to 20 iterations, found 1000000000000"),
        (trial(["low"] * 20), "key 'error_history', iteration 1: must be null or a number of"),
        (trial([1.0, -1.0]), "iteration 2: must be null or a number of at least 0, found -1.0"),
        (trial([True]), "at least 0, found True"),
        (trial(ONES, failed_iters=2), "key 'failed_iters' must be a list, found 2"),
        (trial(ONES, input_tokens=1.5), "key 'input_tokens' must be a whole number, found 1.5"),
        (
            trial(ONES, output_tokens=-1),
            "key 'output_tokens' must be 0 to 9007199254740992, found -1",
        ),
        (trial(ONES, wall_clock_s=1e300), "key 'wall_clock_s' must lie between 0 and"),
        (trial(ONES, wall_clock_s=None), "key 'wall_clock_s' must be a number, found None"),
        ({"_header": True}, "key 'cell' is missing; found keys: '_header'"),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(header(), trial(ONES), line))
    assert ": line 3: " in message
    assert words in message


def test_broken_files_are_refused(write_lines: Write, refused: Refused, tmp_path: Path) -> None:
    assert "the folder holds no *.jsonl file" in refused(tmp_path)
    assert "line 1: expected a header" in refused(write_lines(trial(ONES)))
    assert "holds a header but no trial" in refused(write_lines(header()))
    assert "the file is empty" in refused(write_lines())
    assert "No such file" in refused(tmp_path / "absent.jsonl")
    assert "key 'target_error' must be a number" in refused(write_lines(header("0"), trial(ONES)))


# The recorded runs


def test_counts_of_the_benchmark(corpora: Path) -> None:
    folder = corpora / "loopgain_bench"
    trials, cells = [], []
    for file in sorted(folder.glob("w*.jsonl")):
        first, *rest = (json.loads(line) for line in file.read_text().splitlines())
        trials += rest
        cells += [first["cell"]] * len(rest)
    runs = [trial["conditions"]["B20"] for trial in trials]
    recordings = read(folder)

    assert len(recordings) == len(trials) == 1000
    assert len({recording["id"] for recording in recordings}) == 1000
    assert {len(recording["steps"]) for recording in recordings} == {20}
    for run, cell, recording in zip(runs, cells, recordings, strict=True):
        steps = recording["steps"]
        usage = [step["reply"]["usage"] for step in steps]
        assert sum(tokens["input"] for tokens in usage) == run["input_tokens"]
        assert sum(tokens["output"] for tokens in usage) == run["output_tokens"]
        assert sum(step["reply"]["ms"] for step in steps) == round(run["wall_clock_s"] * 1000)
        assert {step["reply"]["model"] for step in steps} == {cell["model"]}
        target = cell["target_error"]
        assert (f"target_error:{target or 0:g}" in recording["tags"]) == (target is not None)
        scores = [
            None if number in run["failed_iters"] else error
            for number, error in enumerate(run["error_history"], 1)
        ]
        assert [step.get("score") for step in steps] == scores

    unscored = [step for r in recordings for step in r["steps"] if "score" not in step]
    assert len(unscored) == sum(len(run["failed_iters"]) for run in runs) == 1
    outcomes = Counter(recording["recorded"].get("outcome") for recording in recordings)
    assert outcomes == {"success": 602, "failure": 98, None: 300}
    assert all(r["recorded"]["exit_reason"] == "max_iterations" for r in recordings)


def test_one_file_of_the_benchmark(corpora: Path) -> None:
    file = min((corpora / "loopgain_bench").glob("w*.jsonl"))
    assert len(read(file)) == 100
