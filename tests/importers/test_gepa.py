"""The importer of GEPA's example runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings

FORMAT = "gepa"
Write = Callable[..., Path]
Refused = Callable[[Path], str]


def optimisation(scores: list[Any], **more: Any) -> dict[str, Any]:
    run = {
        "dataset": "kettle reviews",
        "adapter": "default",
        "best_val_score": 0.75,
        "best_prompt": "Is the kettle good?",
        "num_candidates": len(scores),
        "val_scores_history": scores,
    }
    return {**run, **more}


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def test_a_run_becomes_one_step_a_candidate(write_json: Write) -> None:
    assert read(write_json(optimisation([0.5, None, 0.75, 0]))) == [
        {
            "schema": "harness/scenario@1",
            "id": "gepa/kettle-reviews/default",
            "title": "GEPA on kettle reviews, adapter default",
            "source": "gepa:runs.json",
            "goal": "Find the prompt that scores best on kettle reviews.",
            "score_scale": [0, 1],
            "tags": ["gepa"],
            "steps": [
                {"score": 0.5},
                {},
                {"score": 0.75, "output": "Is the kettle good?"},
                {"score": 0.0},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("scores", "more"),
    [
        ([0.75, 0.75], {}),
        ([0.5], {}),
        ([None, 0.5], {"best_val_score": None}),
        ([0.75], {"best_prompt": None}),
    ],
)
def test_a_best_prompt_that_could_be_two_is_nobodys(
    write_json: Write, scores: list[Any], more: dict[str, Any]
) -> None:
    (recording,) = read(write_json(optimisation(scores, **more)))
    assert not any("output" in step for step in recording["steps"])


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ([], "expected an object with key 'val_scores_history', found []"),
        (optimisation([]), "key 'val_scores_history' is an empty list"),
        (optimisation([1.5]), "candidate 1: must be null or a number from 0 to 1, found 1.5"),
        (optimisation([0.1, True]), "candidate 2: must be null or a number from 0 to 1, found"),
        (optimisation(["0.1"]), "found '0.1'"),
        (optimisation([float("nan")]), "found nan"),
        (optimisation([10**400]), "must be null or a number from 0 to 1, found 1000"),
        (optimisation([0.1], num_candidates=2), "'num_candidates' values, which is 2; found 1"),
        (optimisation([0.1], dataset=3), "key 'dataset' must be a text, found 3"),
    ],
)
def test_another_shape_is_refused(
    write_json: Write, refused: Refused, run: Any, words: str
) -> None:
    assert words in refused(write_json(run))


def test_a_folder_without_runs_is_refused(tmp_path: Path, refused: Refused) -> None:
    assert "the folder holds no *.json file" in refused(tmp_path)


def test_counts_of_the_runs(corpora: Path) -> None:
    folder = corpora / "gepa_confidence"
    source = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    found = read(folder)
    assert len(found) == len(source) == 6
    assert len({recording["id"] for recording in found}) == 6
    for run, recording in zip(source, found, strict=True):
        assert [step["score"] for step in recording["steps"]] == run["val_scores_history"]
        prompts = [(s["score"], s["output"]) for s in recording["steps"] if "output" in s]
        # Two candidates of ag_news_default share the best score.
        tied = run["val_scores_history"].count(run["best_val_score"]) > 1
        assert prompts == ([] if tied else [(run["best_val_score"], run["best_prompt"])])
    assert all("recorded" not in recording for recording in found)
