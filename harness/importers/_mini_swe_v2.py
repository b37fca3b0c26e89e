"""Messages of mini-swe-agent 2.x: calls with ids, results with what was measured, an end."""

from __future__ import annotations

from typing import Any

from harness.errors import choices
from harness.importers._base import Place
from harness.importers._messages import moment
from harness.importers._mini_swe_calls import TOOL
from harness.importers._mini_swe_end import limits_reached, submits
from harness.importers._spread import shares
from harness.importers._steps import Steps, joined, plain_model
from harness.importers._usage import usage_from

FORMAT_2 = "mini-swe-agent-1.1"
#: An output that is longer is shown to the agent in part only.
_LONGEST = 10_000
_ROLES = ("assistant", "exit", "system", "tool", "user")


class V2:
    """One run, message by message.

    Attributes:
        found: The steps.
    """

    def __init__(self) -> None:
        self.found = Steps()
        self._open: list[tuple[str | None, dict[str, Any]]] = []
        self._asked: tuple[int | None, list[dict[str, Any]]] = (None, [])
        self._exit: dict[str, Any] = {}
        self._spread = False

    def take(self, spot: Place, message: Any) -> None:
        """Read the next message.

        Raises:
            ImportFormatError: It is no message of mini-swe-agent 2.x, or a part has another type.
        """
        extra = spot.get_or_none(message, "extra", dict) or {}
        stamp = extra.get("timestamp")
        at = None if stamp is None else moment(spot, stamp)
        # The Responses API has replies and results that are no messages.
        if message.get("object") == "response":
            self._reply(spot, message, extra, at)
            return
        if message.get("type") == "function_call_output":
            self._result(spot, message, extra, at)
            return
        role = spot.get(message, "role", str)
        if role not in _ROLES:
            raise spot.error(f"key 'role': {choices(role, _ROLES)}")
        if role == "assistant":
            self._reply(spot, message, extra, at)
        elif role == "exit":
            self._exit = extra
            self._submitted(joined(message.get("content")))
        elif role == "tool" or (role == "user" and "raw_output" in extra and self._open):
            self._result(spot, message, extra, at)
        elif extra.get("interrupt_type") == "FormatError":
            self._refused(spot, message, extra)
        elif role == "user":
            if extra.get("interrupt_type") == "UserNewTask":
                self._submitted(None)
            self._open = []
            self.found.said(joined(message.get("content")), at)

    @property
    def goal(self) -> str:
        """The first user message."""
        return self.found.goal or ""

    def tags(self) -> list[str]:
        """What stands in the steps as a share of a total."""
        return ["spread:ms"] if self._spread else []

    def ending(self, place: Place, about: dict[str, Any], status: str | None) -> dict[str, Any]:
        """What ``recorded`` says of how the run ended."""
        status = status or place.at("exit").get_or_none(self._exit, "exit_status", str)
        if status == "TimeExceeded":
            config = place.get_or_none(about, "config", dict) or {}
            agent = place.get_or_none(config, "agent", dict) or {}
            limit = agent.get("wall_time_limit_seconds")
            return {"exit_reason": "time_budget", **_seconds(limit)}
        if status == "LimitsExceeded":
            return limits_reached(place, about)
        if reason := _ENDINGS.get(status or ""):
            return {"exit_reason": reason}
        return {"exit_reason": "error"} if self._exit.get("exception_str") is not None else {}

    def _reply(
        self, spot: Place, message: dict[str, Any], extra: dict[str, Any], at: int | None
    ) -> None:
        response = spot.get_or_none(extra, "response", dict) or message
        text = joined(message.get("content")) or _said(spot, message)
        step = self.found.replied(_measured(spot, response, text), at)
        self._open = []
        for action in spot.get_or_none(extra, "actions", list) or ():
            command = spot.get(action, "command", str)
            call = {"tool": TOOL, "args": {"command": command}, "ok": False}
            self._open.append((spot.get_or_none(action, "tool_call_id", str), call))
        calls = [call for _, call in self._open]
        self._asked = (at, calls)
        if calls:
            step["calls"] = calls

    def _refused(self, spot: Place, message: dict[str, Any], extra: dict[str, Any]) -> None:
        """A reply whose format the agent refused; only its complaint is a message."""
        response = extra.get("response")
        response = response if isinstance(response, dict) else {}
        inner = _first(spot, response)
        text = joined(inner.get("content")) or _said(spot, response)
        asked = [*(spot.get_or_none(inner, "tool_calls", list) or ()),
                 *(spot.get_or_none(response, "output", list) or ())]  # fmt: skip
        raw = [a.get("function", a).get("arguments") for a in asked if isinstance(a, dict)]
        self.found.replied(_measured(spot, response, text))
        args = {"unparsed": [one for one in raw if isinstance(one, str)]}
        told = joined(message.get("content"))
        self.found.called(None, {"tool": TOOL, "args": args, "ok": False, "result": told})
        self._open = []
        # When it came is not told, so that the next reply has no beginning.
        self.found.at = None

    def _result(
        self, spot: Place, message: dict[str, Any], extra: dict[str, Any], at: int | None
    ) -> None:
        name = message.get("tool_call_id") or message.get("call_id")
        fits = [one for one in self._open if name is None or one[0] == name]
        if not fits:
            names = (one or "no id" for one, _ in self._open)
            raise spot.error(f"a result must answer an open call; {choices(str(name), names)}")
        self._open.remove(fits[0])
        seen = joined(message.get("content", message.get("output")))
        fits[0][1].update(_outcome(extra, seen))
        since, calls = self._asked
        self.found.passed(at)
        if at is not None and since is not None and at >= since and not self._open:
            for call, ms in zip(calls, shares(at - since, len(calls)), strict=True):
                call["ms"] = ms
            self._spread = self._spread or len(calls) > 1

    def _submitted(self, work: str | None) -> None:
        """The call that handed in the work was carried out, whatever its result says."""
        if work is not None and self._exit.get("exit_status") != "Submitted":
            return
        calls = self._asked[1]
        waiting = [call for call in calls if "result" not in call]
        likely = [call for call in calls if submits(call)] or waiting[-1:]
        if not likely:
            return
        handed_in = likely[0]
        handed_in.pop("exit_code", None)
        handed_in |= {"ok": True} if work is None else {"ok": True, "result": work}
        for call in calls[: calls.index(handed_in)]:
            if "result" not in call:
                del call["ok"]  # it was carried out, and nothing is told of it


