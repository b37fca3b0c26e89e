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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import takewhile
from typing import Any, Literal

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Command

from harness.adapters._loop import Loop
from harness.adapters._messages import observed
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
            HarnessError: The loop ended for good before, the guard is in two runs at once, or an
                observed value breaks a rule.
        """
        messages = state["messages"]
        self._talk.enter(get_runtime())
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
        self._came: AIMessage | None = None
        self._reply: AIMessage | None = None
        self._begins = True
        self._refused: str | None = None
        self._held: frozenset[str | None] = frozenset()
        self._errors: dict[str | None, str] = {}
        self._orders = 0

    def enter(self, runtime: Any) -> None:
        """A node of a run has its turn.

        Args:
            runtime: LangGraph's; its ``control`` is one object a run.

        Raises:
            HarnessError: The guard is in two runs at once.
        """
        control = getattr(runtime, "control", None)
        self._begins = control is None or self._loop.enter(id(control), control)

    def came(self, reply: AIMessage | None) -> None:
        """The model has replied; what comes of the reply is not known yet."""
        self._loop.guard.watch.worked()
        self._came = reply

    @contextmanager
    def running(self, call_id: str | None) -> Iterator[None]:
        """Around a tool that runs: what it raises is remembered, and goes on."""
        with ExitStack() as stack:
            stack.push(partial(self._note, call_id))
            yield

    def _note(self, call_id: str | None, _: object, error: object, trace: object) -> None:
        # An interrupt is no failure.
        if isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self._errors[call_id] = f"{type(error).__name__}: {error}"

    def replied(self, messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], Way]:
        """The model has replied: may its calls run?

        Args:
            messages: The conversation so far; somebody may have answered calls of the reply.

        Returns:
            Results of calls that may not run, and who is next.
        """
        reply, results = _turn(messages)
        self._cut_off(messages, unless=reply)
        self._came = None
        self._loop.replied()
        if not reply.tool_calls:
            self._loop.observe(**observed(reply, {}), last=True)
            return [], "end"
        self._reply = reply
        waiting = [call for call in reply.tool_calls if call["id"] not in results]
        self._refused = self._loop.refusal(len(reply.tool_calls)) if waiting else None
        if self._refused is None:
            return [], "tools"
        self._held = frozenset(call["id"] for call in waiting)
        return [
            ToolMessage(self._refused, tool_call_id=call["id"], name=call["name"], status="error")
            for call in waiting
        ], "agent"

    def answered(self, messages: Sequence[BaseMessage]) -> None:
        """The last reply is the final answer, given as a call of a tool that does nothing else."""
        reply, _ = _turn(messages)
        self._came = None
        self._loop.replied()
        (call, *_) = reply.tool_calls
        said = {"text": json.dumps(call["args"], ensure_ascii=False), "finish_reason": "stop"}
        self._loop.observe(**{**observed(reply, None), **said}, last=True)

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
            self._cut_off(messages, unless=reply)
            self._complete(reply, results)
        elif (due := self._unobserved(messages)) is not None and not self._begins:
            # Others spoke behind the reply or its results.
            self._loop.replied()
            self._complete(due, _results(messages, due))
            self._loop.told(str(last.text))
        else:
            if due is not None:
                self._loop.replied()
                self._complete(due, _results(messages, due), cut=True)
            if self._loop.unheard():
                return [], "end"
            self._loop.begin(str(last.text) if isinstance(last, HumanMessage) else None)
        if self._loop.ended:
            return [], "end"
        self._loop.said.asked = _ids(messages)
        nudge, order = self._loop.nudge(), self._loop.work_order()
        said: list[BaseMessage] = [] if nudge is None else [HumanMessage(nudge)]
        return said if order is None else [*said, *self._ordered(order, messages)], "agent"

    def _complete(
        self, reply: AIMessage, results: dict[str, ToolMessage], *, cut: bool = False
    ) -> None:
        """Observe a reply with the results of its calls."""
        refused, held = self._refused, self._held
        self._came = self._reply = self._refused = None
        self._held = frozenset()
        errors, self._errors = self._errors, {}
        done = observed(reply, results, held, errors if cut else None)
        self._loop.observe(**done, cut=cut)
        if refused is not None:
            self._loop.told(refused)

    def _cut_off(self, messages: Sequence[BaseMessage], unless: AIMessage) -> None:
        """Observe the last reply if no results can come any more: its run broke off.

        Args:
            messages: The conversation so far, where some results may stand.
            unless: The reply that is looked at now.
        """
        reply = self._reply
        if reply is not None and not _same(reply, unless):
            self._complete(reply, _results(messages, reply), cut=True)

    def _unobserved(self, messages: Sequence[BaseMessage]) -> AIMessage | None:
        """The reply whose turn is open; a run that broke off may have told only the state of it."""
        for reply in (self._reply, self._came):
            if reply is not None:
                return reply
        asked, ids = self._loop.said.asked, _ids(messages)
        if asked is None or not ids or ids[-1] in asked:
            return None
        # Where none of the old replies stands any more, it is another conversation.
        return _turn(messages)[0] if not asked or set(asked) & set(ids) else None

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


def _ids(messages: Sequence[BaseMessage]) -> list[str]:
    """Ids of the replies in a conversation."""
    return [m.id for m in messages if isinstance(m, AIMessage) and m.id is not None]


def _same(one: BaseMessage, other: BaseMessage) -> bool:
    """Whether two messages are one; a state without ``add_messages`` gives no ids."""
    return one == other if one.id is None else one.id == other.id


def _results(messages: Sequence[BaseMessage], reply: AIMessage) -> dict[str, ToolMessage]:
    """The results behind a reply; none where it does not stand in the conversation."""
    if not any(_same(message, reply) for message in messages):
        return {}
    behind = takewhile(lambda message: not _same(message, reply), reversed(messages))
    return {m.tool_call_id: m for m in behind if isinstance(m, ToolMessage)}
