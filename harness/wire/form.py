"""What the ways of asking a model have in common: replies to be said again, events, errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.fingerprint import digest
from harness.scenario import Step, Tokens


@dataclass(frozen=True, slots=True)
class SaidCall:
    """A recorded call, to be asked for again; ``arguments`` as JSON text."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """A recorded reply, to be said again.

    Attributes:
        id: The same at each replay.
        finish: Why it ended, in the words of chat completions.
        error: What went wrong in the middle of it.
    """

    id: str
    model: str
    text: str
    calls: tuple[SaidCall, ...]
    finish: str
    usage: Tokens | None
    error: str | None = None

    def broken(self, error: str) -> Said:
        """The same reply, with an error in the middle of it."""
        return replace(self, error=error)


@dataclass(frozen=True, slots=True)
class Format:
    """One way of asking a model; all are read as chat completions.

    Attributes:
        name: What people call it.
        route: End of its path.
        request: A request as one of chat completions.
        reply: A reply as one of chat completions.
        streamed: The events of a streamed reply, put together as one of chat completions.
        last: Begins the last event of a stream.
        body: A reply to be said again.
        events: The same as server-sent events.
        failure: The body of an error.
    """

    name: str
    route: str
    request: Callable[[Mapping[str, Any]], dict[str, Any]]
    reply: Callable[[Mapping[str, Any]], dict[str, Any]]
    streamed: Callable[[Iterable[Mapping[str, Any]]], dict[str, Any]]
    last: re.Pattern[bytes]
    body: Callable[[Said], dict[str, Any]]
    events: Callable[[Said, Mapping[str, Any]], Iterator[bytes]]
    failure: Callable[[int, str], dict[str, Any]]


def said_from(step: Step, name: str, number: int, model: str) -> Said:
    """A step of a recording as the reply to say again.

    Args:
        step: The step; its error, if any, is told by the caller.
        name: Id of the episode.
        number: Of the step, from 1.
        model: The model that is asked for, where the recording names none.
    """
    calls = tuple(
        SaidCall(f"call_{digest('call', name, str(number), str(at))}", call.tool, _text(call.args))
        for at, call in enumerate(step.calls)
    )
    finish = step.reply.finish_reason
    if finish in (None, "cut"):
        # Somebody stopped reading; it will do so again.
        finish = "tool_calls" if calls else "stop"
    reply_id = digest("reply", name, str(number))
    return Said(reply_id, step.reply.model or model, step.reply.text, calls, finish or "stop",
                step.reply.usage)  # fmt: skip


def _text(args: Any) -> str:
    """Arguments as a model writes them; what was no JSON stays as it was."""
    return args if isinstance(args, str) else as_json({} if args is None else args)


def message_of(text: str, calls: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """An assistant's message of chat completions.

    Args:
        text: What it says.
        calls: Each with ``id``, ``name`` and ``arguments``.
    """
    made = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def begins(*kinds: str) -> re.Pattern[bytes]:
    """Matches where an event of one of these types begins, with or without its name."""
    names = "|".join(map(re.escape, kinds))
    return re.compile(
        rf'(?m)^(?:event: ?(?:{names})\r?$|data: ?\{{"type": ?"(?:{names})")'.encode()
    )


def event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {as_json(data)}\n\n".encode()


def events_in(body: str) -> Iterator[dict[str, Any]]:
    """The JSON of server-sent events; a torn last one is left out."""
    for line in body.split("\n"):
        if not line.startswith("data:"):
            continue
        try:
            found = json.loads(line[5:])
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def error_in(data: Mapping[str, Any]) -> str | None:
    """The error that a reply holds although its status was good."""
    error = data.get("error")
    return None if not error else error_words(as_json({"error": error}))


def error_words(body: str) -> str:
    """What an error body says, in words where it has some."""
    try:
        error = json.loads(body)
        error = error.get("error", error)
        found = error.get("message") if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        found = None
    return str(found or body)[:2000]


def as_json(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