_ENDINGS = {"Submitted": "agent_finished", "RepeatedFormatError": "repeated_error"}


def _seconds(limit: Any) -> dict[str, Any]:
    number = isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0
    return {"limits": {"time_budget_s": limit}} if number else {}


def _outcome(extra: dict[str, Any], seen: str) -> dict[str, Any]:
    """What came back: the output as it was, or what the agent saw of it where that is other."""
    raw, code, failed = (extra.get(k) for k in ("raw_output", "returncode", "exception_info"))
    whole = isinstance(raw, str) and len(raw) < _LONGEST and not failed
    known = type(code) is int and abs(code) < 2**31 and not failed
    return {
        "result": raw if whole else seen,
        "ok": known and code == 0,
        **({"exit_code": code} if known else {}),
    }


def _first(spot: Place, response: dict[str, Any]) -> dict[str, Any]:
    """The message within a response of Chat Completions."""
    options = spot.get_or_none(response, "choices", list) or [{}]
    return spot.get_or_none(options[0], "message", dict) or {}


def _said(spot: Place, response: dict[str, Any]) -> str:
    """The text of a response of the Responses API."""
    output = spot.get_or_none(response, "output", list) or ()
    spoken = [o for o in output if isinstance(o, dict) and o.get("type") == "message"]
    return "\n".join(filter(None, (joined(item.get("content")) for item in spoken)))


def _measured(spot: Place, response: dict[str, Any], text: str) -> dict[str, Any]:
    reply: dict[str, Any] = {"text": text} if text else {}
    if model := spot.get_or_none(response, "model", str):
        reply["model"] = plain_model(model)
    options = spot.get_or_none(response, "choices", list) or [{}]
    reason = spot.get_or_none(options[0], "finish_reason", str)
    if reason := reason or ("length" if response.get("status") == "incomplete" else None):
        reply["finish_reason"] = reason
    usage = spot.get_or_none(response, "usage", dict)
    if usage and (counts := usage_from(spot.at("usage"), usage)):
        reply["usage"] = counts
    return reply
