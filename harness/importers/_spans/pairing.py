"""Which call an execution carries out, and which a result in a message answers.

Ids are no more than a hint: providers number their calls, so that two agents that run at the same
time both have a ``call_0``; some instrumentations write another id into the call than into its
result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.importers._messages import Message, Result
from harness.importers._spans.brought import (
    Brought,
    Mark,
    alike,
    brought,
    goes_on,
    results_of,
    same_args,
)
from harness.importers._spans.graph import Graph
from harness.importers._spans.node import Node
from harness.importers._turns import settle


@dataclass(slots=True)
class Open:
    """A call, and what of it is still to come.

    Attributes:
        node: The model call that asked for it, or the execution that nobody asked for.
        opening: The first user message of the conversation in which it was asked for.
        before: Results that were there when it was asked for, so that none of them is its own.
    """

    call_id: str | None
    call: dict[str, Any]
    step: int
    node: Node
    opening: str | None = None
    executed: bool = False
    before: Counter[Mark] = field(default_factory=Counter)

    @property
    def pending(self) -> bool:
        """Whether its result is unknown."""
        return "result" not in self.call


@dataclass(slots=True)
class Pairing:
    """The calls of a run that wait for something."""

    graph: Graph
    open: list[Open] = field(default_factory=list)
    #: Ids that any call of the run has.
    _known: set[str | None] = field(default_factory=set)
    #: Ids that were asked for or answered, by conversation: its requests tell of these again.
    _own: set[tuple[str | None, str | None]] = field(default_factory=set)
    #: Ids that were asked for, by agent's run and conversation.
    _agents: set[tuple[str, str | None, str | None]] = field(default_factory=set)

    def add(self, calls: Sequence[Open], asked: Sequence[Message]) -> None:
        """A model call asks for these; what has its result waits for nothing any more.

        Args:
            calls: In order.
            asked: All that the model call was asked.
        """
        self.open = [*(waiting for waiting in self.open if waiting.pending), *calls]
        ids = {call.call_id for call in calls}
        self._known |= ids
        before = Counter(told.mark for told in brought(asked, ids)) if calls else Counter()
        for call in calls:
            call.before = before
            self._own.add((call.opening, call.call_id))
            if (agent := self.graph.agent(call.node)) is not None:
                self._agents.add((agent.id, call.opening, call.call_id))

    def asked(self, node: Node) -> Open | None:
        """The call that an execution carries out; ``None``: no model call asked for it.

        By id, else by tool. Of several: the one asked for nearest in the tree, with these
        arguments, of which the conversation tells this result, newest.
        """
        free = [w for w in self.open if not w.executed and not self._apart(w, node)]
        found = [w for w in free if node.call_id is not None and w.call_id == node.call_id]
        # An id that no reply knows may be the framework's own.
        found = found or [w for w in free if node.tool is None or w.call["tool"] == node.tool]
        if len(found) < 2:
            return next(iter(found), None)
        far = self.graph.distances(node, (w.node for w in found))
        said = node.args not in (None, {})
        fits = [(-far[w.node.id], said and same_args(w.call.get("args"), node.args)) for w in found]
        best = max(fits)
        found = [w for w, fit in zip(found, fits, strict=True) if fit == best]
        if len(found) > 1 and node.result is not None:
            found = [w for w in found if self._told(w, node.result)] or found
        return max(found, key=lambda w: w.step)

    def _told(self, waiting: Open, text: str) -> bool:
        """Whether the model call that goes on behind a call is told that text as its result."""
        results = results_of(self.graph, waiting.node, waiting.step)
        return any(r.call_id == waiting.call_id and r.text == text for r in results)

    def answer(self, node: Node, opening: str | None, asked: Sequence[Message]) -> None:
        """Give what a model call was told to the calls whose result is still unknown.

        Args:
            node: The model call.
            opening: The first user message among what it was asked.
            asked: All that it was asked.
        """
        waiting = {w.call_id for w in self.open if w.pending}
        if not waiting:
            return
        last = max((n for n, m in enumerate(asked) if m.role == "assistant"), default=-1)
        strange = [
            result
            for message in asked[last + 1 :]
            for result in message.results
            if result.call_id is not None
            and result.call_id not in self._known
            and (opening, result.call_id) not in self._own
        ]
        for told in reversed(brought(asked, waiting)):
            self._give(node, opening, told)
        if strange:
            self._in_order(opening, strange)

    def observe(self, opening: str | None, text: str) -> bool:
        """Give a text to the one call that waits in the conversation, if it is one."""
        waiting = [w for w in self.open if w.pending and w.opening == opening]
        if len(waiting) == 1:
            settle(waiting[0].call, Result(None, None, text, failed=False))
        return len(waiting) == 1

    def _give(self, node: Node, opening: str | None, told: Brought) -> None:
        result = told.result
        waiting = [
            w for w in self.open
            if w.pending and w.before[told.mark] < told.number and not self._apart(w, node)
        ]  # fmt: skip
        if result.call_id is not None:
            waiting = [w for w in waiting if w.call_id == result.call_id]
            waiting = self._within(waiting, node, opening, result.call_id)
        elif result.tool is not None:
            waiting = [w for w in waiting if w.call["tool"] == result.tool]
        if not waiting:
            return
        # Ids recur within a run, so of one conversation a result belongs to the newest call.
        found = waiting[-1]
        if len(waiting) > 1:
            far = self.graph.distances(node, (w.node for w in waiting))
            waiting.reverse()
            found = max(
                waiting,
                key=lambda w: (
                    w.opening == opening, alike(w.call, told.call),
                    goes_on(self.graph, w.node, node), -far[w.node.id],
                ),
            )  # fmt: skip
        self._settle(opening, found, result)

    def _within(
        self, waiting: list[Open], node: Node, opening: str | None, call_id: str
    ) -> list[Open]:
        """Those of the conversation, if it asked for the id by itself: it tells of its own."""
        agent = self.graph.agent(node)
        own = agent is not None and (agent.id, opening, call_id) in self._agents
        if own or (opening, call_id) in self._own:
            waiting = [w for w in waiting if w.opening == opening]
        return [w for w in waiting if self.graph.agent(w.node) is agent] if own else waiting

    def _in_order(self, opening: str | None, strange: list[Result]) -> None:
        """Pair results whose ids no call has with the calls they directly follow."""
        waiting = [w for w in self.open if w.pending and opening in (None, w.opening)]
        waiting = [w for w in waiting if opening is None or w.step == waiting[-1].step]
        if len(waiting) == len(strange) and len({w.step for w in waiting}) == 1:
            for found, result in zip(waiting, strange, strict=True):
                self._settle(opening, found, result)

    def _settle(self, opening: str | None, found: Open, result: Result) -> None:
        settle(found.call, result)
        if result.call_id is not None:
            self._own.add((opening, result.call_id))

    def _apart(self, waiting: Open, node: Node) -> bool:
        return self.graph.apart(waiting.node, node)
