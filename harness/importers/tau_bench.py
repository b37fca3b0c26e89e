"""tau-bench: customer-service runs of a tool-calling agent with a simulated person.

Reads the files of ``historical_trajectories`` and those ``run.py`` writes with the tool-calling
strategy: a JSON list of ``{task_id, trial, reward, info, traj}``, where ``traj`` holds chat
messages.

The goal is the task's instruction, which is what the person wants; the agent learns of it only
through the person's messages, and each of these is the ``user`` of the step it precedes. The
system prompt is the same for the whole file and is not copied. The person's closing message
precedes no step and is read for the exit reason only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import choices
from harness.importers._base import SCHEMA, Place, at_limit, inferred, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_items
from harness.text import mended

NAME = "tau-bench"
TITLE = "tau-bench trajectories, tool-calling strategy"
LACKS: tuple[str, ...] = ("token counts", "cost of the agent", "times", "model name", "scores")
TOKENS = "None recorded; usage is unknown, not zero."
ITERATION = "One assistant message with its tool calls and the tool messages that answer them."
EXIT_REASON = (
    "Inferred from the end of the conversation: the person's '###STOP###' is agent_finished, a "
    "last call of transfer_to_human_agents is blocked (a human must act), 30 assistant messages "
    "without either is max_iterations. Anything else is unknown. The reward decides the outcome "
    "and never the reason."
)

ITEM = "trajectory"
STOP = "###STOP###"
HANDOVER = "transfer_to_human_agents"
#: tau-bench ends a run after this many agent steps.
STEP_LIMIT = 30


def fits(head: Head) -> bool:
    """A list of trajectories with ``task_id`` and ``traj``."""
    return head.kind == "list" and head.has("task_id", "traj")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each trajectory of a tau-bench file.

    ``tools`` are the names called anywhere in the file, since the file holds no catalogue. A
    result that starts with "Error" marks a failed call, as in tau-bench itself, and so do
    arguments that are not a JSON object. Outcome is success where the reward is 1.

    Raises:
        ImportFormatError: The file is not such a list, or a trajectory has another shape.
    """
    tools = _tools(path)
    seen: dict[str, int] = {}
    for place, entry in json_items(path, intake, what=ITEM):
        with intake.record(place, entry):
            recording = _recording(place, entry, seen)
            yield {**recording, "tools": tools} if tools else recording


def _tools(path: Path) -> list[str]:
    """Names of all tools called in a file; a reading of its own, so that none has to be kept."""
    names: set[str] = set()
    quiet = Intake()
    for place, entry in json_items(path, quiet, what=ITEM):
        with quiet.record(place):
            steps, _ = _steps(place, place.get(entry, "traj", list))
            names.update(call["tool"] for step in steps for call in step.get("calls", ()))
    return sorted(names)


def _recording(place: Place, entry: Any, seen: dict[str, int]) -> dict[str, Any]:
    task, trial = place.count(entry, "task_id"), place.count(entry, "trial")
    about = place.get(place.get(entry, "info", dict), "task", dict)
    steps, closing = _steps(place, place.get(entry, "traj", list))
    if not steps:
        raise place.error("key 'traj' holds no assistant message")
    # tau-bench counts a reward within this of 1 as solved.
    solved = place.number(entry, "reward") >= 1 - 1e-6
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(place.path.stem)}/task-{task:03d}-trial-{trial}", seen),
        "title": f"tau-bench task {task}, trial {trial}",
        "source": f"{NAME}:{place.path.name}",
        "goal": place.get(about, "instruction", str),
        "tags": [NAME],
        "steps": steps,
        "recorded": {**_ending(steps, closing), "outcome": "success" if solved else "failure"},
    }


def _steps(place: Place, messages: list[Any]) -> tuple[list[dict[str, Any]], str]:
    """The steps, and what the person said after the last of them."""
    steps: list[dict[str, Any]] = []
    said: list[str] = []
    # Call ids recur within a run, so an id is looked up in the newest turn only.
    open_calls: list[tuple[str, dict[str, Any]]] = []
    for number, message in enumerate(messages, 1):
        spot = place.at(f"message {number}")
        role = spot.get(message, "role", str)
        content = spot.get_or_none(message, "content", str) or ""
        if role == "user":
            said.append(content)
        elif role == "assistant":
            open_calls = _calls(spot, message)
            step: dict[str, Any] = {"user": "\n\n".join(said)} if said else {}
            if content:
                step["reply"] = {"text": content}
            if open_calls:
                step["calls"] = [call for _, call in open_calls]
            steps.append(step)
            said = []
        elif role == "tool":
            _answer(spot, message, content, open_calls)
        elif role != "system":
            raise spot.error(f"key 'role': {choices(role, _ROLES)}")
    return steps, "\n\n".join(said)


_ROLES = ("assistant", "system", "tool", "user")


def _calls(spot: Place, message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    calls = []
    for item in spot.get_or_none(message, "tool_calls", list) or ():
        function = spot.get(item, "function", dict)
        raw = spot.get(function, "arguments", str)
        call: dict[str, Any] = {"tool": spot.get(function, "name", str)}
        if (args := _arguments(raw)) is None:
            call |= {"args": {"unparsed": raw}, "ok": False}
        else:
            call["args"] = args
        calls.append((spot.get(item, "id", str), call))
    return calls


def _arguments(raw: str) -> dict[str, Any] | None:
    try:
        value = mended(json.loads(raw))
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which no JSON can hold
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _answer(
    spot: Place, message: dict[str, Any], content: str, open_calls: list[tuple[str, dict[str, Any]]]
) -> None:
    call_id = spot.get(message, "tool_call_id", str)
    for index, (name, call) in enumerate(open_calls):
        if name == call_id:
            del open_calls[index]
            call["result"] = content
            call["ok"] = call.get("ok", True) and not content.startswith("Error")
            return
    raise spot.error(
        f"key 'tool_call_id' must name an open call of the turn before it; "
        f"{choices(call_id, (name for name, _ in open_calls))}"
    )


def _ending(steps: list[dict[str, Any]], closing: str) -> dict[str, Any]:
    """What ``recorded`` says of how the run ended; empty where nothing tells."""
    if STOP in closing:
        return inferred({"exit_reason": "agent_finished"})
    if any(call["tool"] == HANDOVER for call in steps[-1].get("calls", ())):
        return inferred({"exit_reason": "blocked"})
    return inferred(at_limit(steps, STEP_LIMIT))
