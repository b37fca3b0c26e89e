"""mini-swe-agent: a coding agent whose only tool is bash, on SWE-bench.

Reads a ``*.traj.json`` file as mini-swe-agent 1.x and 2.x write it, all such files of a folder, or
a collection of runs (``*.jsonl``, ``*.jsonl.gz``): one run a line with the keys ``instance_id``,
``resolved``, ``exit_status``, ``model_stats``, ``limits`` and ``messages``, where a message holds
its ``response`` directly. The oldest files are a bare list of messages.

The goal is the task within the first user message; the instructions around it and the system
prompt are the same for every run and are not copied. Whether the patch passed the tests is not in
the agent's own file, only in a collection (``resolved``), so the outcome is unknown without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError, choices
from harness.importers._base import SCHEMA, Place, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._mini_swe_calls import TOOL, answer, call_of
from harness.importers._mini_swe_end import ending
from harness.importers._mini_swe_v2 import FORMAT_2, V2
from harness.importers._reading import json_document, json_lines

NAME = "mini-swe-agent"
TITLE = "mini-swe-agent trajectories, 1.x and 2.x"
LACKS: tuple[str, ...] = (
    "scores before the end",
    "outcome (unless a collection says whether the tests passed)",
    "in 1.x: time of a call (it is within the time of its step, and stands as 0)",
    "in 1.x: time of the last step, and of one that did not go through OpenRouter",
    "in 2.x: time of the first reply, and of one that was refused",
    "in 2.x: results of calls in one reply with the call that submits",
    "exit code of the call that submits, and of one that timed out",
    "in 1.x: cache writes (they count as uncached input)",
)
TOKENS = (
    "As each reply reports them. Uncached input is prompt_tokens less cached_tokens. "
    "completion_tokens contain the reasoning, so output is what is left without it; replies "
    "through Portkey, and any that report more reasoning than completion, have it beside the "
    "completion, so there output is completion_tokens. 2.x: by the names a usage object has, as "
    "'chat' reads them. The model stands without OpenRouter's "
    "vendor prefix (google/...), by which price lists do not know it."
)
ITERATION = (
    "One assistant message: its one fenced command is a call of bash, and the user message after "
    "it the result. A message with no command or several was refused by the agent and is a "
    "failed call with those commands as 'unparsed'. Its time, in whole seconds, runs from this "
    "request to the next one, so that it holds the reply, the command and any retry together: it "
    "stands as the reply's, the call's is 0. It is taken from 'created', which only OpenRouter "
    "(id 'gen-...') stamps at the start of a request; elsewhere it is unknown. 2.x: one reply, "
    "also one whose format the agent refused; its commands are calls of bash, by their call ids. A "
    "reply took as long as since the results before it, the calls until their results: they run "
    "one after another and have even shares (tag spread:ms), a person's confirmation included. "
    "What a person says or runs is the 'user' of the next step."
)
EXIT_REASON = (
    "Explicit: Submitted is agent_finished; LimitsExceeded is max_iterations where the step limit "
    "was reached, else cost_budget where the cost limit was. 2.x also: TimeExceeded is "
    "time_budget, RepeatedFormatError repeated_error, an exception error. Any other status is "
    "unknown. In 1.x without a status, agent_finished is inferred from a last command that "
    "submitted. Whether the tests passed decides the outcome and never the reason."
)

FORMATS = ("mini-swe-agent-1", FORMAT_2)

#: Where the task stands in the first user message, by the prompts that come with the agent.
_TASKS = (
    ("<pr_description>", "</pr_description>"),
    ("Please solve this issue: ", "\n\nYou can execute bash commands"),
)
_TASK_OPENING = "Consider the following PR description:"
_ROLES = ("assistant", "system", "user")


def fits(head: Head) -> bool:
    """One run, or a collection of them, by what the agent writes beside the messages."""
    if head.kind == "lines":
        return head.has("instance_id", "exit_status", "messages")
    if head.kind == "object":
        made_as = head.get("trajectory_format")
        known = isinstance(made_as, str) and made_as.startswith(NAME)
        return head.has("messages") and (known or head.get("info", "exit_status") is not None)
    return head.kind == "list" and head.path.name.endswith(".traj.json") and head.has("role")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each run of a file, or of all ``*.traj.json`` files below a folder.

    A call succeeded if its exit code is 0, or if it submitted. One that timed out, that a person
    rejected or that was never answered failed. Of an output too long for the agent, the result
    holds the head and tail that the agent saw.

    Raises:
        ImportFormatError: A file is not of this format, or a folder holds none.
    """
    seen: dict[str, int] = {}
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        for place, record in json_lines(path, intake):
            with intake.record(place, record):
                yield _recording(place, record, seen)
        return
    files = sorted(path.rglob("*.traj.json")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.traj.json file")
    for file in files:
        place = Place(file, "trajectory")
        with intake.record(place):
            intake.raw = record = json_document(file, intake)
            yield _recording(place, record, seen)


def _recording(place: Place, record: Any, seen: dict[str, int]) -> dict[str, Any]:
    if isinstance(record, list):
        record = {"messages": record}
    messages = place.get(record, "messages", list)
    made_as = place.get_or_none(record, "trajectory_format", str) or FORMATS[0]
    if made_as not in FORMATS:
        raise place.error(f"key 'trajectory_format': {choices(made_as, FORMATS)}")
    # The agent's own file keeps under 'info' what a collection has beside the messages.
    about = place.get_or_none(record, "info", dict) or record
    status = place.get_or_none(about, "exit_status", str)
    newer = _newer(place, messages) if made_as == FORMAT_2 else None
    task, steps = (newer.goal, newer.found.steps) if newer else _steps(place, messages)
    if not steps:
        raise place.error("key 'messages' holds no assistant message")
    instance = place.get_or_none(record, "instance_id", str) or place.path.name.split(".")[0]
    recorded = newer.ending(place, about, status) if newer else ending(place, about, status, steps)
    solved = place.get_or_none(record, "resolved", bool)
    if solved is not None:
        recorded["outcome"] = "success" if solved else "failure"
    return {
        "schema": SCHEMA,
        "id": unique(f"{NAME}/{slug(instance)}", seen),
        "title": f"mini-swe-agent on {instance}",
        "source": f"{NAME}:{place.path.name}",
        "goal": _task(task),
        "tags": [NAME, *(newer.tags() if newer else ())],
        "tools": [TOOL],
        "steps": steps,
        "recorded": recorded,
    }


def _newer(place: Place, messages: list[Any]) -> V2:
    reader = V2()
    for number, message in enumerate(messages, 1):
        reader.take(place.at(f"message {number}"), message)
    return reader


def _task(prompt: str) -> str:
    """The task without the instructions around it; all of it where it stands in no known place."""
    for opening, closing in _TASKS:
        _, found, rest = prompt.partition(opening)
        task, closed, _ = rest.rpartition(closing)
        if found and closed:
            return task.strip().removeprefix(_TASK_OPENING).strip()
    return prompt.strip()


def _steps(place: Place, messages: list[Any]) -> tuple[str, list[dict[str, Any]]]:
    """The first user message and the steps."""
    first: str | None = None
    steps: list[dict[str, Any]] = []
    said: list[str] = []
    starts: list[int | None] = []
    open_call: dict[str, Any] | None = None
    for number, message in enumerate(messages, 1):
        spot = place.at(f"message {number}")
        role = spot.get(message, "role", str)
        content = spot.get_or_none(message, "content", str) or ""
        if role == "assistant":
            reply, start = _reply(spot, message, content)
            open_call = call_of(content)
            step: dict[str, Any] = {"user": "\n\n".join(said)} if said else {}
            steps.append({**step, "reply": reply, "calls": [open_call]})
            starts.append(start)
            said = []
        elif role == "user" and first is None:
            first = content
        elif role == "user" and open_call is not None:
            answer(open_call, content)
            open_call = None
        elif role == "user":
            said.append(content)
        elif role != "system":
            raise spot.error(f"key 'role': {choices(role, _ROLES)}")
    _time(steps, starts)
    return first or "", steps


def _reply(spot: Place, message: Any, text: str) -> tuple[dict[str, Any], int | None]:
    """The reply, and the second in which it was asked for, where that is known."""
    reply: dict[str, Any] = {"text": text}
    extra = spot.get_or_none(message, "extra", dict) or message
    response = spot.get_or_none(extra, "response", dict)
    if response is None:
        return reply, None
    name = spot.get_or_none(response, "id", str) or ""
    if model := spot.get_or_none(response, "model", str):
        reply["model"] = model.rpartition("/")[2]
    options = spot.get_or_none(response, "choices", list)
    reason = spot.get_or_none(options[0] if options else response, "finish_reason", str)
    if reason:
        reply["finish_reason"] = reason.lower()
    usage = spot.get_or_none(response, "usage", dict)
    if usage is not None:
        reply["usage"] = _usage(spot.at("usage"), usage, apart=name.startswith("portkey-"))
    stamped = name.startswith("gen-") and response.get("created") is not None
    return reply, spot.count(response, "created") if stamped else None


def _usage(spot: Place, usage: dict[str, Any], *, apart: bool) -> dict[str, int]:
    """Counts that do not overlap; ``apart`` says that completion is without the reasoning."""
    prompt = spot.count(usage, "prompt_tokens")
    completion = spot.count(usage, "completion_tokens")
    cached = _detail(spot, usage, "prompt_tokens_details", "cached_tokens")
    reasoning = _detail(spot, usage, "completion_tokens_details", "reasoning_tokens")
    if cached > prompt:
        raise spot.error(f"key 'cached_tokens' must be at most 'prompt_tokens', found {cached}")
    apart = apart or reasoning > completion
    output = completion if apart else completion - reasoning
    counts = {
        "input": prompt - cached,
        "cache_read": cached,
        "output": output,
        "reasoning": reasoning,
    }
    return {key: count for key, count in counts.items() if count}


def _detail(spot: Place, usage: dict[str, Any], group: str, key: str) -> int:
    """A count that the agent's own file keeps in a group, and a collection beside the others."""
    holder = spot.get_or_none(usage, group, dict) or usage
    return 0 if holder.get(key) is None else spot.count(holder, key)


def _time(steps: list[dict[str, Any]], starts: list[int | None]) -> None:
    """A step takes as long as it is until the next request; the last one has none."""
    for index in range(len(steps) - 1):
        start, end = starts[index], starts[index + 1]
        if start is not None and end is not None and end >= start:
            steps[index]["reply"]["ms"] = (end - start) * 1000
            steps[index]["calls"][0]["ms"] = 0
