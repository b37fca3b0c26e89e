"""Reflexion: trials of one task, with a reflection between one and the next.

Three kinds of logs, told apart by what they hold. HotpotQA (JSON Lines with ``question``,
``trial``, ``label``, ``steps``, ``reflection_shown_to_agent``): a recording is one trial of a
question, step by step. Programming (JSON Lines with ``is_solved`` and ``reflections``): a recording
is one task, an iteration one program. ALFWorld (a folder of ``NAME_run_logs_0.json``, ``_1`` ...,
one file a trial, each a list of ``name``, ``is_success``, ``memory``): a recording is one
environment, an iteration one trial. A folder is searched for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError, choices
from harness.importers._base import SCHEMA, Place, at_limit, inferred, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_document, json_lines

NAME = "reflexion"
TITLE = "Reflexion logs: HotpotQA, ALFWorld, programming"
LACKS: tuple[str, ...] = (
    "token counts",
    "cost",
    "times",
    "model name",
    "thoughts (HotpotQA)",
    "actions of a trial, and the task (ALFWorld)",
    "programs but the last, results of the agent's own tests (programming)",
    "scores before the end (HotpotQA, programming)",
)
TOKENS = "None recorded; usage is unknown, not zero."
ITERATION = (
    "HotpotQA: one action, a call with its observation as the result; the reflection shown to the "
    "agent is the nudge of the first step. ALFWorld: one trial, score 1 where the environment "
    "reports success and 0 where not, with the reflection after it as feedback. Programming: one "
    "program, with the reflection on it as feedback; only the last program is recorded. Trials of "
    "a task that was solved before are not runs, only carried over, and are left out."
)
EXIT_REASON = (
    "HotpotQA: agent_finished is explicit where the last action is Finish; max_iterations is "
    "inferred from 6 steps without one. ALFWorld: quality_reached is inferred from a success, "
    "max_iterations from a run through all trials without one. Programming: quality_reached is "
    "inferred where a run is shorter than the longest of its file, because only tests that pass "
    "end it before the limit. Anything else is unknown. Hidden tests decide the outcome only."
)

#: ReAct steps within one HotpotQA trial.
STEP_LIMIT = 6
LABELS = ("CORRECT", "INCORRECT", "HALTED")

_ACTION = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
_INVALID = ("Invalid", "The last page Searched was not found")
_TRIAL = re.compile(r"(.+)_run_logs_(\d{1,4})\.json")


def fits(head: Head) -> bool:
    """Lines of HotpotQA or programming, or a folder with trials of ALFWorld."""
    if head.kind == "folder":
        return any(_TRIAL.fullmatch(name.rpartition("/")[2]) for name in head.names)
    if head.kind == "list":
        return _TRIAL.fullmatch(head.path.name) is not None and head.has("name", "is_success")
    programming = head.has("is_solved", "reflections", "solution") and not head.has("test_feedback")
    return head.kind == "lines" and (head.has("question", "label", "steps") or programming)


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each run of a file, or of all logs below a folder.

    A HotpotQA call failed if the environment could not take the action; a search that found
    nothing did not fail.

    Raises:
        ImportFormatError: A log has another shape, a trial is missing, or a folder holds no log.
    """
    seen: dict[str, int] = {}
    if not path.is_dir():
        if _TRIAL.fullmatch(path.name):
            raise ImportFormatError(f"{path}: is one trial of several; name the folder of them")
        yield from _lines(path, intake, seen)
        return
    trials: dict[str, dict[int, Path]] = {}
    lines = sorted(path.rglob("*.jsonl"))
    for file in sorted(path.rglob("*.json")):
        if named := _TRIAL.fullmatch(file.name):
            trials.setdefault(str(file.with_name(named[1])), {})[int(named[2])] = file
    if not lines and not trials:
        raise ImportFormatError(f"{path}: the folder holds no *.jsonl and no *_run_logs_N.json")
    for file in lines:
        with intake.record(Place(file, "file")):
            yield from _lines(file, intake, seen)
    for name, files in sorted(trials.items()):
        with intake.record(Place(Path(name), "trials")):
            yield from _environments(Path(name), files, intake, seen)


def _lines(path: Path, intake: Intake, seen: dict[str, int]) -> Iterator[dict[str, Any]]:
    questions: dict[str, int] = {}
    solved: set[str] = set()
    longest: int | None = None
    for place, record in json_lines(path, intake):
        with intake.record(place, record):
            keys = record.keys() if isinstance(record, dict) else ()
            if "question" in keys:
                question = place.get(record, "question", str)
                number = questions.setdefault(question, len(questions) + 1)
                if question not in solved:
                    yield _trial(place, record, number, seen)
                if record["label"] == "CORRECT":
                    solved.add(question)
            elif "reflections" in keys:
                if longest is None:
                    longest = _longest(path)
                yield _program(place, record, longest, seen)
            else:
                raise place.error(
                    "expected a HotpotQA trial (key 'question') or a programming task (key "
                    f"'reflections'), found {shown(list(keys) if keys else record)}"
                )


