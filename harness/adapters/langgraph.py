"""LangGraph: a guard as the hub of a graph's loop.

::

    graph.add_node("agent", call_model)
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    add_guard(graph, guard)             # instead of the edges between them

Every step comes back to the guard's node, which reads ``state["messages"]`` and sends the run to
the agent, to the tools or to the end. Nothing is raised: ``guard.decision`` says how it ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from harness.adapters._loop import Loop, tokens
from harness.errors import HarnessError
from harness.live import LoopGuard

Way = Literal["agent", "tools", "end"]


def add_guard(
    graph: StateGraph[Any, Any, Any, Any],
    guard: LoopGuard,
    *,
    agent: str = "agent",
    tools: str = "tools",
    name: str = "guard",
) -> None:
    """Put a guard between the agent and its tools: adds a node and all edges of the loop.

    Args:
        graph: Has the two nodes, and no edges between them; its state has ``messages`` with
            LangGraph's ``add_messages``.
        guard: Guards this one conversation.
        agent: Name of the node that asks the model.
        tools: Name of the node that runs tools. ``ToolNode`` only reports a failed call, and with
            it a guard sees one, with ``handle_tool_errors=True``.
        name: Name of the guard's node.
    """
    node = GuardNode(guard, agent=agent, tools=tools)
    graph.add_node(name, node, destinations=(agent, tools, END))
    for source in (START, agent, tools):
        graph.add_edge(source, name)


class GuardNode:
    """The node by itself, for graphs with edges of their own: all ways lead back to it.

    Args:
        guard: Guards this one conversation.
        agent: Where it sends what the model has to answer.
        tools: Where it sends calls that may run.
        end: Where it sends a loop that is over.
    """

    def __init__(
        self, guard: LoopGuard, *, agent: str = "agent", tools: str = "tools", end: str = END
    ) -> None:
        self._talk = Conversation(guard)
        self._ways: dict[Way, str] = {"agent": agent, "tools": tools, "end": end}

    def __call__(self, state: Any) -> Command[Any]:
        """Look at what is new, and say where the run goes.

        Raises:
            HarnessError: The loop ended for good before, or an observed value breaks a rule.
        """
        messages = state["messages"]
        if not isinstance(messages[-1], AIMessage):
            said, way = self._talk.heard(messages)
        else:
            said, way = self._talk.replied(messages)
            if way == "agent":
                more, way = self._talk.heard([*messages, *said])
                said = [*said, *more]
        return Command(update={"messages": said}, goto=self._ways[way])


class Conversation:
    """A conversation of LangChain messages with a guard beside it.

    Args:
        guard: Guards this one conversation.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self._loop = Loop(guard)
        self._refused: str | None = None
        self._orders = 0

    def replied(self, messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], Way]:
        """The last message is the model's reply: may its calls run?

        Args:
            messages: The conversation so far.

        Returns:
            Results of calls that may not run, and who is next.
        """
        reply, _ = _turn(messages)
        if not reply.tool_calls:
            self._loop.observe(**_observed(reply, {}), last=True)
            return [], "end"
        self._refused = self._loop.refusal(len(reply.tool_calls))
        if self._refused is None:
            return [], "tools"
        return [
            ToolMessage(self._refused, tool_call_id=call["id"], name=call["name"], status="error")
            for call in reply.tool_calls
        ], "agent"

    def answered(self, messages: Sequence[BaseMessage]) -> None:
        """The last reply is the final answer, given as a call of a tool that does nothing else."""
        reply, _ = _turn(messages)
        (call, *_) = reply.tool_calls
        said = {"text": json.dumps(call["args"], ensure_ascii=False), "finish_reason": "stop"}
        self._loop.observe(**{**_observed(reply, None), **said}, last=True)

    def heard(self, messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], Way]:
        """The last message is for the model, a result or a person's: observe what it completes.

        Args:
            messages: The conversation so far.

        Returns:
            What the model hears besides, and who is next.
        """
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply, results = _turn(messages)
            self._loop.observe(**_observed(reply, results if self._refused is None else None))
            if self._refused is not None:
                self._loop.told(self._refused)
            self._refused = None
        else:
            self._loop.begin(str(last.text) if isinstance(last, HumanMessage) else None)
        if self._loop.ended:
            return [], "end"
        nudge, order = self._loop.nudge(), self._loop.work_order()
        said: list[BaseMessage] = [] if nudge is None else [HumanMessage(nudge)]
        return said if order is None else [*said, *self._ordered(order, messages)], "agent"

    def _ordered(self, order: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The work order as a message; only the newest stays in the conversation."""
        before = f"work-order-{self._orders}"
        self._orders += 1
        newest = HumanMessage(order, id=f"work-order-{self._orders}")
        old = [RemoveMessage(id=before)] if any(m.id == before for m in messages) else []
        return [*old, newest]


def _turn(messages: Sequence[BaseMessage]) -> tuple[AIMessage, dict[str, ToolMessage]]:
    """The last reply, and the results behind it by the id of their call."""
    results: dict[str, ToolMessage] = {}
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message, results
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
    raise HarnessError("guard: the conversation must have an AIMessage before its ToolMessages")


def _observed(reply: AIMessage, results: dict[str, ToolMessage] | None) -> dict[str, Any]:
    """A reply with the results of its calls as a guard takes it; ``None``: no call ran."""
    about = reply.response_metadata
    calls = [] if results is None else [
        _call(call["name"], call["args"], results.get(call["id"] or ""))
        for call in reply.tool_calls
    ]  # fmt: skip
    for broken in reply.invalid_tool_calls:
        told = broken.get("error") or "the arguments are not one JSON object"
        call = {"tool": broken["name"] or "", "args": broken["args"], "result": told, "ok": False}
        calls.append(call)
    return {
        "text": str(reply.text),
        "calls": calls,
        "model": about.get("model_name") or about.get("model"),
        "usage": _usage(reply),
        "finish_reason": about.get("finish_reason") or about.get("stop_reason"),
    }


def _call(tool: str, args: Any, result: ToolMessage | None) -> dict[str, Any]:
    found = {"tool": tool, "args": args}
    if result is None:
        return found
    return {**found, "result": str(result.text), "ok": result.status != "error"}


def _usage(reply: AIMessage) -> dict[str, int] | None:
    usage = reply.usage_metadata
    if usage is None:
        return None
    inside = usage.get("input_token_details") or {}
    outside = usage.get("output_token_details") or {}
    return tokens(
        asked=usage["input_tokens"],
        answered=usage["output_tokens"],
        read=inside.get("cache_read") or 0,
        written=inside.get("cache_creation") or 0,
        reasoned=outside.get("reasoning") or 0,
    )
