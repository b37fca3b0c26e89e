"""TextGrad's code optimisation: LeetCode-hard programs improved against visible tests.

Reads one file of ``evaluation/results/code_optimization/reflexion`` (JSON Lines, one task a line),
or a folder of them. The loop writes a program, runs the task's visible tests, reflects on what
failed and tries again, until the visible tests pass or five programs are written. Only then are the
hidden tests asked.

What guards see is the visible tests. The hidden ones decide the outcome and nothing else, so a
replay tells how often a threshold that was met was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import SCHEMA, Place, at_limit, inferred, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_lines

NAME = "textgrad"
TITLE = "TextGrad's code optimisation: visible tests against hidden ones"
LACKS: tuple[str, ...] = (
    "replies around the programs",
    "tool calls",
    "token counts",
    "cost",
    "times",
    "model name",
    "hidden tests before the end",
    "outcome where the hidden tests could not be asked (is_bad)",
)
TOKENS = "None recorded; usage is unknown, not zero."
ITERATION = (
    "One program with the run of its visible tests, {passed, total}; its feedback is what the "
    "tests said, and the reflection that the next program was written on."
)
EXIT_REASON = (
    "Inferred from the rule of the loop: quality_reached where the last program passes all visible "
    "tests, else max_iterations where five were written. Anything else is unknown. The hidden "
    "tests decide the outcome and never the reason."
)

#: So many programs are written at most.
LIMIT = 5

_FEEDBACK = re.compile(r"Tested passed:(.*?)\n\s*\nTests failed:(.*)", re.DOTALL)


def fits(head: Head) -> bool:
    """Lines with ``implementations`` and what the visible tests said of them."""
    return head.kind == "lines" and head.has("implementations", "test_feedback")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each line of a file, or of all ``*.jsonl`` files below a folder.

    Outcome is unknown where the line says ``is_bad``: asking the hidden tests failed, and the
    benchmark wrote "not solved" all the same.

    Raises:
        ImportFormatError: A line has another shape, or a folder holds no such file.
    """
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.jsonl file")
    seen: dict[str, int] = {}
    for file in files:
        with intake.record(Place(file, "file")):
            for place, record in json_lines(file, intake):
                with intake.record(place, record):
                    yield _recording(place, record, seen)


def _recording(place: Place, record: Any, seen: dict[str, int]) -> dict[str, Any]:
    task = place.get(record, "task_id", str)
    stem = place.path.stem
    steps = _steps(place, record)
    recorded = _ending(steps)
    solved = place.get(record, "is_solved", bool)
    if not place.get_or_none(record, "is_bad", bool):
        recorded["outcome"] = "success" if solved else "failure"
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(stem)}/{slug(task)}", seen),
        "title": f"{task}, {stem}",
        "source": f"{NAME}:{place.path.name}",
        "goal": place.get(record, "prompt", str),
        "tags": [NAME],
        "steps": steps,
        "recorded": recorded,
    }


def _steps(place: Place, record: dict[str, Any]) -> list[dict[str, Any]]:
    programs = _texts(place, record, "implementations")
    reports = _texts(place, record, "test_feedback")
    reflections = _texts(place, record, "reflections")
    tests = _texts(place, record, "test")
    if not programs:
        raise place.error("key 'implementations' is an empty list; a recording has a program")
    for key, found, wanted in (
        ("test_feedback", reports, len(programs)),
        ("reflections", reflections, len(programs) - 1),
    ):
        if len(found) != wanted:
            raise place.error(
                f"key {key!r} must have {wanted} values for {len(programs)} programs, "
                f"found {len(found)}"
            )
    steps = []
    for index, (program, report) in enumerate(zip(programs, reports, strict=True)):
        step: dict[str, Any] = {"output": program}
        if tests:
            spot = place.at(f"program {index + 1}")
            step["score"] = {"passed": _passed(spot, tests, report), "total": len(tests)}
        step["feedback"] = "\n\n".join([report, *reflections[index : index + 1]])
        steps.append(step)
    return steps


def _texts(place: Place, record: dict[str, Any], key: str) -> list[str]:
    values = place.get(record, key, list)
    for number, value in enumerate(values, 1):
        if not isinstance(value, str):
            raise place.error(f"key {key!r}, value {number}: must be a text, found {shown(value)}")
    return values


def _passed(spot: Place, tests: list[str], report: str) -> int:
    """How many of the tests a report names as passed; it has to name every one on either side.

    Only lines that are a test count: what a program printed stands between them.
    """
    sections = _FEEDBACK.fullmatch(report)
    if sections is None:
        raise spot.error(
            f"key 'test_feedback' must say 'Tested passed:' and then 'Tests failed:', "
            f"found {shown(report)}"
        )
    good, bad = (section.splitlines() for section in sections.groups())
    passed = sum(test in good for test in tests)
    failed = sum(any(line.startswith(f"{test} #") for line in bad) for test in tests)
    if passed + failed != len(tests):
        raise spot.error(
            f"key 'test_feedback' must name all {len(tests)} tests, found {passed} passed and "
            f"{failed} failed"
        )
    return passed


def _ending(steps: list[dict[str, Any]]) -> dict[str, Any]:
    score = steps[-1].get("score")
    if score is not None and score["passed"] == score["total"]:
        return inferred({"exit_reason": "quality_reached"})
    return inferred(at_limit(steps, LIMIT))