def _trial(
    place: Place, record: dict[str, Any], number: int, seen: dict[str, int]
) -> dict[str, Any]:
    trial = place.count(record, "trial")
    label = place.get(record, "label", str)
    if label not in LABELS:
        raise place.error(f"key 'label': {choices(label, LABELS)}")
    rows = place.get(record, "steps", list)
    if not rows:
        raise place.error("key 'steps' is an empty list; a recording has at least one step")
    steps: list[dict[str, Any]] = [
        {"calls": [_call(place.at(f"step {n}"), row)]} for n, row in enumerate(rows, 1)
    ]
    if reflection := place.get_or_none(record, "reflection_shown_to_agent", str):
        steps[0]["nudge"] = reflection
    right = label == "CORRECT"
    ending = inferred(at_limit(steps, STEP_LIMIT))
    if steps[-1]["calls"][0]["tool"] == "Finish":
        ending = {"exit_reason": "agent_finished"}
        steps[-1]["score"] = float(right)
    stem = slug(place.path.stem)
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{stem}/question-{number:03d}-trial-{trial}", seen),
        "title": f"HotpotQA question {number}, trial {trial}",
        "source": f"{NAME}:{place.path.name}",
        "goal": place.get(record, "question", str),
        "tags": [NAME, "hotpotqa"],
        "tools": ["Finish", "Lookup", "Search"],
        "steps": steps,
        "recorded": {**ending, "outcome": "success" if right else "failure"},
    }


def _call(spot: Place, row: Any) -> dict[str, Any]:
    action = spot.get(row, "action", str)
    result = spot.get_or_none(row, "observation", str)
    parsed = _ACTION.fullmatch(action)
    tool, text = parsed.groups() if parsed else ("unparsed", action)
    call: dict[str, Any] = {"tool": tool, "args": {"input": text}}
    if result is not None:
        call["result"] = result
    return call | {"ok": bool(parsed) and not (result or "").startswith(_INVALID)}


def _program(
    place: Place, record: dict[str, Any], longest: int, seen: dict[str, int]
) -> dict[str, Any]:
    key = "task_id" if "task_id" in record else "name"
    name = place.get(record, key, str)
    reflections = place.get(record, "reflections", list)
    steps: list[dict[str, Any]] = [
        {"feedback": _text(place, "reflections", n, text)} for n, text in enumerate(reflections, 1)
    ]
    steps.append({"output": place.get(record, "solution", str)})
    passed = len(steps) < longest
    ending = inferred({"exit_reason": "quality_reached"}) if passed else {}
    solved = place.get(record, "is_solved", bool)
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(place.path.stem)}/{slug(name)}", seen),
        "title": name,
        "source": f"{NAME}:{place.path.name}",
        "goal": place.get(record, "prompt", str),
        "tags": [NAME, "programming"],
        "steps": steps,
        "recorded": {**ending, "outcome": "success" if solved else "failure"},
    }


def _longest(path: Path) -> int:
    """Iterations of the longest run of a file: no limit of its runs is lower."""
    longest = 1
    quiet = Intake()
    for place, record in json_lines(path, quiet):
        with quiet.record(place):
            longest = max(longest, len(place.get(record, "reflections", list)) + 1)
    return longest


def _environments(
    name: Path, files: dict[int, Path], intake: Intake, seen: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """All trials of each environment, up to its success; without one of the files, none."""
    if sorted(files) != list(range(len(files))):
        missing = next(n for n in range(len(files)) if n not in files)
        raise ImportFormatError(f"{name}_run_logs_{missing}.json: is missing; trials count from 0")
    logs = [(Place(files[n], "log"), json_document(files[n], intake)) for n in range(len(files))]
    for place, log in logs:
        if not isinstance(log, list) or len(log) != len(logs[0][1]):
            raise place.error(f"must be a list as long as trial 0's, found {shown(log)}")
    for index in range(len(logs[0][1])):
        trials = [(place.at(f"environment {index + 1}"), log[index]) for place, log in logs]
        with intake.record(trials[0][0], [record for _, record in trials]):
            yield _environment(name.name, trials, seen)


def _environment(run: str, trials: list[tuple[Place, Any]], seen: dict[str, int]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    known = 0
    environment = trials[0][0].get(trials[0][1], "name", str)
    for place, record in trials:
        if place.get(record, "name", str) != environment:
            raise place.error(
                f"key 'name' must be {shown(environment)} as in trial 0, "
                f"found {shown(record['name'])}"
            )
        good = place.get(record, "is_success", bool)
        memory = place.get(record, "memory", list)
        new = [_text(place, "memory", n, text) for n, text in enumerate(memory, 1)][known:]
        known = len(memory)
        steps.append({"score": float(good), **({"feedback": "\n\n".join(new)} if new else {})})
        if good:
            break
    ending = {"exit_reason": "quality_reached"} if good else at_limit(steps, len(trials))
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(run)}/{slug(environment)}", seen),
        "title": f"ALFWorld {environment}, {run}",
        "source": f"{NAME}:{run}_run_logs",
        "goal": f"Solve {environment} of ALFWorld.",
        "score_scale": [0, 1],
        "tags": [NAME, "alfworld"],
        "steps": steps,
        "recorded": {**inferred(ending), "outcome": "success" if good else "failure"},
    }


def _text(place: Place, key: str, number: int, value: Any) -> str:
    if not isinstance(value, str):
        raise place.error(f"key {key!r}, value {number}: must be a text, found {shown(value)}")
    return value
