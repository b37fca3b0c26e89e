"""GEPA: prompt optimisation, one validation score a candidate.

Reads a JSON file as the confidence-adapter example of gepa writes it (``dataset``, ``adapter``,
``best_val_score``, ``best_prompt``, ``num_candidates``, ``val_scores_history``), or a folder of
them. Scores are shares of 1, so the scale is declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import SCHEMA, Place, is_finite, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_document

NAME = "gepa"
TITLE = "GEPA prompt optimisation, scores of the candidates"
LACKS: tuple[str, ...] = (
    "replies",
    "prompts (only the best candidate's)",
    "candidates that were rejected before validation",
    "token counts",
    "cost",
    "times",
    "model name",
    "outcome",
    "exit reason",
)
TOKENS = "None recorded; usage is unknown, not zero."
ITERATION = (
    "One candidate, in order of creation; the score is its validation score, higher is better. "
    "The first is the prompt that the optimisation began with."
)
EXIT_REASON = "Unknown: the budget of metric calls that ends an optimisation is not recorded."


def fits(head: Head) -> bool:
    """One object with the history of validation scores."""
    return head.kind == "object" and head.has("val_scores_history", "num_candidates")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each optimisation: a file, or all ``*.json`` files of a folder.

    A score of null is a candidate without one. The best prompt stands as the output of the
    candidate with the best score, where only one has it.

    Raises:
        ImportFormatError: A file is not of this format, or a folder holds none.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.json file")
    seen: dict[str, int] = {}
    for file in files:
        place = Place(file, "run")
        with intake.record(place):
            intake.raw = run = json_document(file, intake)
            yield _recording(place, run, seen)


def _recording(place: Place, run: Any, seen: dict[str, int]) -> dict[str, Any]:
    history = place.get(run, "val_scores_history", list)
    if not history:
        raise place.error("key 'val_scores_history' is an empty list; a run has a candidate")
    if place.count(run, "num_candidates") != len(history):
        raise place.error(
            f"key 'val_scores_history' must have 'num_candidates' values, which is "
            f"{run['num_candidates']}; found {len(history)}"
        )
    steps: list[dict[str, Any]] = []
    for number, value in enumerate(history, 1):
        steps.append({} if value is None else {"score": _score(place, value, number)})
    best = place.number_or_null(run, "best_val_score")
    prompt = place.get_or_none(run, "best_prompt", str)
    holders = [step for step in steps if best is not None and step.get("score") == best]
    if prompt and len(holders) == 1:
        holders[0]["output"] = prompt
    dataset, adapter = place.get(run, "dataset", str), place.get(run, "adapter", str)
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(dataset)}/{slug(adapter)}", seen),
        "title": f"GEPA on {dataset}, adapter {adapter}",
        "source": f"{NAME}:{place.path.name}",
        "goal": f"Find the prompt that scores best on {dataset}.",
        "score_scale": [0, 1],
        "tags": [NAME],
        "steps": steps,
    }


def _score(place: Place, value: Any, number: int) -> float:
    known = type(value) in (int, float) and is_finite(value)
    if not known or not 0 <= value <= 1:
        raise place.error(
            f"key 'val_scores_history', candidate {number}: must be null or a number from 0 to 1, "
            f"found {shown(value)}"
        )
    return float(value)
