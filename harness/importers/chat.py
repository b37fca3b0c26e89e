"""chat: your own runs as JSON Lines, one run a line, in the messages of Chat Completions.

A run is ``{"messages": [...]}`` and whatever else is known of it; all other keys are optional, may
also stand under ``metadata``, and unknown ones are passed over:

- ``id``, ``goal``, ``model``, ``tools`` (names, or the objects of a request), ``direction``,
  ``score_scale``, ``limits``;
- ``outcome`` (or ``success``, ``resolved``): success, failure, true, false, 1, 0;
- ``exit_reason``: one of the harness's own;
- ``score`` (of the last turn) or ``scores`` (a list, one a turn), or ``score`` on a message;
- ``usage``: the total of the run, a list with one a turn, or on each message;
- ``ms``: likewise; or ``timestamps``, one a message; or ``timestamp`` on each message.

Also read: a bare list of messages, ``conversations`` with ``from`` and ``value``, a request with
its ``response``, ``input`` and ``output`` of a trace or of OpenAI's Responses, the output of its
Batch API (a reply without what was asked), content as parts, ``function_call``, custom calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import choices
from harness.exits import ExitReason
from harness.importers import _usage
from harness.importers._base import SCHEMA, Place, inferred, shown, slug, unique
from harness.importers._finish import is_own_stop
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._messages import ROLES
from harness.importers._reading import json_lines
from harness.importers._spans.responses import answered, has_items, request
from harness.importers._spread import measured
from harness.importers._turns import Transcript, transcript

NAME = "chat"
TITLE = "your own runs: JSON Lines of chat messages"
LACKS: tuple[str, ...] = (
    "whatever a run leaves out (the import counts it)",
    "tokens or time of a turn where a run gives totals only (spread evenly; tag spread:...)",
    "the system prompt (not copied)",
)
TOKENS = _usage.RULE
ITERATION = (
    "One assistant message with the tool results that answer its calls; of the items of OpenAI's "
    "Responses, all that one reply consists of. The first user message is the goal unless 'goal' "
    "says another; later ones are the 'user' of the next step. A line that the Batch API wrote is "
    "a reply without a goal; of a request that expired there, an error. A call failed where its "
    "arguments are no JSON object (those of a custom tool are a text) or its result says so "
    "(is_error, status error, an exit_code that is not 0, a text that begins with the word Error "
    "or with Traceback)."
)
EXIT_REASON = (
    "Explicit where the run has 'exit_reason'. Else agent_finished is inferred where the last "
    "message is the assistant's, calls nothing, was not cut off, and the agent has tools. Anything "
    "else is unknown. Outcome and scores never decide it."
)

_MESSAGES = ("messages", "conversations", "conversation", "input", "request")
_OUTCOMES = {
    "success": "success", "succeeded": "success", "pass": "success", "passed": "success",
    "solved": "success", "resolved": "success", "true": "success",
    "failure": "failure", "failed": "failure", "fail": "failure", "unsolved": "failure",
    "unresolved": "failure", "false": "failure", "error": "failure",
    "unknown": None, "": None,
}  # fmt: skip


def fits(head: Head) -> bool:
    """JSON Lines of messages or of a batch's replies; mini-swe-agent's have their own importer."""
    if head.kind != "lines" or head.has("instance_id", "exit_status"):
        return False
    if isinstance(head.first, list):
        return bool(head.first) and isinstance(head.first[0], dict) and "role" in head.first[0]
    if head.has("custom_id") and any(
        isinstance(head.get(*keys), dict) for keys in (("response", "body"), ("error",))
    ):
        return True
    return any(isinstance(head.get(key), list) for key in ("messages", "conversations"))


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each line; a line is read when it is asked for.

    Raises:
        ImportFormatError: A line is no run; the message names line, key and what is allowed.
    """
    seen: dict[str, int] = {}
    for number, (place, record) in enumerate(json_lines(path, intake), 1):
        with intake.record(place, record):
            yield _recording(place, record, number, seen)


def _recording(place: Place, record: Any, number: int, seen: dict[str, int]) -> dict[str, Any]:
    run = _Run(place, {"messages": record} if isinstance(record, list) else record)
    found = transcript(place, run.messages(), run.text("goal", "task"))
    if not found.steps:
        raise place.error("holds no assistant message")
    spread = measured(place, run.values, found)
    tools = run.tools(found)
    if model := run.text("model"):
        for step in found.steps:
            step.setdefault("reply", {}).setdefault("model", model)
    name = run.name() or f"run-{number:04d}"
    recording: dict[str, Any] = {
        "schema": SCHEMA,
        "id": unique(f"{slug(place.path.name.split('.')[0])}/{slug(name)}", seen),
        "title": name,
        "source": f"{NAME}:{place.path.name}",
        "goal": found.goal,
        "tags": [NAME, *(f"spread:{what}" for what in spread)],
        "steps": found.steps,
        "recorded": run.recorded(found, tools),
    }
    if tools is not None:
        recording["tools"] = tools
    return recording | run.scale()


def _answered(messages: list[Any]) -> bool:
    """Whether the messages hold the reply already."""
    last = messages[-1] if messages else None
    role = last.get("role", last.get("from")) if isinstance(last, dict) else None
    return isinstance(role, str) and ROLES.get(role) == "assistant"


