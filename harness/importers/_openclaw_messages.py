"""Messages of an OpenClaw session as steps."""

from __future__ import annotations

import json
from typing import Any

from harness.importers._base import Place, shown
from harness.importers._messages import milliseconds, moment
from harness.importers._steps import Steps, arguments, joined, plain_model
from harness.importers._usage import usage_from

#: How a message of another session begins, which no person wrote.
_FROM_SESSION = "[Inter-session message]"
_USAGE = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
}
_FAILED = ("error", "aborted")


def steps_of(place: Place, messages: list[Any], ends: dict[tuple[str, str], list[int]]) -> Steps:
    """The steps of one run.

    Args:
        place: The session.
        messages: All its messages, in order.
        ends: Times of calls in ms by tool and arguments, in the order in which they ended; those
            that are used are taken out.

    Raises:
        ImportFormatError: A message has another shape, or none is the model's.
    """
    found = Steps()
    reader = _Reader(found, ends)
    for number, message in enumerate(messages, 1):
        reader.take(place.at(f"message {number}"), message)
    reader.close()
    if not found.steps:
        raise place.error("holds no reply of the model")
    return found


class _Reader:
    def __init__(self, found: Steps, ends: dict[tuple[str, str], list[int]]) -> None:
        self.found = found
        self._ends = ends
        self._since: int | None = None
        self._until: int | None = None

    def take(self, spot: Place, message: Any) -> None:
        role = spot.get(message, "role", str)
        stamp = message.get("timestamp")
        at = None if stamp is None else moment(spot, stamp)
        text = joined(message.get("content"))
        if role == "assistant":
            self.close()
            self._reply(spot, message)
            self._since = at
        elif role == "toolResult":
            self._result(spot, message, text)
            self._until = at
        elif role == "user" and not text.startswith(_FROM_SESSION):
            self.found.said(text)
        elif role in ("user", "custom"):
            self.found.nudged(text)
        elif role != "system":
            raise spot.error(
                "key 'role' must be user, assistant, toolResult, custom or system, "
                f"found {shown(role)}"
            )

    def close(self) -> None:
        """The newest step is whole: its reply took what its calls left of the time."""
        since, until = self._since, self._until
        self._since = self._until = None
        calls = self.found.steps[-1].get("calls", []) if self.found.steps else []
        times = [call["ms"] for call in calls if "ms" in call]
        if since is not None and until is not None and calls and len(times) == len(calls):
            reply = self.found.steps[-1].setdefault("reply", {})
            reply["ms"] = max(0, until - since - max(times))

    def _reply(self, spot: Place, message: dict[str, Any]) -> None:
        parts = message.get("content")
        parts = parts if isinstance(parts, list) else [{"type": "text", "text": joined(parts)}]
        text = joined([p for p in parts if isinstance(p, dict) and p.get("type") == "text"])
        reply: dict[str, Any] = {"text": text} if text else {}
        model = message.get("responseModel") or message.get("model")
        if isinstance(model, str):
            reply["model"] = plain_model(model)
        if reason := spot.get_or_none(message, "stopReason", str):
            reply["finish_reason"] = reason
        if reason in _FAILED:
            reply["error"] = spot.get_or_none(message, "errorMessage", str) or str(reason)
        usage = spot.get_or_none(message, "usage", dict) or {}
        known = {ours: usage[key] for key, ours in _USAGE.items() if usage.get(key) is not None}
        if known and (counts := usage_from(spot.at("usage"), known)):
            reply["usage"] = counts
        self.found.replied(reply)
        for part in parts:
            if isinstance(part, dict) and part.get("type") == "toolCall":
                call = {"tool": spot.get(part, "name", str), **arguments(part.get("arguments"))}
                self._time(call)
                self.found.called(spot.get_or_none(part, "id", str), call)

    def _time(self, call: dict[str, Any]) -> None:
        about = (call["tool"], json.dumps(call.get("args"), sort_keys=True, default=str))
        if times := self._ends.get(about):
            call["ms"] = times.pop(0)

    def _result(self, spot: Place, message: dict[str, Any], text: str) -> None:
        result: dict[str, Any] = {"result": text}
        details = message.get("details")
        about = details if isinstance(details, dict) else {}
        code = about.get("exitCode")
        if type(code) is int and abs(code) < 2**31:
            result["exit_code"] = code
        if isinstance(message.get("isError"), bool):
            result["ok"] = not message["isError"] and not result.get("exit_code")
        if about.get("durationMs") is not None:
            result["ms"] = milliseconds(spot, about, "durationMs")
        self.found.answered(spot.get_or_none(message, "toolCallId", str), result)
