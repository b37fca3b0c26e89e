"""Inspect (inspect_ai): logs of evaluations, one recording a sample and epoch.

Reads ``.eval`` archives (deflate or zstandard, also broken off) and ``.json`` logs of versions 1 to
3. Long texts that Inspect keeps beside the messages (``attachment://``, ``tc://``) are put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._archive import members
from harness.importers._base import SCHEMA, Place, inferred, is_finite, shown, slug, unique
from harness.importers._head import Head
from harness.importers._inspect_events import Measured, measured
from harness.importers._intake import Intake
from harness.importers._reading import json_document, json_value
from harness.importers._turns import Transcript, settle, transcript

NAME = "inspect"
TITLE = "Inspect logs (.eval, .json)"
LACKS: tuple[str, ...] = (
    "tokens and time of a reply that no model event records",
    "scores before the end",
    "cost",
    "model calls of graders and of sub-agents (only the sample's own messages are steps)",
)
TOKENS = (
    "As the model event of each reply reports them; total_tokens decides. Where it is input + "
    "output, input_tokens contain cached and cache-written tokens (OpenAI) and output_tokens the "
    "reasoning; where it is the sum with the cached ones, these stand beside the input "
    "(Anthropic); where it is the sum with the reasoning, that stands beside the output (Gemini "
    "and Grok in older logs). Where it is none of these, as the first rule says, unless more is "
    "cached than input or more reasoned than output."
)
ITERATION = (
    "One assistant message of the sample that was generated (source 'input' is no step) with the "
    "tool messages that answer its calls. Calls that were carried out and then taken out of the "
    "messages, as react does with submit, are put back from the model event of the message; a call "
    "without a tool message has the result of its tool event. An error makes it a failed call. "
    "Times are working time, without waiting for a rate limit."
)
EXIT_REASON = (
    "Explicit from the sample's limit: message and turn are max_iterations, time and working "
    "time_budget, token token_budget, cost cost_budget; an error of the sample is error. Else "
    "agent_finished is inferred where the last message is the assistant's, ends by itself or calls "
    "submit, and the agent has tools. Grades decide the outcome (C and true: success; I, N and "
    "false: failure; several scorers must agree) and never the reason; a number from 0 to 1 is "
    "only the score of the last step."
)

_LIMITS = {
    "message": "max_iterations", "turn": "max_iterations", "time": "time_budget",
    "working": "time_budget", "token": "token_budget", "cost": "cost_budget",
}  # fmt: skip
_OF_TASK = {
    "time": "time_budget_s", "working": "time_budget_s", "token": "token_budget",
    "cost": "cost_budget_usd", "turn": "max_iterations",
}  # fmt: skip
_VERDICTS = {"C": True, "I": False, "N": False, True: True, False: False}
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_OWN_STOP = (None, "stop", "unknown")


def fits(head: Head) -> bool:
    """An archive with a journal and samples, or a JSON log with its plan."""
    if head.kind == "zip":
        return any(name.startswith(("_journal/", "samples/")) for name in head.names)
    if head.kind == "binary":
        return head.path.suffix == ".eval"
    return head.kind == "object" and head.has("version", "status", "eval")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each sample of a log, or of all logs below a folder.

    Raises:
        ImportFormatError: A file is no log of Inspect, a log holds no samples, or a folder none.
    """
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in (".eval", ".json"))
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.eval and no *.json file")
    seen: dict[str, int] = {}
    for file in files:
        with intake.record(Place(file, "log")):
            found = False
            for task, place, sample in _samples(file, intake):
                found = True
                with intake.record(place, sample):
                    yield _recording(place, task, sample, seen)
            if not found and not intake.broken:
                raise ImportFormatError(
                    f"{file}: the log holds no samples; write it without --no-log-samples"
                )


def _samples(path: Path, intake: Intake) -> Iterator[tuple[str, Place, Any]]:
    if path.suffix == ".eval":
        task = path.stem.rpartition("_")[0].partition("_")[2] or path.stem
        for place, raw in members(path, "", intake):
            if place.spot in ("header.json", "_journal/start.json"):
                with intake.record(place):
                    task = _task(place, json_value(raw, place))
            elif place.spot.startswith("samples/"):
                with intake.record(place):
                    sample = json_value(raw, place)
                    yield task, place, sample
        return
    log = json_document(path, intake)
    top = Place(path, "log")
    task = _task(top, log)
    for number, sample in enumerate(top.get_or_none(log, "samples", list) or (), 1):
        yield task, Place(path, f"sample {number}"), sample


