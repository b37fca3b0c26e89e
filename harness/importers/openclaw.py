"""OpenClaw: the JSON Lines its telemetry plugin writes.

Every line is an event (``message.in``, ``agent.start``, ``tool.start``, ``tool.end``,
``agent.end``, ...). The messages of a session stand in its ``agent.start`` and ``agent.end``
events, each time all that it had so far; together they are one run a ``sessionKey``. Where a later
event shares no message with those before it, the session was reset and a new run begins.

A session whose messages are in no event (a sub-agent that had not ended) is known by its tool calls
only: one call a step, without the replies (tag ``partial:calls``). Calls under a key that no agent
has (a channel's) belong to a session that is known otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.fingerprint import digest
from harness.importers._base import Place, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._messages import milliseconds
from harness.importers._openclaw_messages import steps_of
from harness.importers._reading import json_lines
from harness.importers._steps import Steps, arguments, recording

NAME = "openclaw"
TITLE = "OpenClaw telemetry"
LACKS: tuple[str, ...] = (
    "scores and outcome",
    "what a session did after the last event that has its messages",
    "replies, results and tokens of a session whose messages are in no event (tag partial:calls)",
    "tools that were never called",
    "time of a reply that made no call, or whose calls were not timed",
    "a person's pauses",
    "reasoning tokens (they are within the output)",
    "thinking (not copied)",
)
TOKENS = (
    "As usage has them, which do not overlap: input, output, cacheRead, cacheWrite. Usage of a "
    "failed reply, which is all zeros, is unknown."
)
ITERATION = (
    "One assistant message with the toolResult messages that answer it. Messages are stamped when "
    "they begin, so a reply took until its last result, less its longest call; a call took the "
    "durationMs of its tool.end (found by name and arguments) or of its result. A call failed "
    "where its result says isError, or its exitCode is not 0. What another session or the program "
    "itself said is a nudge."
)
EXIT_REASON = (
    "Explicit: a session's last agent.end with success whose last message stopped by itself is "
    "agent_finished; without success it is error. Without an agent.end unknown."
)

_AGENT = ("agent.start", "agent.end")
_TOOL = ("tool.start", "tool.end")
_EVENTS = (*_AGENT, *_TOOL, "message.in", "message.out", "message.sending")


def fits(head: Head) -> bool:
    """JSON Lines whose type is one of the telemetry's events."""
    return head.kind == "lines" and head.get("type") in _EVENTS


class _Session:
    """What the events say of one ``sessionKey``."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.place: Place | None = None
        self.prompt: str | None = None
        #: One list of messages a run, by what tells them apart.
        self.runs: list[dict[tuple[str, int], Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.end: dict[str, Any] | None = None

    def take(self, messages: list[Any]) -> None:
        """Add those messages of an event that are not known yet."""
        seen: dict[str, int] = {}
        named: dict[tuple[str, int], Any] = {}
        for message in messages:
            name = _name(message)
            seen[name] = seen.get(name, 0) + 1
            named[name, seen[name]] = message
        if not named:
            return
        if not self.runs or not any(key in self.runs[-1] for key in named):
            self.runs.append({})
        for key, message in named.items():
            self.runs[-1].setdefault(key, message)


def _name(message: Any) -> str:
    """What tells a message from others, in whatever shape an event has it."""
    if isinstance(message, dict) and message.get("timestamp") is not None:
        message = [message.get(key) for key in ("role", "timestamp", "toolCallId")]
    return digest("message", json.dumps(message, sort_keys=True, default=str))


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each run of each session, in the order in which they began.

    Raises:
        ImportFormatError: The file is no telemetry, or tells of no agent's run.
    """
    sessions: dict[str, _Session] = {}
    ends: dict[tuple[str, str], list[int]] = {}
    for place, event in json_lines(path, intake):
        with intake.record(place, event):
            _take(place, event, sessions, ends)
    seen: dict[str, int] = {}
    known = [session for session in sessions.values() if session.place is not None]
    if not any(session.runs or session.calls for session in known):
        raise ImportFormatError(
            f"{path}: holds no run of an agent (agent.start or agent.end with messages, or tools "
            "that one of its sessions called)"
        )
    for session in known:
        place = Place(path, f"session {session.key}")
        for number, run in enumerate(session.runs, 1):
            messages = list(run.values())
            last = number == len(session.runs)
            with intake.record(place, messages):
                found = steps_of(place, messages, ends)
                recorded = _ending(place, session.end, messages) if last else {}
                yield _recording(path, session.key, found, recorded, seen)
        if not session.runs and session.calls:
            with intake.record(place, session.calls):
                found = Steps(session.prompt)
                for call in session.calls:
                    found.replied({})
                    found.called(None, call)
                recorded = _ending(place, session.end, [])
                yield _recording(path, session.key, found, recorded, seen, partial=True)


def _take(
    place: Place,
    event: Any,
    sessions: dict[str, _Session],
    ends: dict[tuple[str, str], list[int]],
) -> None:
    kind = place.get(event, "type", str)
    if kind not in (*_AGENT, *_TOOL):
        return
    key = place.get(event, "sessionKey", str)
    session = sessions.setdefault(key, _Session(key))
    if kind in _AGENT:
        session.place = session.place or place
        session.prompt = session.prompt or place.get_or_none(event, "prompt", str)
        session.take(place.get_or_none(event, "messages", list) or [])
        # An agent that starts again has not ended.
        session.end = event if kind == "agent.end" else None
        return
    tool = place.get(event, "toolName", str)
    if kind == "tool.start":
        call = {"tool": tool, **arguments(event.get("params"))}
        session.calls.append(call)
        return
    ms = milliseconds(place, event, "durationMs") if event.get("durationMs") is not None else None
    waiting = (c for c in session.calls if c["tool"] == tool and not c.keys() & {"ms", "ok"})
    call = next(waiting, {"tool": tool})
    if isinstance(event.get("success"), bool):
        call["ok"] = event["success"] and call.get("ok", True)
    if ms is not None:
        call["ms"] = ms
        about = (tool, json.dumps(call.get("args"), sort_keys=True, default=str))
        ends.setdefault(about, []).append(ms)


def _ending(place: Place, end: dict[str, Any] | None, messages: list[Any]) -> dict[str, Any]:
    good = None if end is None else place.get_or_none(end, "success", bool)
    if good is False:
        return {"exit_reason": "error"}
    last = messages[-1] if messages and isinstance(messages[-1], dict) else {}
    own = last.get("role") == "assistant" and last.get("stopReason") == "stop"
    return {"exit_reason": "agent_finished"} if good and own else {}


def _recording(
    path: Path,
    key: str,
    found: Steps,
    recorded: dict[str, Any],
    seen: dict[str, int],
    *,
    partial: bool = False,
) -> dict[str, Any]:
    tags = [NAME, *(["sub-agent"] if ":subagent:" in key else [])]
    return recording(
        unique(f"{NAME}/{slug(path.name.split('.')[0])}/{slug(key)}", seen),
        f"OpenClaw session {key}",
        f"{NAME}:{path.name}",
        found,
        recorded,
        tags=[*tags, *(["partial:calls"] if partial else [])],
    )
