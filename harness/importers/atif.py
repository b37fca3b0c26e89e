"""ATIF: the Agent Trajectory Interchange Format of Harbor, all versions up to 1.7.

Reads a trajectory (``trajectory.json``), or all those below a folder. What another file continues
(``continued_trajectory_ref``) is read to its end as one run, and the continuation is then no run
of its own. Trajectories of sub-agents that are embedded, or lie in the folder, are runs of their
own (tag ``sub-agent``).

The goal is the first message of a person. System messages are not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._atif_calls import calls_of, usage_of
from harness.importers._base import Place, inferred, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._messages import moment
from harness.importers._reading import json_document
from harness.importers._spread import shares
from harness.importers._steps import Steps, joined, plain_model, recording

NAME = "atif"
TITLE = "ATIF trajectories (Harbor, Terminal-Bench), versions 1.0 to 1.7"
LACKS: tuple[str, ...] = (
    "outcome and scores (the verifier's verdict is in no trajectory)",
    "time of a call (it is within the time of its step, and stands as 0)",
    "whether a call failed, and its exit code",
    "tokens of a step without metrics (totals are spread evenly; tag spread:usage)",
    "tokens of context summarisation (they are in the totals only)",
    "system messages (not copied)",
)
TOKENS = (
    "As the metrics of each step have them: uncached input is prompt_tokens less cached_tokens and "
    "less cache_creation_input_tokens (in 'extra', where it fits), output is completion_tokens "
    "less reasoning_tokens (in 'extra'). Cache writes that are not told count as uncached input. "
    "Copied steps and final_metrics are not counted, except where no step has metrics."
)
ITERATION = (
    "One step of the agent with its tool_calls and the results of its observation; a result names "
    "its call or, without source_call_id, belongs to the first that has none; one that names no "
    "call of its step is lost, and nothing else. Where calls are only in the message, they are "
    "taken from it: <function=...> as OpenHands writes it, the commands of Terminus; other text "
    "that brought an observation is a call of tool 'message'. Steps that a continuation copied "
    "(is_copied_context) are left out. A step takes as long as since the step before it, calls "
    "included."
)
EXIT_REASON = (
    "The format has none. agent_finished is inferred where the last step calls a tool by which "
    "agents declare the end (finish, submit, mark_task_complete, Terminus' task_complete) or calls "
    "nothing although calls were made before. Anything else is unknown."
)

_CONTINUES = re.compile(r".*\.cont-\d+\.json")
#: More files than this continue no run; a loop of references would never end.
_MOST_PARTS = 1000


def fits(head: Head) -> bool:
    """A document that names a version of ATIF; a folder with trajectories."""
    if head.kind == "folder":
        return any(name.rpartition("/")[2] == "trajectory.json" for name in head.names)
    version = head.get("schema_version")
    return head.kind == "object" and isinstance(version, str) and version.startswith("ATIF-")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each run: a trajectory with its continuations.

    Raises:
        ImportFormatError: The file is no ATIF trajectory, or a folder holds none.
    """
    seen: dict[str, int] = {}
    if not path.is_dir():
        yield from _run(path, json_document(path, intake), intake, seen)
        return
    files = sorted(file for file in path.rglob("*.json") if "trajectory" in file.name)
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *trajectory*.json file")
    continued = {part for file in files for part in _following(file)}
    for file in files:
        if file not in continued:
            with intake.record(Place(file, "trajectory")):
                document = json_document(file, intake)
                yield from _run(file, document, intake, seen)