def _body(values: dict[str, Any]) -> dict[str, Any] | None:
    """The response of a line that OpenAI's Batch API wrote, or the error of one that has none."""
    response = values.get("response", {"status_code": None})
    if not isinstance(response, dict):
        return None
    if isinstance(body := response.get("body"), dict):
        return {"role": "assistant", **body}
    # A request that nobody carried out, as one that expired.
    failed = "status_code" in response and values.get("error") and "custom_id" in values
    return {"role": "assistant", "error": values["error"]} if failed else None


def _answer(values: dict[str, Any], key: str | None) -> Any:
    """The response that stands beside the messages, as it is there; ``None`` where none does."""
    if values.get("object") == "response":
        return values
    answer = values.get("response", values.get("output") if key == "input" else None)
    if answer is None and "choices" in values:
        return values
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    return {"role": "assistant", **answer} if isinstance(answer, dict) else answer


class _Run:
    """What a line says beside its messages; ``metadata`` stands in for what the line lacks."""

    def __init__(self, place: Place, record: Any) -> None:
        self.place = place
        beside = place.get_or_none(record, "metadata", dict) or {}
        request = record.get("request")
        own = {key: value for key, value in record.items() if value is not None}
        self.values = {**beside, **(request if isinstance(request, dict) else {}), **own}

    def messages(self) -> list[Any]:
        """The messages, with a response at their end where it stands beside them."""
        values, place = self.values, self.place
        key = next((key for key in _MESSAGES if key in values), None)
        batched = _body(values)
        if key is None and batched is None:
            keys = ", ".join(map(shown, list(values)[:12])) or "none"
            raise place.error(f"needs one of the keys {', '.join(_MESSAGES)}; found keys: {keys}")
        # What a batch was asked stands in a file of its own.
        found = values[key] if key else []
        if isinstance(found, dict):
            found = place.get(found, "messages", list)
        if key == "input" and isinstance(found, str):
            found = [{"role": "user", "content": found}]
        if not isinstance(found, list):
            raise place.error(f"key {key!r} must be a list of messages, found {shown(found)}")
        answer = _answer(values, key) if batched is None else batched
        if answer is None or _answered(found):
            whole = found
        elif isinstance(answer, dict) and isinstance(answer.get("output"), list):
            whole = [*found, answered(answer)]
        else:
            whole = [*found, *(answer if isinstance(answer, list) else [answer])]
        return request(whole) if has_items(whole) else whole

    def text(self, *keys: str) -> str | None:
        """The first of the keys that is there."""
        for key in keys:
            if (value := self.place.get_or_none(self.values, key, str)) is not None:
                return value
        return None

    def name(self) -> str | None:
        """The run's own id, which may be a number."""
        value = self.values.get("id")
        # A batch numbers its lines by itself, the user by custom_id.
        own = ("custom_id", "id", "run_id", "trace_id")
        return str(value) if type(value) is int else self.text(*own)

    def tools(self, found: Transcript) -> list[str] | None:
        """Names of the tools; those that were called, where the run lists none."""
        called = sorted({call["tool"] for step in found.steps for call in step.get("calls", ())})
        listed = self.values.get("tools", self.values.get("functions"))
        if listed is None:
            return called or None
        if not isinstance(listed, list | dict):
            raise self.place.error(
                f"key 'tools' must be a list of names or of tools, found {shown(listed)}"
            )
        return list(dict.fromkeys([*(self._tool(tool) for tool in listed), *called]))

    def _tool(self, tool: Any) -> str:
        inner: Any = {"name": tool}
        if isinstance(tool, dict):
            inner = tool.get("function", tool.get("custom", tool))
            if inner is tool and "name" not in tool and isinstance(kind := tool.get("type"), str):
                return kind  # the provider's own, as web_search
        return self.place.at("tools").get(inner, "name", str)

    def recorded(self, found: Transcript, tools: list[str] | None) -> dict[str, Any]:
        """How the run ended, as far as it says or shows."""
        recorded = self._ending(found, tools)
        for key in ("outcome", "success", "resolved"):
            if key in self.values:
                if outcome := self._outcome(key):
                    recorded["outcome"] = outcome
                break
        if limits := self.place.get_or_none(self.values, "limits", dict):
            recorded["limits"] = limits
        return recorded

    def _ending(self, found: Transcript, tools: list[str] | None) -> dict[str, Any]:
        if (reason := self.text("exit_reason")) is not None:
            if reason not in list(ExitReason):
                raise self.place.error(f"key 'exit_reason': {choices(reason, ExitReason)}")
            return {"exit_reason": reason}
        last = found.steps[-1]
        reply = last.get("reply", {})
        cut = "error" in reply or not is_own_stop(reply.get("finish_reason"))
        if found.closed and tools and not last.get("calls") and not cut:
            return inferred({"exit_reason": "agent_finished"})
        return {}

    def _outcome(self, key: str) -> str | None:
        value = self.values[key]
        word = str(value).lower() if isinstance(value, str | bool) else value
        if isinstance(word, int | float) and word in (0, 1):
            word = "success" if word else "failure"
        if not isinstance(word, str) or word not in _OUTCOMES:
            raise self.place.error(
                f"key {key!r} must be success, failure, unknown, true, false, 1 or 0 (a graded "
                f"result is a 'score'), found {shown(value)}"
            )
        return _OUTCOMES[word]

    def scale(self) -> dict[str, Any]:
        """Which way and on which scale the scores count."""
        way = self.text("direction")
        if way not in (None, "higher", "lower"):
            raise self.place.error(f"key 'direction': {choices(way, ('higher', 'lower'))}")
        scale = self.place.get_or_none(self.values, "score_scale", list)
        return ({"direction": way} if way else {}) | ({"score_scale": scale} if scale else {})
