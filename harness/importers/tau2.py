"""tau2-bench: results of simulations with a person, an agent and an environment, as text.

Reads a results file (``info``, ``tasks``, ``simulations``), a folder of the newer kind
(``results.json`` beside ``simulations/``), or the file of one simulation. Voice runs have ticks and
no messages, and are refused.

The goal is what the task tells the person to want, which the agent learns of only through the
person's messages; each of these is the ``user`` of the step it precedes. The greeting ahead of the
person's first message is fixed text and no step. The person's own calls of tools are not the
agent's and are passed over. The policy is the same for all and is not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers import _usage
from harness.importers._base import Place, inferred, shown, slug, unique
from harness.importers._head import Head, head_of
from harness.importers._intake import Intake
from harness.importers._messages import milliseconds, moment
from harness.importers._reading import json_document, json_items
from harness.importers._steps import Steps, arguments, joined, plain_model, recording
from harness.importers._usage import usage_from

NAME = "tau2"
TITLE = "tau2-bench results (text runs)"
LACKS: tuple[str, ...] = (
    "scores before the end",
    "tools that were never called",
    "tokens of the simulated person (not the agent's)",
    "times in results without time stamps",
    "the policy (not copied)",
)
TOKENS = "As the response of each message has them (raw_data), else its usage. " + _usage.RULE
ITERATION = (
    "One assistant message with the tool messages that answer its calls. A reply took its "
    "generation_time_seconds, else as long as since the message before it; a call until its "
    "result; the person's message is idle time. A call failed where its result says 'error'."
)
EXIT_REASON = (
    "Explicit, from termination_reason: agent_stop and user_stop are agent_finished, max_steps is "
    "max_iterations, timeout time_budget, too_many_errors repeated_error, infrastructure_error "
    "infrastructure; agent_error, user_error, context_window_exceeded and unexpected_error are "
    "error. A person who stops with ###TRANSFER### makes it blocked, inferred. The reward decides "
    "the outcome and never the reason; it decides nothing where a run crashed."
)

_REASONS = {
    "user_stop": "agent_finished",
    "agent_stop": "agent_finished",
    "max_steps": "max_iterations",
    "timeout": "time_budget",
    "too_many_errors": "repeated_error",
    "infrastructure_error": "infrastructure",
    "agent_error": "error",
    "user_error": "error",
    "context_window_exceeded": "error",
    "unexpected_error": "error",
}
#: Ends at which the simulation was measured; the zero of one that crashed is no verdict.
_MEASURED = frozenset({"user_stop", "agent_stop", "max_steps", "timeout", "too_many_errors"})
_TRANSFER = "###TRANSFER###"
#: What the person is told; the rest of a task's instructions is for telling them how to act.
_WANTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def fits(head: Head) -> bool:
    """Results with info and tasks; one simulation; a folder of simulations."""
    if head.kind == "folder":
        names = set(head.names)
        return "results.json" in names and any(n.startswith("simulations/") for n in names)
    if head.kind != "object":
        return False
    results = head.has("info", "tasks") and isinstance(head.get("info", "agent_info"), dict)
    return results or head.has("task_id", "termination_reason", "start_time")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each simulation.

    Raises:
        ImportFormatError: The file holds neither results nor a simulation, or no simulation.
    """
    seen: dict[str, int] = {}
    results = path / "results.json" if path.is_dir() else path
    head = head_of(results)
    about = head.get("info") or {}
    goals = _goals(results) if head.get("tasks") else {}
    folder = results.parent / "simulations"
    if head.has("task_id"):
        place = Place(path, "simulation")
        document = json_document(path, intake)
        with intake.record(place, document):
            yield _recording(place, document, about, goals, seen)
    elif not head.has("info"):
        raise ImportFormatError(
            f"{path}: expected tau2-bench results ('info', 'tasks', 'simulations') or one "
            f"simulation ('task_id', 'messages'), found {shown(head.first)}"
        )
    elif folder.is_dir() and head.has("simulation_index"):
        for file in sorted(folder.glob("*.json")):
            place = Place(file, "simulation")
            with intake.record(place):
                intake.raw = json_document(file, intake)
                yield _recording(place, intake.raw, about, goals, seen)
    else:
        for place, run in json_items(results, intake, under="simulations", what="simulation"):
            with intake.record(place, run):
                yield _recording(place, run, about, goals, seen)


def _goals(path: Path) -> dict[str, str]:
    """What the person wants, by task."""
    goals: dict[str, str] = {}
    for place, task in json_items(path, Intake(), under="tasks", what="task"):
        scenario = place.get_or_none(task, "user_scenario", dict) or {}
        told = scenario.get("instructions")
        if isinstance(told, dict):
            texts = [told[key] for key in _WANTS if isinstance(told.get(key), str) and told[key]]
            told = "\n\n".join(texts)
        if isinstance(told, str) and told:
            goals[str(task.get("id"))] = told
    return goals


