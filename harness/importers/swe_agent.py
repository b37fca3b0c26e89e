"""SWE-agent: a coding agent with commands of its own, on issues of repositories.

Reads a ``*.traj`` file as SWE-agent 0.x and 1.x write it, or all of a folder. A file that holds a
``history`` only (a demonstration) is read as chat messages. The goal is the issue within the first
message that is no demonstration; prompts and instructions are not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import SCHEMA, Place, inferred, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._messages import loaded
from harness.importers._reading import json_document
from harness.importers._spread import shares
from harness.importers._turns import transcript

NAME = "swe-agent"
TITLE = "SWE-agent trajectories (*.traj)"
LACKS: tuple[str, ...] = (
    "scores",
    "outcome (whether the tests passed is in no trajectory)",
    "tokens of a reply (the total is spread evenly; tag spread:usage)",
    "cached tokens (they count as uncached input)",
    "time of a reply, and in 0.x of a call",
    "exit code of a command",
    "replies whose format the agent refused (it asks again within the step)",
)
TOKENS = (
    "model_stats of the run: tokens_sent are uncached input, tokens_received output, spread "
    "evenly over the steps. Both 0, as in a demonstration or a replay, is unknown usage. The model "
    "is that of replay_config, where tokens were sent."
)
ITERATION = (
    "One entry of the trajectory: its response, and its action as a call with the observation as "
    "result. The tool is the agent's own command (open, edit, submit ...), else bash. An edit that "
    "the linter refused, a command that timed out and one that could not be run are failed calls. "
    "A last entry that the agent made up itself to end the run (Exit due to ..., or an action "
    "exit_...) is no iteration."
)
EXIT_REASON = (
    "Explicit: submitted is agent_finished; a status that names exit_cost is cost_budget, also "
    "where the agent then submitted for the model, and exit_total_execution_time is time_budget; "
    "exit_error, exit_api and exit_environment_error are error. Any other status is unknown. Of a "
    "history alone, agent_finished is inferred from a last call of submit."
)

#: Commands that SWE-agent gives its model; whatever else an action runs is the shell's.
COMMANDS = frozenset({
    "connect_exec", "connect_sendline", "connect_start", "connect_stop", "create",
    "debug_add_breakpoint", "debug_continue", "debug_exec", "debug_start", "debug_step",
    "debug_stop", "decompile", "disassemble", "edit", "exit_forfeit", "find_file", "goto",
    "insert", "open", "scroll_down", "scroll_up", "search_dir", "search_file", "set_cursors",
    "str_replace_editor", "submit", "undo_edit", "view_image",
})  # fmt: skip
#: What the agent's environment says in place of a result, by SWE-agent 0.x and 1.x.
_REFUSED = re.compile(
    r"\s*(?:Your proposed edit has introduced new syntax error|"
    r"COMMAND FAILED TO EXECUTE|EXECUTION FAILED|BASH PROCESS|Your command was not executed|"
    r"Your (?:last )?command (?:did not pass|timed out)|The command .{0,200} was cancelled)"
)
#: Where the issue stands in the first message, by the prompts that come with the agent.
_TASKS = (
    ("<pr_description>", "</pr_description>"),
    ("ISSUE:", "\nINSTRUCTIONS:"),
    ("ISSUE:", "\n\nINSTRUCTIONS:"),
)
#: What stands behind the output of a command that ran too long.
_TOO_LONG = re.compile(r"^EXECUTION TIMED OUT", re.MULTILINE)
#: What the agent says in place of a reply that it did not ask for, as both response and thought.
_EXIT = re.compile(r"Exit(?:ing|ed)? due to ")
_DEMONSTRATION = ("demonstration", "demo")
_LIMITS = {"exit_cost": "cost_budget", "exit_total_execution_time": "time_budget"}
_ERRORS = ("exit_error", "exit_api", "exit_environment_error")


def fits(head: Head) -> bool:
    """A trajectory with its history, or a history of its own in a ``.traj`` file."""
    if head.kind != "object":
        return False
    return head.path.name.endswith(".traj") or head.has("trajectory", "history", "environment")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each file, or for each ``*.traj`` below a folder.

    Raises:
        ImportFormatError: A file is not of this format, or a folder holds none.
    """
    files = sorted(path.rglob("*.traj")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.traj file")
    seen: dict[str, int] = {}
    for file in files:
        place = Place(file, "trajectory")
        with intake.record(place):
            intake.raw = json_document(file, intake)
            yield _recording(place, intake.raw, seen)


def _recording(place: Place, run: Any, seen: dict[str, int]) -> dict[str, Any]:
    history = place.get(run, "history", list)
    entries = place.get_or_none(run, "trajectory", list)
    info = place.get_or_none(run, "info", dict) or {}
    task = _first(place, history)
    spread: list[str] = []
    if entries:
        spots = [(place.at(f"step {n}"), entry) for n, entry in enumerate(entries, 1)]
        made = [spot for spot in spots if not _forced(*spot)]
        steps = [_step(spot, entry) for spot, entry in made]
        recorded = _ending(place, info, _config(run))
        spread = _usage(place, info, _config(run), steps)
    else:
        said = [_plain(message) for message in history if _real(message)]
        steps = transcript(place, said, "").steps
        calls = steps[-1].get("calls", []) if steps else []
        submitted = any(call["tool"] == "submit" for call in calls)
        recorded = inferred({"exit_reason": "agent_finished"} if submitted else {})
    if not steps:
        raise place.error("holds neither a reply in 'trajectory' nor an assistant message")
    name = place.path.name.removesuffix(".traj")
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(name)}", seen),
        "title": f"SWE-agent on {name}"[:200],
        "source": f"{NAME}:{place.path.name}",
        "goal": _task(task),
        "tags": [NAME, *(f"spread:{what}" for what in spread)],
        "tools": sorted({"bash", *(c["tool"] for step in steps for c in step.get("calls", ()))}),
        "steps": steps,
        **({"recorded": recorded} if recorded else {}),
    }


