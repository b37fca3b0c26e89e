"""What the events of an Inspect sample measured, by message and by call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from harness.importers._base import Place
from harness.importers._messages import Result, moment
from harness.importers._steps import joined
from harness.importers._usage import beside

_BESIDE = ("attachment://", "tc://")


@dataclass(slots=True)
class Measured:
    """Events of one sample.

    Attributes:
        texts: What stands beside the messages, by its name in them.
        replies: Model events that no message has taken yet: the message's key, what was measured,
            and the calls that the model asked for.
        ran: Tool events, by the id of their call.
        times: Ms of a tool call, by its id.
        tools: Names of the tools that were offered.
    """

    texts: dict[str, str]
    replies: list[tuple[str, dict[str, Any], list[Any]]] = field(default_factory=list)
    ran: dict[str, tuple[Place, dict[str, Any]]] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)

    def whole(self, value: Any) -> Any:
        """A value with the texts that stand beside the messages put back."""
        if isinstance(value, str):
            return self.texts.get(value, value) if value.startswith(_BESIDE) else value
        if isinstance(value, list):
            return [self.whole(item) for item in value]
        if isinstance(value, dict):
            return {key: self.whole(item) for key, item in value.items()}
        return value

    def plain(self, spot: Place, message: Any) -> Any:
        """A message of Inspect in the shape of Chat Completions."""
        if not isinstance(message, dict):
            return message
        message = self.whole(message)
        asked = spot.get_or_none(message, "tool_calls", list) or []
        plain = {key: message[key] for key in ("role", "content", "model") if key in message}
        if message.get("role") == "tool":
            error = spot.get_or_none(message, "error", dict)
            plain |= {
                "tool_call_id": message.get("tool_call_id"),
                "name": message.get("function"),
                "content": message.get("content") or (error or {}).get("message") or "",
                **({"is_error": True} if error else {}),
            }
        if message.get("role") == "assistant":
            told, generated = self._reply(_key(message))
            plain |= told
            asked = [*asked, *self._taken_out(asked, generated)]
        calls = [
            {"id": spot.get_or_none(c, "id", str), "name": spot.get(c, "function", str),
             "arguments": c.get("arguments")}
            for c in asked
        ]  # fmt: skip
        return {**plain, **({"tool_calls": calls} if calls else {})}

    def _reply(self, key: str) -> tuple[dict[str, Any], list[Any]]:
        """What is known of a reply, and its calls; each event belongs to one message."""
        for index, (found, told, calls) in enumerate(self.replies):
            if found == key:
                del self.replies[: index + 1]
                return told, calls
        return {}, []

    def _taken_out(self, asked: list[Any], generated: list[Any]) -> list[Any]:
        """Calls that were carried out and that an agent took out of its messages afterwards.

        ``react`` does so with the call that submits.
        """
        known = {c.get("id") for c in asked if isinstance(c, dict)}
        return [
            c for c in generated
            if isinstance(c, dict) and c.get("id") not in known and c.get("id") in self.ran
        ]  # fmt: skip

    def answer(self, call_id: str | None) -> Result | None:
        """What the tool event of a call says came back; for calls without a message of theirs."""
        if call_id is None or call_id not in self.ran:
            return None
        spot, event = self.ran[call_id]
        error = spot.get_or_none(event, "error", dict)
        if event.get("pending") or (error is None and event.get("result") is None):
            return None
        value = self.whole(event.get("result"))
        text = joined(value) if isinstance(value, str | list | dict) else json.dumps(value)
        return Result(call_id, None, text or (error or {}).get("message") or "", error is not None)

    def call_ms(self, call_id: str | None) -> int | None:
        """How long a call took, without waiting."""
        return self.times.get(call_id) if call_id else None


def _key(message: dict[str, Any]) -> str:
    """What tells a message: its id, in older logs what it says."""
    if isinstance(message.get("id"), str):
        return str(message["id"])
    calls = [
        (c.get("function"), c.get("arguments"))
        for c in message.get("tool_calls") or ()
        if isinstance(c, dict)
    ]
    return json.dumps([message.get("content"), calls], sort_keys=True, default=str)


def measured(place: Place, sample: Any) -> Measured:
    """Read the events of a sample.

    Raises:
        ImportFormatError: An event has another shape.
    """
    older = place.get_or_none(sample, "transcript", dict) or {}
    texts = place.get_or_none(sample, "attachments", dict) or {}
    beside = place.get_or_none(older, "content", dict) or {}
    names = {f"attachment://{k}": v for k, v in texts.items() if isinstance(v, str)}
    names |= {f"tc://{k}": v for k, v in beside.items() if isinstance(v, str)}
    found = Measured(names)
    events = place.get_or_none(sample, "events", list)
    for number, event in enumerate(events or older.get("events") or (), 1):
        spot = place.at(f"event {number}")
        kind = spot.get(event, "event", str)
        if kind == "model":
            _model(spot, event, found)
        elif kind == "tool" and (call_id := spot.get_or_none(event, "id", str)):
            found.ran[call_id] = (spot, event)
            if (ms := _ms(spot, event)) is not None:
                found.times[call_id] = ms
    return found


def _model(spot: Place, event: dict[str, Any], found: Measured) -> None:
    for tool in spot.get_or_none(event, "tools", list) or ():
        if name := spot.get_or_none(tool, "name", str):
            found.tools.add(name)
    output = spot.get_or_none(event, "output", dict) or {}
    choice: Any = next(iter(spot.get_or_none(output, "choices", list) or ()), {})
    message = spot.get_or_none(choice, "message", dict)
    if message is None:
        return
    told: dict[str, Any] = {}
    if model := spot.get_or_none(output, "model", str):
        told["model"] = model
    if reason := spot.get_or_none(choice, "stop_reason", str):
        told["finish_reason"] = reason
    if (usage := spot.get_or_none(output, "usage", dict)) is not None:
        told["usage"] = _usage(spot.at("usage"), usage)
    ms = _ms(spot, {"working_time": output.get("time"), **_known(event)})
    if ms is not None:
        told["ms"] = ms
    message = found.whole(message)
    calls = spot.get_or_none(message, "tool_calls", list) or []
    found.replies.append((_key(message), told, calls))


def _known(event: dict[str, Any]) -> dict[str, Any]:
    keys = ("working_time", "completed", "timestamp")
    return {key: event[key] for key in keys if event.get(key) is not None}


def _ms(spot: Place, event: dict[str, Any]) -> int | None:
    """Working time in ms, else from the time stamps."""
    if event.get("working_time") is not None:
        return max(0, round(spot.number(event, "working_time") * 1000))
    if event.get("completed") is None or event.get("timestamp") is None:
        return None
    return max(0, moment(spot, event["completed"]) - moment(spot, event["timestamp"]))


def _usage(spot: Place, usage: dict[str, Any]) -> dict[str, int]:
    names = {
        "input": "input_tokens", "output": "output_tokens", "read": "input_tokens_cache_read",
        "written": "input_tokens_cache_write", "reasoning": "reasoning_tokens",
        "total": "total_tokens",
    }  # fmt: skip
    n = {k: spot.count(usage, v) if usage.get(v) is not None else 0 for k, v in names.items()}
    cached = n["read"] + n["written"]
    counts = (n["input"], cached, n["output"], n["reasoning"])
    cached_apart, reasoned_apart = beside(n["total"], counts, cached=cached > n["input"])
    split = {
        "input": n["input"] if cached_apart else n["input"] - cached,
        "cache_read": n["read"],
        "cache_write": n["written"],
        "output": n["output"] if reasoned_apart else n["output"] - n["reasoning"],
        "reasoning": n["reasoning"],
    }
    return {key: count for key, count in split.items() if count}