def _recording(
    place: Place, run: Any, about: dict[str, Any], goals: dict[str, str], seen: dict[str, int]
) -> dict[str, Any]:
    reason = place.get(run, "termination_reason", str)
    messages = place.get_or_none(run, "messages", list)
    if messages is None and run.get("ticks"):
        raise place.error("is a voice run (ticks without messages); only text runs can be read")
    task = str(run.get("task_id"))
    agent = place.get_or_none(about, "agent_info", dict) or {}
    found = Steps(goals.get(task))
    closing = _steps(place, messages or [], place.get_or_none(agent, "llm", str), found)
    if not found.steps:
        raise place.error(f"holds no message of the agent (it ended with {shown(reason)})")
    domain = place.get_or_none(about, "environment_info", dict) or {}
    name = place.get_or_none(domain, "domain_name", str) or "task"
    trial = "" if run.get("trial") is None else f"-trial-{place.count(run, 'trial')}"
    return recording(
        unique(f"{NAME}/{slug(name)}/{slug(task)}{trial}", seen),
        f"tau2-bench {name}, task {task}{trial.replace('-', ' ')}",
        f"{NAME}:{place.path.name}",
        found,
        _ended(place, run, reason, closing),
        tags=[NAME],
    )


def _ended(place: Place, run: dict[str, Any], reason: str, closing: str) -> dict[str, Any]:
    recorded: dict[str, Any] = {}
    if reason in _REASONS:
        recorded["exit_reason"] = _REASONS[reason]
    if reason == "user_stop" and _TRANSFER in closing:
        recorded = inferred({"exit_reason": "blocked"})
    info = place.get_or_none(run, "reward_info", dict)
    if info is not None and reason in _MEASURED:
        # tau2-bench counts a reward within this of 1 as solved.
        solved = place.number(info, "reward") >= 1 - 1e-6
        recorded["outcome"] = "success" if solved else "failure"
    return recorded


def _steps(place: Place, messages: list[Any], llm: str | None, found: Steps) -> str:
    """Read the messages; what the person said last."""
    closing = ""
    asked = False
    for number, raw in enumerate(_flat(messages), 1):
        spot = place.at(f"message {number}")
        role = spot.get(raw, "role", str)
        stamp = spot.get_or_none(raw, "timestamp", str)
        at = None if stamp is None else moment(spot, stamp)
        text = joined(raw.get("content"))
        calls = spot.get_or_none(raw, "tool_calls", list) or []
        if role == "assistant" and (asked or calls):
            closing = ""
            found.replied(_reply(spot, raw, text, llm), at)
            for item in calls:
                call = {"tool": spot.get(item, "name", str), **arguments(item.get("arguments"))}
                found.called(spot.get_or_none(item, "id", str), call, at)
        elif role == "tool" and raw.get("requestor") != "user":
            result: dict[str, Any] = {"result": text}
            if isinstance(raw.get("error"), bool):
                result["ok"] = not raw["error"]
            found.answered(spot.get_or_none(raw, "id", str), result, at)
        elif role == "user" and not calls:
            closing, asked = text, True
            found.said(text, at)
        elif role not in ("assistant", "tool", "user", "system"):
            raise spot.error(
                f"key 'role' must be user, assistant, tool or system, found {shown(role)}"
            )
        else:
            found.passed(at)
    return closing


def _flat(messages: list[Any]) -> Iterator[Any]:
    """Messages; results that came together are kept in one."""
    for message in messages:
        inner = message.get("tool_messages") if isinstance(message, dict) else None
        yield from (inner if isinstance(inner, list) else [message])


def _reply(spot: Place, raw: dict[str, Any], text: str, llm: str | None) -> dict[str, Any]:
    reply: dict[str, Any] = {"text": text} if text else {}
    response = spot.get_or_none(raw, "raw_data", dict) or {}
    model = spot.get_or_none(response, "model", str) or llm
    if model:
        reply["model"] = plain_model(model)
    options = response.get("choices")
    first = options[0] if isinstance(options, list) and options else {}
    if isinstance(first, dict) and isinstance(first.get("finish_reason"), str):
        reply["finish_reason"] = first["finish_reason"]
    usage = spot.get_or_none(response, "usage", dict) or spot.get_or_none(raw, "usage", dict)
    if usage and (counts := usage_from(spot.at("usage"), usage)):
        reply["usage"] = counts
    if raw.get("generation_time_seconds") is not None:
        seconds = spot.number(raw, "generation_time_seconds")
        reply["ms"] = milliseconds(spot, {"seconds": seconds * 1000}, "seconds")
    return reply
