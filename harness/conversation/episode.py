"""One episode in the making, and one request of it that is on its way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.conversation.messages import text_of
from harness.openai_llm import Answer
from harness.recorded import counts
from harness.scenario import SCHEMA
from harness.trace import Reply

#: By which rule the calls of an episode were put together; a tag of it says so.
Rule = Literal["header", "prefix", "idle"]
Failed = Callable[[str, str], bool]
#: Finish reason of a reply that the agent stopped reading.
CUT = "cut"
#: Error of one that it did not even use.
UNUSED = "left before its end, and asked for again"


CallKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Framing:
    """What a request says beside its conversation, as hashes.

    Attributes:
        role: System prompt and tools, which tell one agent from another.
        whole: These, the model and the settings.
    """

    role: str = ""
    whole: str = ""


def keys(ids: Iterable[str]) -> list[CallKey]:
    """Ids with a number for each time that they occur; some servers give all calls the same."""
    counted: dict[str, int] = {}
    found = []
    for each in ids:
        counted[each] = counted.get(each, 0) + 1
        found.append((each, counted[each]))
    return found


@dataclass(slots=True, eq=False)
class Conversation:
    """One episode in the making.

    Attributes:
        title: The name that a header gave it.
        base: A recorded episode that it goes on with.
        seen: Digests of the messages of its last request.
        echo: Digest of the last reply, as the next request should repeat it.
        ended_ms: When the last reply was there.
        pending: Ids of the calls that the last reply asked for.
        open: Calls that no result has come for, with the number of their step.
        reply_id: Id of the last reply, by which a server that keeps conversations knows it.
        earlier_id: The same of the one before.
        changed: Steps from this one on have changed since they were last written.
        asked: Its last request, as the agent made it.
        cut: The agent stopped reading the last reply.
        framing: What its last request said beside its messages.
    """

    id: str
    goal: str
    rule: Rule = "prefix"
    title: str | None = None
    base: Mapping[str, Any] = field(default_factory=dict)
    tools: list[str] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    seen: tuple[str, ...] = ()
    echo: str | None = None
    ended_ms: int = 0
    pending: list[str] = field(default_factory=list)
    open: dict[CallKey, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    reply_id: str | None = None
    earlier_id: str | None = None
    in_flight: bool = False
    failed: bool = False
    changed: int = 0
    asked: Asked | None = None
    cut: bool = False
    framing: Framing = Framing()

    @property
    def ids(self) -> tuple[str | None, ...]:
        """The replies that a next request may go on from."""
        return (self.reply_id, self.earlier_id) if self.cut else (self.reply_id,)

    def head(self) -> dict[str, Any]:
        """The scenario without its steps."""
        if self.base:
            return {key: value for key, value in self.base.items() if key != "steps"}
        title = {} if self.title is None else {"title": self.title}
        tools = {} if self.tools is None else {"tools": self.tools}
        tags = ["recorded", f"grouped:{self.rule}"]
        return {"schema": SCHEMA, "id": self.id, **title, "goal": self.goal, "tags": tags, **tools}

    def add(self, answer: Answer, step: dict[str, Any]) -> None:
        """Take in a reply as the next step."""
        self.changed = min(self.changed, len(self.steps))
        self.pending = [call.id for call in answer.calls]
        for key, call in zip(keys(self.pending), step.get("calls", ()), strict=True):
            self.open[key] = (len(self.steps), call)
        self.steps.append(step)

    def disuse(self) -> None:
        """The last reply was of no use to the agent: its call failed."""
        reply = self.steps[-1]["reply"]
        reply.pop("finish_reason")
        reply["error"] = UNUSED
        self.changed = min(self.changed, len(self.steps) - 1)
        self.reply_id = self.earlier_id
        self.failed, self.echo = True, None

    def bring(self, results: list[Mapping[str, Any]], failed: Failed | None) -> None:
        """Hand results to the calls that asked for them.

        Args:
            results: Messages of tools.
            failed: Tells from tool and text that a call failed.
        """
        ids = [str(message.get("tool_call_id") or "") for message in results]
        for key, message in zip(keys(ids), results, strict=True):
            number, call = self.open.pop(key, (0, None))
            if call is not None:
                text, marked = text_of(message), message.get("is_error") is True
                call["result"] = text
                call.update({"ok": False} if marked else outcome(call["tool"], text, failed))
                self.changed = min(self.changed, number)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One request that is on its way.

    Attributes:
        user: What a person said before it.
        joined: It shares no history with the episode, so what it says is the framework's.
        results: The results that it brings.
        idle_ms: Time that passed before it without a call of the agent.
    """

    conversation: Conversation
    began_ms: int
    user: str | None = None
    joined: bool = False
    results: tuple[str, ...] = ()
    idle_ms: int = 0


def step_of(asked: Asked, answer: Answer, said: str, now_ms: int) -> dict[str, Any]:
    """A request and its reply as a step of a scenario.

    Args:
        asked: The request.
        answer: What came back.
        said: Key for what was said before it: ``user`` or ``nudge``.
        now_ms: When the last of it arrived.
    """
    step: dict[str, Any] = {}
    if asked.user:
        step["nudge" if asked.joined else said] = asked.user
    step["reply"] = _reply(answer.reply, now_ms - asked.began_ms)
    calls = [{"tool": c.tool, **({"args": c.args} if c.args else {})} for c in answer.calls]
    if calls:
        step["calls"] = calls
    if asked.idle_ms:
        step["idle_ms"] = asked.idle_ms
    return step


def outcome(tool: str, result: str, failed: Failed | None) -> dict[str, Any]:
    """Whether a call failed, where facts or the caller tell."""
    if failed is not None:
        return {"ok": False} if failed(tool, result) else {}
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


def _reply(reply: Reply, ms: int) -> dict[str, Any]:
    values = {
        "text": reply.text or None, "model": reply.model, "finish_reason": reply.finish_reason,
        "ms": max(0, ms), "request_hash": reply.request_hash, "error": reply.error,
        "usage": counts(reply.usage),
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}