def _following(file: Path) -> Iterator[Path]:
    """The files that may continue this one, by name."""
    if not _CONTINUES.fullmatch(file.name):
        stem = file.name.removesuffix(".json")
        yield from sorted(file.parent.glob(f"{_literal(stem)}.cont-*.json"))


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _run(
    path: Path, document: Any, intake: Intake, seen: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """A trajectory with what continues it, then the sub-agents within."""
    place = Place(path, "trajectory")
    parts = [document]
    with intake.record(place, document):
        _checked(place, document)
        file = path
        while (ref := place.get_or_none(parts[-1], "continued_trajectory_ref", str)) is not None:
            following = _continuation(path, file, ref)
            if following is None or len(parts) >= _MOST_PARTS:
                break
            file = following
            parts.append(json_document(file, intake))
            _checked(Place(file, "trajectory"), parts[-1])
        intake.raw = parts if len(parts) > 1 else document
        yield _recording(place, parts, seen, intake)
    held = [part.get("subagent_trajectories") for part in parts if isinstance(part, dict)]
    embedded = [inner for each in held if isinstance(each, list) for inner in each]
    for number, inner in enumerate(embedded, 1):
        spot = place.at(f"sub-agent {number}")
        with intake.record(spot, inner):
            _checked(spot, inner)
            yield _recording(spot, [inner], seen, intake, nested=True)


def _checked(place: Place, document: Any) -> None:
    version = place.get(document, "schema_version", str)
    if not version.startswith("ATIF-"):
        raise place.error(f"key 'schema_version' must begin with ATIF-, found {shown(version)}")


def _continuation(first: Path, file: Path, ref: str) -> Path | None:
    """The file that is meant, beside this one; renamed files keep the end of the name."""
    name = Path(ref).name
    end = name.partition(".")[2]
    for candidate in (
        file.parent / name,
        file.parent / f"{first.name.removesuffix('.json')}.{end}",
    ):
        if candidate != file and candidate.is_file():
            return candidate
    return None


def _recording(
    place: Place, parts: list[Any], seen: dict[str, int], intake: Intake, *, nested: bool = False
) -> dict[str, Any]:
    found = Steps()
    finished = False
    for number, part in enumerate(parts, 1):
        spot = place if number == 1 else place.at(f"continuation {number - 1}")
        finished = _steps(spot, part, found, intake, continues=number > 1)
    if not found.steps:
        raise place.error("holds no step of the agent")
    agent = place.get_or_none(parts[0], "agent", dict) or {}
    who = place.get_or_none(agent, "name", str) or "agent"
    file = place.path.name
    # Harbor writes TRIAL/agent/trajectory.json.
    trial = place.path.parent.parent.name if file == "trajectory.json" else ""
    inner = place.get_or_none(parts[0], "trajectory_id", str) if nested else None
    name = inner or trial or file.removesuffix(".json").replace(".trajectory", "")
    tags = [NAME, f"agent:{slug(who)}", *(["sub-agent"] if nested else [])]
    return recording(
        unique(f"{NAME}/{slug(name)}", seen),
        f"{who} on {name}",
        f"{NAME}:{place.path.name}",
        found,
        inferred({"exit_reason": "agent_finished"}) if finished else {},
        tags=[*tags, *_spread(place, parts[-1], found)],
        tools=_tools(place, agent, found),
    )


def _tools(place: Place, agent: dict[str, Any], found: Steps) -> list[str] | None:
    offered = []
    for item in place.get_or_none(agent, "tool_definitions", list) or ():
        inner = item.get("function", item) if isinstance(item, dict) else {}
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            offered.append(inner["name"])
    return sorted({*offered, *found.tools()}) or None


def _spread(place: Place, part: dict[str, Any], found: Steps) -> list[str]:
    """Share the totals out where no step has metrics; the tags that say so."""
    total = place.get_or_none(part, "final_metrics", dict) or {}
    if any("usage" in step.get("reply", {}) for step in found.steps):
        return []
    names = {key.removeprefix("total_"): n for key, n in total.items() if key.startswith("total_")}
    counts = usage_of(place.at("final_metrics"), {**names, "extra": total.get("extra")})
    split = {key: shares(count, len(found.steps)) for key, count in (counts or {}).items()}
    for index, step in enumerate(found.steps):
        if split:
            usage = {key: share[index] for key, share in split.items() if share[index]}
            step.setdefault("reply", {})["usage"] = usage
    return ["spread:usage"] if split and len(found.steps) > 1 else []


def _steps(place: Place, part: Any, found: Steps, intake: Intake, *, continues: bool) -> bool:
    """Read the steps of one file; whether its last one declares or shows the end."""
    fallback = place.get_or_none(place.get_or_none(part, "agent", dict) or {}, "model_name", str)
    finished = False
    begun = False
    for number, step in enumerate(place.get(part, "steps", list), 1):
        spot = place.at(f"step {number}")
        source = spot.get(step, "source", str)
        stamp = spot.get_or_none(step, "timestamp", str)
        at = None if stamp is None else moment(spot, stamp)
        text = joined(step.get("message"))
        copied = step.get("is_copied_context") is True
        if copied and source == "user" and found.goal is None:
            found.goal = text  # a continuation read by itself
        if copied or source == "system":
            found.passed(at)
            continue
        if source == "user" and continues and not begun:
            # What a continuation begins with is the hand-over, which no person said.
            found.nudged(text, at)
        elif source == "user":
            found.said(text, at)
            finished = False
        elif source == "agent":
            begun = True
            finished, lost = _agent(spot, step, text, fallback, at, found)
            for result in lost:
                intake.note(result)
        else:
            raise spot.error(f"key 'source' must be system, user or agent, found {shown(source)}")
    return finished


def _agent(
    spot: Place, step: dict[str, Any], text: str, fallback: str | None, at: int | None, found: Steps
) -> tuple[bool, list[ImportFormatError]]:
    """Read a step of the agent; whether it shows the end, and results that belong to no call."""
    model = spot.get_or_none(step, "model_name", str) or fallback
    metrics = spot.get_or_none(step, "metrics", dict)
    usage = usage_of(spot.at("metrics"), metrics) if metrics else None
    reply = {"text": text} if text else {}
    if model and step.get("llm_call_count") != 0:
        reply["model"] = plain_model(model)
    found.replied(reply | ({"usage": usage} if usage else {}), at)
    results = _results(spot, step)
    calls, declared = calls_of(spot, step, text, bool(results))
    for call_id, call in calls:
        found.called(call_id, call)
        if at is not None:
            call["ms"] = 0  # the time of the step holds it
    lost = []
    for source, result in results:
        fits = [call for name, call in calls if source in (name, None) and "result" not in call]
        if fits:
            fits[0]["result"] = result
        elif source is not None:
            problem = f"names no open call of the step, so its result is lost: {shown(source)}"
            lost.append(spot.error(f"key 'source_call_id' {problem}"))
    called_before = any("calls" in step for step in found.steps[:-1])
    return declared or (not calls and called_before), lost


def _results(spot: Place, step: dict[str, Any]) -> list[tuple[str | None, str]]:
    observation = spot.get_or_none(step, "observation", dict) or {}
    results = spot.get_or_none(observation, "results", list) or ()
    return [
        (spot.get_or_none(item, "source_call_id", str), joined(item.get("content")))
        for item in results
        if isinstance(item, dict) and item.get("content") is not None
    ]
