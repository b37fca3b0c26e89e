"""Which model calls belong together: chat completions as the steps of episodes.

The rule. A request goes on with an episode

1. whose last request's messages begin its own (system messages left aside: work orders change
   them). Of several: one whose reply it repeats, then the longest, then the newest. A request
   that adds nothing goes on only after a failure, as a retry; after a reply it is a new episode;
2. else, where the agent has shortened its history: whose last reply asked for a call of which it
   brings the result, if the call's id tells one episode from all others.

Else it begins an episode, whose goal is its first user message. Its tool messages are the results
of the last step's calls; its user messages after the last reply are what a person said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from harness.fingerprint import canonical, digest
from harness.openai_llm import Answer, calls_from, counts
from harness.scenario import SCHEMA
from harness.trace import Reply

_SYSTEM = ("system", "developer")


@dataclass(slots=True)
class Conversation:
    """One episode in the making.

    Attributes:
        seen: Digests of the messages of its last request.
        echo: Digest of the last reply, as the next request should repeat it.
        ended_ms: When the last reply was there.
        pending: Ids of the calls that the last reply asked for.
        changed: Steps from this one on have changed since they were last written.
        asked: Its last request, as the agent made it.
    """

    id: str
    goal: str
    tools: list[str] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    seen: tuple[str, ...] = ()
    echo: str | None = None
    ended_ms: int = 0
    pending: list[str] = field(default_factory=list)
    in_flight: bool = False
    failed: bool = False
    changed: int = 0
    asked: Asked | None = None

    def head(self) -> dict[str, Any]:
        """The scenario without its steps."""
        tools = {} if self.tools is None else {"tools": self.tools}
        return {"schema": SCHEMA, "id": self.id, "goal": self.goal, "tags": ["recorded"], **tools}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that is on its way.

    Attributes:
        user: What a person said before it.
        idle_ms: Time that passed before it without a call of the agent.
    """

    conversation: Conversation
    began_ms: int
    user: str | None = None
    idle_ms: int = 0


