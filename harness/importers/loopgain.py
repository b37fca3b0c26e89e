"""loopgain-bench: refinement loops of 20 scored iterations.

Reads one file of its ``data/raw``, or a folder of them. The first line of a file is a header
with the cell (workload, framework, model, target error); every other line is a trial. Only the
condition ``B20`` is read: the loop run for a fixed 20 iterations with nothing to stop it, which
is the record to replay guards on. (``LG``, ``B5`` and ``B10`` are separate live runs.)

Errors are counts of what is still wrong, from 0 (done) upwards without a bound, so the score's
direction is lower and no scale is declared. The cell's target is kept as a tag and decides the
outcome, but is no limit of the recording: this condition ran on past it. A target of null means
the cell has none, a target of 0 means 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import SCHEMA, Place, at_limit, is_finite, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_lines

NAME = "loopgain"
TITLE = "loopgain-bench trials, condition B20"
LACKS: tuple[str, ...] = (
    "replies (only the last output)",
    "tool calls",
    "tokens of an iteration (the trial's total, spread evenly)",
    "time of an iteration (the trial's total, spread evenly)",
    "cost of an iteration (priced from the tokens)",
)
TOKENS = (
    "Totals of the trial, spread evenly over its iterations as whole numbers with an exact sum, "
    "the first ones getting one more. All input counts as uncached: the benchmark states its "
    "prices without a caching discount. Reasoning tokens are part of the output."
)
ITERATION = "One value of error_history; the score is the error, lower is better."
EXIT_REASON = (
    "max_iterations, explicit where all 20 iterations were run: the condition is defined by that "
    "budget. Unknown where a trial is shorter."
)

CONDITION = "B20"
BUDGET = 20
_YEAR_S = 366 * 86_400


def fits(head: Head) -> bool:
    """Lines that begin with the header of a cell."""
    return head.kind == "lines" and head.get("_header") is True and head.has("cell")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each trial of a file, or of all ``*.jsonl`` files of a folder.

    An iteration listed in ``failed_iters`` crashed; the benchmark wrote a huge stand-in for its
    error, which is no measurement, so it gets no score. The same holds for null and NaN.
    Outcome is success where the final error reached the target, and unknown without a target.

    Raises:
        ImportFormatError: A file is not of this format, or there is no trial at all.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.jsonl file")
    seen: dict[str, int] = {}
    for file in files:
        with intake.record(Place(file, "file")):
            yield from _file(file, intake, seen)


def _file(path: Path, intake: Intake, seen: dict[str, int]) -> Iterator[dict[str, Any]]:
    cell: dict[str, Any] | None = None
    trials = 0
    for place, record in json_lines(path, intake):
        if isinstance(record, dict) and record.get("_header") is True:
            cell = place.get(record, "cell", dict)
            continue
        if cell is None:
            raise place.error(
                f"expected a header (an object with '_header': true) before the first trial, "
                f"found {shown(record)}"
            )
        trials += 1
        with intake.record(place, record):
            yield _recording(place, cell, record, seen)
    if not trials:
        raise ImportFormatError(f"{path}: holds a header but no trial")


def _recording(
    place: Place, cell: dict[str, Any], trial: Any, seen: dict[str, int]
) -> dict[str, Any]:
    seed = place.count(trial, "seed")
    run = place.get(place.get(trial, "conditions", dict), CONDITION, dict)
    name = place.get(cell, "id", str)
    target = place.number_or_null(cell, "target_error")
    steps = _steps(place, run, place.get(cell, "model", str))
    recording: dict[str, Any] = {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(name)}/seed-{seed:03d}", seen),
        "title": f"{name}, seed {seed}",
        "source": f"{NAME}:{place.path.name}",
        "goal": _goal(place, cell, trial),
        "direction": "lower",
        "tags": [NAME],
        "steps": steps,
        "recorded": at_limit(steps, BUDGET),
    }
    if target is not None:
        recording["tags"].append(f"target_error:{target:g}")
        # A trial that crashed in its last iteration has no score there.
        reached = steps[-1].get("score", math.inf) <= target
        recording["recorded"]["outcome"] = "success" if reached else "failure"
    return recording


def _goal(place: Place, cell: dict[str, Any], trial: dict[str, Any]) -> str:
    """What the workload asks for, then the trial's own prompt, which alone can be too terse."""
    prompt = place.get(trial, "prompt", str).strip()
    task = place.get_or_none(cell, "task_description", str)
    return f"{task}\n\n{prompt}" if task else prompt


def _steps(place: Place, run: dict[str, Any], model: str) -> list[dict[str, Any]]:
    errors = place.get(run, "error_history", list)
    # A run that crashed for good may have counted iterations it has no error for.
    length = max(place.count(run, "iters"), len(errors))
    if not 1 <= length <= BUDGET:
        raise place.error(
            f"condition {CONDITION} must have 1 to {BUDGET} iterations, found {shown(length)}"
        )
    crashed = place.get_or_none(run, "failed_iters", list) or ()
    inputs = _spread(place.count(run, "input_tokens"), length)
    outputs = _spread(place.count(run, "output_tokens"), length)
    seconds = place.number(run, "wall_clock_s")
    if not 0 <= seconds <= _YEAR_S:
        raise place.error(f"key 'wall_clock_s' must lie between 0 and {_YEAR_S}, found {seconds}")
    times = _spread(round(seconds * 1000), length)
    steps = []
    for index in range(length):
        usage = {"input": inputs[index], "output": outputs[index]}
        step: dict[str, Any] = {"reply": {"model": model, "ms": times[index], "usage": usage}}
        number = index + 1  # failed_iters counts from 1
        if index < len(errors) and number not in crashed:
            score = _score(place, errors[index], number)
            if score is not None:
                step["score"] = score
        steps.append(step)
    if output := place.get_or_none(run, "final_output", str):
        steps[-1]["output"] = output
    return steps


def _spread(total: int, parts: int) -> list[int]:
    """``total`` as ``parts`` whole numbers, as equal as can be, whose sum is exact.

    The first ones get one more where it does not divide.
    """
    share, rest = divmod(total, parts)
    return [share + (index < rest) for index in range(parts)]


def _score(place: Place, error: Any, iteration: int) -> float | None:
    number = type(error) in (int, float)
    if error is None or (number and not is_finite(error)):
        return None
    if not number or error < 0:
        raise place.error(
            f"key 'error_history', iteration {iteration}: must be null or a number of at least 0, "
            f"found {shown(error)}"
        )
    return float(error)
