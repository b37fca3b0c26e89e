"""One thread of a Claude Code session: its lines as steps."""

from __future__ import annotations

import re
from typing import Any

from harness.importers._base import Place, inferred
from harness.importers._claude_stream import Streamed, ending_of, even_out, plain
from harness.importers._messages import moment
from harness.importers._steps import Steps, arguments, joined
from harness.importers._usage import usage_from

#: A model by this name is the program itself.
_SYNTHETIC = "<synthetic>"
_INTERRUPTED = "[Request interrupted by user"
#: What the program writes where a person types; none of it was said to the model by a person.
_LOCAL = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")
_BASH = ("<bash-stdout>", "<bash-stderr>")
_NOTICES = ("<system-reminder>", "<task-notification>", "<teammate-message")
_COMMAND = re.compile(r"<command-name>([^<]*)</command-name>")
_ARGS = re.compile(r"<command-args>([^<]*)</command-args>")
#: Some versions write null for whole messages and for ones that broke off, so null tells nothing.
_OWN_STOP = ("end_turn", "stop_sequence")
#: Calls of sub-agents; one that works in the background leaves no lines of its own.
_DELEGATES = frozenset({"Agent", "Task"})


class Thread:
    """Takes the lines of one thread in order.

    Attributes:
        found: The steps.
        began: Where the first line is.
        lines: The lines as they are, also those that came again and were left out.
        nested: It is a sub-agent's.
        session: Id of the session.
        agent: Id of the sub-agent, where the lines have one.
        slug: Name by which sessions that belong together are known.
        tools: What the agent was offered, where the lines say it.
        delegated: Sub-agents were at work since the last result, whose tokens it may contain.
        spread: Some tokens stand in the steps as a share of a result's total.
    """

    def __init__(self, began: Place, *, nested: bool) -> None:
        self.found = Steps()
        self.began = began
        self.lines: list[Any] = []
        self.nested = nested
        self.session: str | None = None
        self.agent: str | None = None
        self.slug: str | None = None
        self.tools: list[str] | None = None
        self.delegated = False
        self.spread = False
        self._steps: dict[str, dict[str, Any]] = {}
        self._asked: dict[str, int | None] = {}
        self._summary: str | None = None
        self._command: str | None = None
        self._last: dict[str, Any] = {}
        self._stop: str | None = None
        self._result: dict[str, Any] = {}
        self._streamed: dict[str, Streamed] = {}
        self._streaming: str | None = None
        self._counted = 0

    def take(self, place: Place, line: dict[str, Any]) -> None:
        """Read the next line.

        Raises:
            ImportFormatError: A part of it has another type than it has in Claude Code.
        """
        self.lines.append(line)
        self.session = self.session or _text(line, "sessionId") or _text(line, "session_id")
        self.agent = self.agent or _text(line, "agentId") or _text(line, "parent_tool_use_id")
        self.slug = self.slug or _text(line, "slug")
        stamp = line.get("timestamp")
        at = None if stamp is None else moment(place, stamp)
        kind = line["type"]
        if kind == "assistant":
            self._model(place, line, at)
        elif kind == "user":
            self._user(place, line, at)
        elif kind == "stream_event":
            self._stream(place, line)
        elif kind == "result":
            self._end(place, line)
        elif kind == "system" and line.get("subtype") == "init":
            tools = place.get_or_none(line, "tools", list) or []
            self.tools = [tool for tool in tools if isinstance(tool, str)] or None

    def ending(self) -> dict[str, Any]:
        """What ``recorded`` says of how the thread ended; empty where nothing tells."""
        if self.found.goal is None:
            self.found.goal = self._summary
        if self._result or not self._last:
            return self._result
        if self._last.get("isApiErrorMessage") is True:
            return inferred({"exit_reason": "error"})
        if self._stop in _OWN_STOP and not self.found.steps[-1].get("calls"):
            return inferred({"exit_reason": "agent_finished"})
        return {}

    def _model(self, place: Place, line: dict[str, Any], at: int | None) -> None:
        message = place.get(line, "message", dict)
        failed = line.get("isApiErrorMessage") is True
        text = joined([part for part in _parts(place, message) if part.get("type") == "text"])
        model = place.get_or_none(message, "model", str)
        if model == _SYNTHETIC and not failed:
            return
        self._command, self._last, self._result = None, line, {}
        name = _text(message, "id") or _text(line, "uuid")
        step = self._steps.get(name or "")
        if step is None or name is None:
            step = self._begin(name, at)
        reply = step.setdefault("reply", {})
        if failed:
            reply["error"] = text or "API error"
            return
        if text:
            reply["text"] = f"{reply['text']}\n{text}" if "text" in reply else text
        if model:
            reply["model"] = model
        streamed = self._streamed.get(name or "")
        usage = place.get_or_none(message, "usage", dict)
        if usage and (counts := usage_from(place.at("usage"), plain(usage))):
            reply["usage"] = counts if streamed is None else {**counts, **streamed.usage}
        self._stop = place.get_or_none(message, "stop_reason", str)
        self._stop = self._stop or (streamed.stop if streamed else None)
        if self._stop:
            reply["finish_reason"] = self._stop
        since = self._asked.get(name or "")
        if at is not None and since is not None and at >= since:
            reply["ms"] = at - since
        for part in _parts(place, message):
            if part.get("type") in ("tool_use", "server_tool_use"):
                call = {"tool": place.get(part, "name", str), **arguments(part.get("input"))}
                step.setdefault("calls", []).append(call)
                self.found.waits(place.get_or_none(part, "id", str), call, at)
            elif str(part.get("type")).endswith("_tool_result"):
                self._answer(place, part, line, at)
        self.found.passed(at)

    def _begin(self, name: str | None, at: int | None) -> dict[str, Any]:
        since = self.found.at
        step = self.found.replied({}, at)
        if name is not None:
            self._steps[name] = step
            self._asked[name] = since
        return step

    def _user(self, place: Place, line: dict[str, Any], at: int | None) -> None:
        message = place.get(line, "message", dict)
        parts = _parts(place, message)
        for part in parts:
            if part.get("type") == "tool_result":
                self._answer(place, part, line, at)
        text = joined([part for part in parts if part.get("type") != "tool_result"]).strip()
        if not text:
            return
        self._last, self._result = {}, {}
        if line.get("isCompactSummary") is True:
            self._summary = self._summary or text
            self.found.nudged(text, at)
        elif text.startswith(_INTERRUPTED):
            self.found.interrupted(at)
        elif text.startswith(_LOCAL):
            # The command before it was for the program and never reached the model.
            self._command = None
        elif line.get("isMeta") is True or text.startswith((*_NOTICES, *_BASH)):
            self._flush(at)
            self.found.nudged(text, at)
        elif command := _COMMAND.search(text):
            self._flush(at)
            args = _ARGS.search(text)
            self._command = f"{command[1]} {args[1] if args else ''}".strip()
        else:
            self._flush(at)
            self.found.said(text, at)

    def _flush(self, at: int | None) -> None:
        """A command that brought no output of the program is something a person said."""
        if self._command is not None:
            self.found.said(self._command, at)
        self._command = None

    def _answer(
        self, place: Place, part: dict[str, Any], line: dict[str, Any], at: int | None
    ) -> None:
        result: dict[str, Any] = {"result": joined(part.get("content"))}
        if isinstance(part.get("is_error"), bool):
            result["ok"] = not part["is_error"]
        about = line.get("toolUseResult")
        code = about.get("exitCode") if isinstance(about, dict) else None
        if type(code) is int and abs(code) < 2**31:
            result["exit_code"] = code
        self.found.answered(place.get_or_none(part, "tool_use_id", str), result, at)

    def _stream(self, place: Place, line: dict[str, Any]) -> None:
        """A part of a message (``--include-partial-messages``): its last one has exact counts."""
        event = place.get(line, "event", dict)
        kind = event.get("type")
        if kind == "message_start":
            self._streaming = _text(place.get(event, "message", dict), "id")
        elif kind == "message_delta" and self._streaming is not None:
            streamed = self._streamed.setdefault(self._streaming, Streamed())
            streamed.take(place, event)
            if (step := self._steps.get(self._streaming)) is not None:
                self._stop = streamed.write(step["reply"]) or self._stop

    def _end(self, place: Place, line: dict[str, Any]) -> None:
        self._result = ending_of(place, line)
        steps, self._counted = self.found.steps[self._counted :], len(self.found.steps)
        asked = {call["tool"] for step in steps for call in step.get("calls", ())}
        if not self.delegated and not asked & _DELEGATES:
            self.spread |= even_out(place, line, steps)
        self.delegated = False


def _text(record: dict[str, Any], key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) and value else None


def _parts(place: Place, message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = place.get_or_none(message, "content", list) or []
    return [part for part in parts if isinstance(part, dict)]
