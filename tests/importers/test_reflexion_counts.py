"""Counts of Reflexion's own logs, against the importer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings("reflexion", path))


@pytest.fixture(scope="module")
def logs(corpora: Path) -> Path:
    return corpora / "reflexion"


@pytest.mark.parametrize(("name", "runs"), [("base", 364), ("reflexion", 419)])
def test_counts_of_hotpot(logs: Path, name: str, runs: int) -> None:
    file = logs / "hotpotqa_react" / f"derived_{name}.jsonl"
    source = [json.loads(line) for line in file.read_text().splitlines()]
    first = {}
    for line in source:
        if line["label"] == "CORRECT":
            first.setdefault(line["question"], line["trial"])
    kept = [line for line in source if line["trial"] <= first.get(line["question"], 99)]
    found = read(file)
    assert len(found) == len(kept) == runs
    for line, recording in zip(kept, found, strict=True):
        assert recording["goal"] == line["question"]
        assert len(recording["steps"]) == len(line["steps"])
        assert recording["steps"][0].get("nudge") == line["reflection_shown_to_agent"]
    outcomes = Counter(recording["recorded"]["outcome"] for recording in found)
    assert outcomes["success"] == len(first)


def test_counts_of_alfworld(logs: Path) -> None:
    found = read(logs / "alfworld")
    for name, number in (("base", 7), ("reflexion", 15)):
        trials = [
            json.loads((logs / "alfworld" / f"{name}_run_logs_{n}.json").read_text())
            for n in range(number)
        ]
        runs = [r for r in found if r["id"].startswith(f"reflexion/{name}/")]
        assert len(runs) == 134
        solved = [sum(environment["is_success"] for environment in log) for log in trials]
        for n in range(number):
            reached = sum(1.0 in [s["score"] for s in r["steps"][: n + 1]] for r in runs)
            assert reached == solved[n]
        told = sum(len(environment["memory"]) for environment in trials[-1])
        assert sum("feedback" in step for r in runs for step in r["steps"]) == told


def test_counts_of_programming(logs: Path) -> None:
    files = sorted((logs / "programming").glob("*.jsonl"))
    source = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    found = read(logs / "programming")
    assert len(found) == len(source) == 995
    for line, recording in zip(source, found, strict=True):
        texts = [step.get("feedback") for step in recording["steps"]]
        assert texts == [*line["reflections"], None]
        assert (recording["recorded"]["outcome"] == "success") is line["is_solved"]
        # Five programs at most, ten in the run on HumanEval.
        limit = 10 if recording["id"].startswith("reflexion/reflexion_humaneval") else 5
        ended = "exit_reason" in recording["recorded"]
        assert ended is (len(recording["steps"]) < limit)