def _task(place: Place, log: Any) -> str:
    return place.get(place.get(log, "eval", dict), "task", str)


def _recording(place: Place, task: str, sample: Any, seen: dict[str, int]) -> dict[str, Any]:
    found_in = measured(place, sample)
    messages = place.get(sample, "messages", list)
    said = [message for message in messages if not _given(message)]
    if not any(isinstance(m, dict) and m.get("role") == "assistant" for m in said):
        raise place.error("holds no assistant message: nothing was generated")
    plain = [found_in.plain(place.at(f"message {n}"), m) for n, m in enumerate(said, 1)]
    found = transcript(place, plain, None)
    _measure(found, found_in)
    number, epoch = sample.get("id"), sample.get("epoch", 1)
    tools = found_in.tools | {c["tool"] for s in found.steps for c in s.get("calls", ())}
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(f'{task}-{number}-{epoch}')}", seen),
        "title": f"Inspect, {task}: sample {number}, epoch {epoch}"[:200],
        "source": f"{NAME}:{place.path.name}",
        "goal": found.goal,
        "tags": [NAME, f"task:{slug(task)}"],
        **({"tools": sorted(tools)} if tools else {}),
        "steps": found.steps,
        **_ending(place, sample, found, bool(tools)),
    }


def _given(message: Any) -> bool:
    """Whether the dataset brought this message, and no model."""
    if not isinstance(message, dict) or message.get("source") != "input":
        return False
    return message.get("role") in ("assistant", "tool")


def _measure(found: Transcript, events: Measured) -> None:
    """Times of the model and the tool events, and results that stand in no message."""
    for step, message in zip(found.steps, found.spoken, strict=True):
        if message.ms is not None:
            step.setdefault("reply", {})["ms"] = message.ms
        for (call_id, _), call in zip(message.calls, step.get("calls", ()), strict=True):
            if (ms := events.call_ms(call_id)) is not None:
                call["ms"] = ms
            if "result" not in call and (result := events.answer(call_id)) is not None:
                settle(call, result)


def _ending(
    place: Place, sample: dict[str, Any], found: Transcript, has_tools: bool
) -> dict[str, Any]:
    recorded = _reason(place, sample, found, has_tools)
    scores = place.get_or_none(sample, "scores", dict) or {}
    if sample.get("error") is None and scores:
        values = [_value(place.at(f"score {name}"), score) for name, score in scores.items()]
        verdicts = {_VERDICTS.get(v) if isinstance(v, str | bool) else None for v in values}
        if len(verdicts) == 1 and (verdict := verdicts.pop()) is not None:
            recorded["outcome"] = "success" if verdict else "failure"
        (grade, *others) = map(_grade, values)
        if not others and grade is not None:
            found.steps[-1]["score"] = grade
    return {"recorded": recorded} if recorded else {}


def _value(spot: Place, score: Any) -> Any:
    if not isinstance(score, dict) or "value" not in score:
        raise spot.error(f"expected an object with key 'value', found {shown(score)}")
    return score["value"]


def _grade(value: Any) -> float | None:
    """A scorer's value from 0 to 1; ``None`` where it is none, as several values are."""
    if isinstance(value, str):
        return _GRADES.get(value)
    if isinstance(value, bool | int | float) and is_finite(value) and 0 <= value <= 1:
        return float(value)
    return None


def _reason(
    place: Place, sample: dict[str, Any], found: Transcript, has_tools: bool
) -> dict[str, Any]:
    if sample.get("error") is not None:
        return {"exit_reason": "error"}
    if (limit := place.get_or_none(sample, "limit", dict)) is not None:
        kind = place.get(limit, "type", str)
        if kind not in _LIMITS:
            return {}
        limits: dict[str, Any] = {}
        if kind in _OF_TASK and limit.get("limit") is not None:
            value = place.at("limit").number(limit, "limit")
            whole = kind in ("token", "turn")
            limits = {"limits": {_OF_TASK[kind]: round(value) if whole else value}}
        return {"exit_reason": _LIMITS[kind], **limits}
    last = found.steps[-1]
    submitted = any(c["tool"] == "submit" and c.get("ok", True) for c in last.get("calls", ()))
    stopped = found.closed and "calls" not in last
    own = stopped and last.get("reply", {}).get("finish_reason") in _OWN_STOP
    return inferred({"exit_reason": "agent_finished"} if has_tools and (own or submitted) else {})
