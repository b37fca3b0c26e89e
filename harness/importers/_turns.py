"""A transcript of chat messages as steps: one assistant message, one step."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from harness.errors import choices
from harness.importers._base import Place
from harness.importers._messages import Message, Result, message_from

_FAILED = re.compile(r"Error\b|Traceback \(most recent call last\)")


@dataclass(slots=True)
class Transcript:
    """Steps, with what each of them was made from.

    Attributes:
        closed: The last message is the assistant's; nothing came after it.
        spoken: The assistant's messages, one a step.
        all: Every message, and the index of its step for the assistant's.
    """

    goal: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    closed: bool = False
    spoken: list[Message] = field(default_factory=list)
    all: list[tuple[Message, list[dict[str, Any]]]] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A call that waits for its result."""

    call_id: str | None
    call: dict[str, Any]


def transcript(place: Place, messages: list[Any], goal: str | None) -> Transcript:
    """Read messages in order.

    Args:
        place: The run.
        messages: As the run has them.
        goal: The goal where the run names one; else it is the first user message.

    Raises:
        ImportFormatError: A message has another shape, or a result answers no open call.
    """
    found = Transcript()
    said: list[str] = []
    asked = goal
    begun = False
    # Ids recur within a run, so a result belongs to the newest turn.
    waiting: list[_Open] = []
    for number, raw in enumerate(messages, 1):
        spot = place.at(f"message {number}")
        message = message_from(spot, raw)
        answered = [_answer(spot, result, waiting) for result in message.results]
        found.all.append((message, answered))
        if message.role == "assistant":
            waiting = [_Open(name, call) for name, call in message.calls]
            found.steps.append(_step(message, said))
            found.spoken.append(message)
            said = []
        elif message.role == "user" and (message.text or not answered):
            if asked is None:
                asked = message.text
            if begun or found.steps:
                said.append(message.text)
            begun = True
        found.closed = message.role == "assistant"
    found.goal = asked or ""
    return found


def _step(message: Message, said: list[str]) -> dict[str, Any]:
    step: dict[str, Any] = {"user": "\n\n".join(said)} if said else {}
    reply = {**({"text": message.text} if message.text else {}), **message.reply}
    if reply:
        step["reply"] = reply
    if message.calls:
        step["calls"] = [call for _, call in message.calls]
    return step


def _answer(spot: Place, result: Result, waiting: list[_Open]) -> dict[str, Any]:
    """Give a result to its call: by id, else by name, else to the first that waits."""
    if result.call_id is not None:
        fits = [o for o in waiting if o.call_id == result.call_id]
        # Legacy calls have no id to be found by.
        fits = fits or [o for o in waiting if o.call_id is None]
    else:
        fits = [o for o in waiting if o.call["tool"] == result.tool] or waiting
    if not fits:
        names = (o.call_id or o.call["tool"] for o in waiting)
        raise spot.error(
            "a tool result must answer an open call of the turn before it; "
            f"{choices(result.call_id or result.tool or 'no id', names)}"
        )
    chosen = fits[0]
    waiting.remove(chosen)
    settle(chosen.call, result)
    return chosen.call


def settle(call: dict[str, Any], result: Result) -> None:
    """Write into a call what came back from it, and whether that is a success."""
    call["result"] = result.text
    if result.exit_code is not None:
        call["exit_code"] = result.exit_code
    good = not result.failed and not result.exit_code and not _FAILED.match(result.text)
    call["ok"] = call.get("ok", True) and good
