"""What one span tells, and what the spans of a run tell, in the words of no source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["llm", "tool", "agent", "other"]


@dataclass(slots=True)
class Node:
    """One span, run or observation, in the words of no particular source.

    Attributes:
        id: Of the span, within its trace.
        parent: Of the span around it; ``None`` at the root.
        kind: A model call, a tool's execution, an agent's run, or anything else.
        name: As the source has it.
        start_ms: When it began, in ms since 1970.
        end_ms: When it ended.
        messages: Of a model call: what was asked, in the shapes ``_messages`` reads.
        reply: Of a model call: what was answered, likewise; empty where it is not recorded.
        model: Of a model call: who answered.
        finish_reason: Of a model call: as the provider gives it.
        usage: Of a model call: tokens as a scenario has them; ``None`` where unknown.
        offered: Of a model call or an agent's run: names of the tools that it could use.
        tool: Of an execution: the tool's name.
        args: Of an execution: its arguments.
        result: Of an execution: its result.
        call_id: Of an execution: the id of the call it carries out.
        error: What went wrong, where the source says that something did.
        text_in: Of an agent's run: what it was given.
        text_out: Of an agent's run: what it gave back.
    """

    id: str
    parent: str | None
    kind: Kind
    name: str
    start_ms: int | None = None
    end_ms: int | None = None
    messages: list[Any] = field(default_factory=list)
    reply: list[Any] = field(default_factory=list)
    model: str | None = None
    finish_reason: str | None = None
    usage: dict[str, int] | None = None
    offered: list[str] = field(default_factory=list)
    tool: str | None = None
    args: Any = None
    result: str | None = None
    call_id: str | None = None
    error: str | None = None
    text_in: str | None = None
    text_out: str | None = None


@dataclass(slots=True)
class Told:
    """What the spans of one run tell.

    Attributes:
        goal: The first user message, or what the agent was given.
        steps: As a scenario has them.
        tools: Names of the tools that were offered or called; ``None`` where none were seen.
        finished: The last model call was answered, called nothing and was not cut off.
        tags: ``sub-agents`` where several agents took part, ``content:none`` where what was said
            was not recorded.
    """

    goal: str
    steps: list[dict[str, Any]]
    tools: list[str] | None
    finished: bool
    tags: list[str] = field(default_factory=list)