def _real(message: Any) -> bool:
    """Whether a message belongs to the run, and not to the demonstration before it."""
    if not isinstance(message, dict):
        return True
    return not (message.get("is_demo") or message.get("message_type") in _DEMONSTRATION)


def _first(place: Place, history: list[Any]) -> str:
    for number, message in enumerate(history, 1):
        spot = place.at(f"message {number}")
        if _real(message) and spot.get(message, "role", str) == "user":
            return _text(spot, message)
    return ""


def _text(spot: Place, message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = (spot.get_or_none(part, "text", str) for part in content)
        return "\n".join(part for part in parts if part)
    return spot.get_or_none(message, "content", str) or ""


def _task(prompt: str) -> str:
    """The issue without the instructions around it; all of it where it stands in no known place."""
    for opening, closing in _TASKS:
        _, found, rest = prompt.partition(opening)
        task, closed, _ = rest.partition(closing)
        if found and closed:
            return task.strip()
    return prompt.strip()


def _plain(message: Any) -> Any:
    """A message of the history in the shape of Chat Completions, which has one id a result."""
    ids = message.get("tool_call_ids") if isinstance(message, dict) else None
    return {**message, "tool_call_id": ids[0]} if isinstance(ids, list) and ids else message


def _forced(spot: Place, entry: Any) -> bool:
    """Whether the agent wrote this entry to end the run, and no model replied."""
    action = (spot.get_or_none(entry, "action", str) or "").strip()
    if not action:
        text = spot.get_or_none(entry, "response", str) or ""
        return text == entry.get("thought") and _EXIT.match(text) is not None
    command = action.split(maxsplit=1)[0]
    return command.startswith("exit_") and command not in COMMANDS


def _step(spot: Place, entry: Any) -> dict[str, Any]:
    text = spot.get_or_none(entry, "response", str) or spot.get_or_none(entry, "thought", str)
    step: dict[str, Any] = {"reply": {"text": text}} if text else {}
    action = (spot.get_or_none(entry, "action", str) or "").strip()
    result = spot.get_or_none(entry, "observation", str) or ""
    command = action.split(maxsplit=1)[0] if action else ""
    if not action:
        call: dict[str, Any] = {"tool": "bash", "args": {"unparsed": text or ""}, "ok": False}
    else:
        tool = command if command in COMMANDS else "bash"
        call = {"tool": tool, "args": {"command": action}, "ok": not _refused(result)}
    call["result"] = result
    if entry.get("execution_time") is not None:
        call["ms"] = round(spot.number(entry, "execution_time") * 1000)
    return {**step, "calls": [call]}


def _refused(result: str) -> bool:
    return bool(_REFUSED.match(result) or _TOO_LONG.search(result[-300:]))


def _usage(
    place: Place, info: dict[str, Any], config: dict[str, Any], steps: list[dict[str, Any]]
) -> list[str]:
    """Spread the tokens of the run over its steps; what was spread."""
    stats = place.get_or_none(info, "model_stats", dict) or {}
    named = {"input": "tokens_sent", "output": "tokens_received"}
    counts = {ours: place.count(stats, key) for ours, key in named.items() if key in stats}
    if not any(counts.values()):
        return []
    parts = {key: shares(count, len(steps)) for key, count in counts.items()}
    model = place.get_or_none(config, "name", str)
    for index, step in enumerate(steps):
        reply: dict[str, Any] = step.setdefault("reply", {})
        reply["usage"] = {key: share[index] for key, share in parts.items() if share[index]}
        if model:
            reply["model"] = model.rpartition("/")[2]
    return ["usage"] if len(steps) > 1 else []


def _config(run: dict[str, Any]) -> dict[str, Any]:
    """Settings of the model, where the file has them: as an object, or as JSON in a text."""
    value: Any = loaded(run.get("replay_config"))
    for key in ("agent", "model"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _ending(place: Place, info: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    status = place.get_or_none(info, "exit_status", str) or ""
    for word, reason in _LIMITS.items():
        if word in status:
            limit = config.get("per_instance_cost_limit") if reason == "cost_budget" else None
            limits = {"limits": {"cost_budget_usd": limit}} if limit else {}
            return {"exit_reason": reason, **limits}
    if status == "submitted":
        return {"exit_reason": "agent_finished"}
    return {"exit_reason": "error"} if any(word in status for word in _ERRORS) else {}