class Conversations:
    """Sorts requests into episodes.

    Args:
        name: First part of the episodes' ids.
        said: Whether a later user message is a person's (``user``) or a framework's (``nudge``).
        failed: Tells from tool and result that a call failed; left out: only results that are
            JSON objects with ``exit_code``, ``is_error`` or ``isError`` tell.
    """

    def __init__(
        self,
        name: str,
        *,
        said: Literal["user", "nudge"] = "user",
        failed: Callable[[str, str], bool] | None = None,
    ) -> None:
        self._name = name
        self._said = said
        self._failed = failed
        self.all: list[Conversation] = []

    def begin(self, body: Mapping[str, Any], *, retry: bool, now_ms: int) -> Asked:
        """Find where a request belongs, and take the results that it brings.

        Args:
            body: The request as plain data.
            retry: The client repeats a request by itself; the agent does not know.
            now_ms: When it was sent.
        """
        messages = [m for m in body.get("messages") or () if isinstance(m, Mapping)]
        talk = [m for m in messages if m.get("role") not in _SYSTEM] or messages
        seen = tuple(_print(message) for message in talk)
        found = self._find(seen, talk)
        if found is None:
            goal = next((_text(m) for m in talk if m.get("role") == "user"), "")
            found = Conversation(f"{self._name}-{len(self.all) + 1:04}", goal)
            self.all.append(found)
        again = found.failed and found.seen == seen
        asked = Asked(found, now_ms)
        if again and retry and found.asked is not None:
            # Seen from the agent it is one call that took longer.
            found.steps.pop()
            asked = found.asked
        elif again:
            asked = replace(asked, idle_ms=max(0, now_ms - found.ended_ms))
        else:
            asked = self._arrive(found, talk, asked)
        found.seen, found.asked, found.in_flight = seen, asked, True
        names = [_tool_name(tool) for tool in body.get("tools") or ()]
        if names:
            found.tools = list(dict.fromkeys([*(found.tools or ()), *filter(None, names)]))
        return asked

    def finish(self, asked: Asked, answer: Answer, *, now_ms: int) -> None:
        """Take in what came back; it becomes the episode's next step.

        Args:
            asked: What ``begin`` returned.
            answer: The reply or the error.
            now_ms: When the last of it arrived.
        """
        found, reply = asked.conversation, answer.reply
        calls = [{"tool": c.tool, **({"args": c.args} if c.args else {})} for c in answer.calls]
        step: dict[str, Any] = {}
        if asked.user:
            step[self._said] = asked.user
        step["reply"] = _reply(reply, now_ms - asked.began_ms)
        if calls:
            step["calls"] = calls
        if asked.idle_ms:
            step["idle_ms"] = asked.idle_ms
        found.changed = min(found.changed, len(found.steps))
        found.steps.append(step)
        found.pending = [call.id for call in answer.calls]
        found.echo = None if answer.message is None else _print(answer.message)
        found.failed = reply.error is not None
        found.ended_ms, found.in_flight = now_ms, False

    def _find(
        self, seen: tuple[str, ...], talk: Sequence[Mapping[str, Any]]
    ) -> Conversation | None:
        best: tuple[tuple[bool, int], Conversation] | None = None
        for each in reversed(self.all):
            length = len(each.seen)
            if each.in_flight or seen[:length] != each.seen:
                continue
            if len(seen) == length and not each.failed:
                continue
            repeats = each.failed or seen[length] == each.echo
            if best is None or (repeats, length) > best[0]:
                best = ((repeats, length), each)
        if best is not None:
            return best[1]
        brought = {m.get("tool_call_id") for m in _newest(talk)} - {None, ""}
        owners = [c for c in self.all if brought & set(c.pending) and not c.in_flight]
        return owners[0] if len(owners) == 1 else None

    def _arrive(
        self, found: Conversation, talk: Sequence[Mapping[str, Any]], asked: Asked
    ) -> Asked:
        """Hand the results that a request brings to the last step's calls."""
        newest = _newest(talk)
        said = "\n\n".join(_text(m) for m in newest if m.get("role") == "user").strip()
        if not found.steps:
            # The first message is the goal; a history before it is another episode's.
            history = any(m.get("role") == "assistant" for m in talk)
            return replace(asked, user=said if history else None)
        gap = max(0, asked.began_ms - found.ended_ms)
        calls = found.steps[-1].get("calls") or []
        results = {m.get("tool_call_id"): _text(m) for m in newest if m.get("role") == "tool"}
        for call, call_id in zip(calls, found.pending, strict=False):
            if call_id in results:
                call["result"] = results[call_id]
                call.update(self._outcome(call["tool"], results[call_id]))
            # Run one after another or at once: the batch took the whole gap.
            if not said:
                call["ms"] = gap
        found.changed = min(found.changed, len(found.steps) - 1)
        return replace(asked, user=said or None, idle_ms=0 if calls and not said else gap)

    def _outcome(self, tool: str, result: str) -> dict[str, Any]:
        if self._failed is not None:
            return {"ok": False} if self._failed(tool, result) else {}
        if not result.lstrip().startswith("{"):
            return {}
        try:
            data = json.loads(result)
        except (ValueError, RecursionError):
            return {}
        code = data.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 2**31:
            return {"exit_code": code}
        return {"ok": False} if data.get("is_error") is True or data.get("isError") is True else {}


def _newest(talk: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages after the last reply."""
    at = max((n for n, m in enumerate(talk, 1) if m.get("role") == "assistant"), default=0)
    return list(talk[at:])


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = (p for p in content if isinstance(p, Mapping))
        return "\n".join(str(p.get("text", f"[{p.get('type', 'part')}]")) for p in parts)
    return content if isinstance(content, str) else ""


def _print(message: Mapping[str, Any]) -> str:
    """What makes two messages the same, however an agent writes them down again."""
    calls = [f"{c.id} {c.tool} {canonical(c.args)}" for c in calls_from(message)]
    return digest(
        str(message.get("role", "assistant")),
        _text(message).strip(),
        str(message.get("tool_call_id") or ""),
        *calls,
    )


def _tool_name(tool: Any) -> str | None:
    if not isinstance(tool, Mapping):
        return None
    inner = tool.get("function") or tool.get("custom") or tool
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else None


def _reply(reply: Reply, ms: int) -> dict[str, Any]:
    values = {
        "text": reply.text or None, "model": reply.model, "finish_reason": reply.finish_reason,
        "ms": max(0, ms), "error": reply.error, "usage": counts(reply.usage),
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}
