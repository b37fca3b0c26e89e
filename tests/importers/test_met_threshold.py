"""The study of met thresholds: its page is what the recordings say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("met_threshold", DOCS / "met_threshold.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(study: ModuleType, corpora: Path) -> str:
    return str(study.page(corpora))


@pytest.mark.slow
def test_the_page_is_reproduced(page: str) -> None:
    current = (DOCS / "met-threshold.md").read_text("utf-8") == page
    assert current, "docs/met-threshold.md is out of date: python docs/met_threshold.py FOLDER"


@pytest.mark.slow
def test_a_plain_count_agrees(page: str, corpora: Path) -> None:
    """Met and wrong: visible tests all passed at the end, hidden ones not."""
    met = wrong = judged = repeated = solved = 0
    for file in (corpora / "textgrad" / "reflexion_leetcode").glob("*.jsonl"):
        for line in file.read_text().splitlines():
            run = json.loads(line)
            programs = [" ".join(text.split()).lower() for text in run["implementations"]]
            again = len(set(programs)) < len(programs)
            repeated += again
            solved += again and run["is_solved"]
            if " # output: " in run["test_feedback"][-1]:
                continue
            met += 1
            judged += not run["is_bad"]
            wrong += not run["is_bad"] and not run["is_solved"]
    assert f"| all | {met} | {judged - wrong} | {wrong} | {met - judged} |" in page
    assert f"{repeated} wrote one" in page
    assert f"and {solved} of those" in page


def patience_stop(scores: list[float], patience: int) -> int:
    """Where patience stops a history in which higher is better, by a plain loop."""
    best, since = float("-inf"), 0
    for iteration, score in enumerate(scores, 1):
        best, since = (score, 0) if score > best else (best, since + 1)
        if since >= patience:
            return iteration
    return len(scores)


@pytest.mark.slow
@pytest.mark.parametrize("patience", [1, 2, 3, 5])
def test_a_plain_loop_keeps_the_same_gain(page: str, corpora: Path, patience: int) -> None:
    shares, used, length = [], 0, 0
    for file in sorted((corpora / "gepa_confidence").glob("*.json")):
        scores = json.loads(file.read_text())["val_scores_history"]
        stop = patience_stop(scores, patience)
        shares.append((max(scores[:stop]) - scores[0]) / (max(scores) - scores[0]))
        used, length = used + stop, length + len(scores)
    figures = (used / length, sum(shares) / 6, median(shares), min(shares))
    cells = " | ".join(f"{100 * figure:.0f} %" for figure in figures)
    _, _, gepa = page.partition("### gepa")
    assert f"| patience {patience} | {cells} | {shares.count(1)} of 6 |" in gepa


@pytest.mark.slow
def test_how_many_loops_got_better_at_all(page: str, corpora: Path) -> None:
    better = 0
    for file in (corpora / "loopgain_bench").glob("w*.jsonl"):
        for line in file.read_text().splitlines()[1:]:
            run = json.loads(line)["conditions"]["B20"]
            errors = [error for number, error in enumerate(run["error_history"], 1)
                      if number not in run["failed_iters"]]  # fmt: skip
            better += min(errors) < errors[0]
    assert f"1,000 histories, 20,000 iterations; {better} of the histories have a gain" in page


def test_every_query_of_the_study_is_read(study: ModuleType) -> None:
    names = {"gains", "kept", "lengths", "logs", "own", "programs", "repeats", "tasks"}
    assert set(study._SQL) == names
