"""What the ways of asking a model have in common: replies to be said again, events."""

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
    """A recorded call, to be asked for again.

    Attributes:
        arguments: JSON text; of a custom tool any text.
        custom: The request says that the tool takes any text.
    """

    id: str
    tool: str
    arguments: str
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A recorded reply, to be said again.

    Attributes:
        id: The same at each replay.
        finish: Why it ended, in the words of chat completions.
        error: What went wrong in the middle of it.
        refused: The text is a refusal.
        stop_sequence: What ended it, where it was one.
    """

    id: str
    model: str
    text: str
    calls: tuple[SaidCall, ...]
    finish: str
    usage: Tokens | None
    error: str | None = None
    refused: bool = False
    stop_sequence: str | None = None

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
        reply: A reply as one of chat completions; ``left_out`` names what it has no place for.
        streamed: The events of a streamed reply, put together as one of chat completions.
        last: Begins the last event of a stream.
        body: A reply to be said again.
        events: The same as server-sent events.
        failure: The body of an error, from its status and its words.
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


#: What a recorded finish reason says behind its first word: ``stop: refusal``, ``stop_sequence:
#: Observation:``. A recording has no other place for what only few replies have.
_MORE = ": "
_REFUSAL = "refusal"
_STOP_SEQUENCE = "stop_sequence"


def finish_with_refusal(finish: str | None) -> str | None:
    """The finish reason that a refusal is recorded with; of one that did not end, the same."""
    return finish if finish in (None, "cut") else f"{finish}{_MORE}{_REFUSAL}"


def finish_by_sequence(sequence: str) -> str:
    """The finish reason of a reply that one of the request's stop sequences ended."""
    return f"{_STOP_SEQUENCE}{_MORE}{sequence}"


def said_from(step: Step, name: str, number: int, body: Mapping[str, Any]) -> Said:
    """A step of a recording as the reply to say again.

    Args:
        step: The step; its error, if any, is told by the caller.
        name: Id of the episode.
        number: Of the step, from 1.
        body: The request that is answered. It names the model, where the recording names none,
            and its custom tools.
    """
    custom = _custom_tools(body)
    calls = tuple(
        SaidCall(f"call_{digest('call', name, str(number), str(at))}", call.tool,
                 _text(call.args, "" if call.tool in custom else {}), call.tool in custom)
        for at, call in enumerate(step.calls)
    )  # fmt: skip
    finish, sequence, refused = _finish(step.reply.finish_reason)
    if finish in (None, "cut"):
        # Somebody stopped reading; it will do so again.
        finish = "tool_calls" if calls else "stop"
    model = step.reply.model or str(body.get("model") or "")
    return Said(
        digest("reply", name, str(number)), model, step.reply.text, calls, finish or "stop",
        step.reply.usage, refused=refused, stop_sequence=sequence,
    )  # fmt: skip


def _finish(recorded: str | None) -> tuple[str | None, str | None, bool]:
    """A recorded finish reason, the stop sequence, and whether the reply is a refusal."""
    first, _, more = (recorded or "").partition(_MORE)
    if first == _STOP_SEQUENCE and more:
        return "stop", more, False
    return (first, None, True) if more == _REFUSAL else (recorded, None, False)


def _custom_tools(body: Mapping[str, Any]) -> frozenset[str]:
    """Names of a request's tools that take any text, as chat completions and Responses write."""
    found = (tool for tool in body.get("tools") or () if isinstance(tool, Mapping))
    # Anthropic calls its ordinary tools custom; those have a schema.
    custom = (tool.get("custom") or tool for tool in found
              if tool.get("type") == "custom" and "input_schema" not in tool)  # fmt: skip
    return frozenset(str(tool.get("name")) for tool in custom if isinstance(tool, Mapping))


def _text(args: Any, nothing: Any) -> str:
    """Arguments as a model writes them; what was no JSON stays as it was."""
    args = nothing if args is None else args
    return args if isinstance(args, str) else as_json(args)


def message_of(text: str, calls: Iterable[SaidCall], *, refused: bool = False) -> dict[str, Any]:
    """An assistant's message of chat completions.

    Args:
        text: What it says.
        calls: What it asks for.
        refused: The text is a refusal.
    """
    made = [call_of(call) for call in calls]
    said = {"content": None, "refusal": text} if refused else {"content": text}
    return {"role": "assistant", **said, **({"tool_calls": made} if made else {})}


def call_of(call: SaidCall) -> dict[str, Any]:
    """A call as chat completions write it."""
    if call.custom:
        inner = {"name": call.tool, "input": call.arguments}
        return {"id": call.id, "type": "custom", "custom": inner}
    inner = {"name": call.tool, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": inner}


#: Names of what a recording has no place for, wherever a format may hold it.
REASONING = "reasoning"
ORDER = "order of texts and calls"


def order_in(kinds: Iterable[str]) -> Iterator[str]:
    """What is left out where text is in several parts, or behind a call: a recording has it first.

    Args:
        kinds: Of the parts of a reply in order: ``text`` or ``call``.
    """
    if "text" in list(kinds)[1:]:
        yield ORDER


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


def as_json(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
