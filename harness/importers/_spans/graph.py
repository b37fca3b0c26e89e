"""Which spans of a run count: what wraps another model call or execution repeats it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.importers._base import Place
from harness.importers._messages import Message, message_from
from harness.importers._spans.node import Node

#: What a model call lacks and the call around it may know.
_FILLED = ("messages", "reply", "model", "finish_reason", "usage", "offered")


class Graph:
    """The spans of one run, in order of their start, with who stands above whom.

    Attributes:
        place: The run.
        nodes: All of them; one whose start is unknown stands behind its predecessor.
        calls: Model calls that wrap no other; each has what only its wrapper knew.
        tools: Executions that are not within one of the same tool.
    """

    def __init__(self, place: Place, nodes: Sequence[Node]) -> None:
        self.place = place
        self.nodes = _ordered(nodes)
        self._by_id = {node.id: node for node in self.nodes}
        self._agents: dict[str, Node | None] = {}
        models = [node for node in self.nodes if node.kind == "llm"]
        self.calls = _single(place, self._innermost(models))
        self.tools = [n for n in self.nodes if n.kind == "tool" and not self._repeats(n)]
        self._inside: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for node in (*self.calls, *self.tools):
            if node.start_ms is None or node.end_ms is None:
                continue
            for above in self.above(node):
                if above.kind == "tool":
                    self._inside[above.id].append((node.start_ms, node.end_ms))

    def above(self, node: Node) -> Iterator[Node]:
        """The spans around ``node``, from the nearest on; each once, should they form a ring."""
        seen = {node.id}
        while node.parent is not None and node.parent not in seen:
            seen.add(node.parent)
            if (parent := self._by_id.get(node.parent)) is None:
                return
            yield parent
            node = parent

    def root(self, node: Node) -> str:
        """The id of the outermost span around ``node``, or its own; it may itself be missing."""
        *_, last = [node, *self.above(node)]
        return last.parent or last.id

    def agent(self, node: Node) -> Node | None:
        """The agent's run that ``node`` is part of."""
        if node.id not in self._agents:
            agents = (above for above in self.above(node) if above.kind == "agent")
            self._agents[node.id] = next(agents, None)
        return self._agents[node.id]

    def apart(self, node: Node, other: Node) -> bool:
        """Whether two spans are parts of two agents' runs, neither within the other, at one time.

        Such agents know nothing of each other's calls.
        """
        one, two = self.agent(node), self.agent(other)
        if one is None or two is None or one.id == two.id or not _overlap(one, two):
            return False
        around = {above.id for agent in (one, two) for above in self.above(agent)}
        return one.id not in around and two.id not in around

    def distances(self, node: Node, others: Iterable[Node]) -> dict[str, int]:
        """How far up from ``node`` the first span is that it has in common with each other one."""
        up = {own: distance for distance, own in enumerate(self._lineage(node))}
        found: dict[str, int] = {}
        for other in others:
            if other.id not in found:
                shared = (up[own] for own in self._lineage(other) if own in up)
                found[other.id] = next(shared, len(up))
        return found

    def _lineage(self, node: Node) -> Iterator[str]:
        """Ids of a span and of those around it; the outermost may itself be missing."""
        last = node
        yield node.id
        for last in self.above(node):
            yield last.id
        if last.parent is not None:
            yield last.parent

    def own_ms(self, tool: Node) -> int | None:
        """How long an execution took, without the model calls and executions inside it.

        Those have a time of their own: a tool that runs a sub-agent would count it twice.
        """
        whole = took(tool)
        return None if whole is None else max(0, whole - _covered(self._inside[tool.id]))

    def _innermost(self, models: list[Node]) -> list[Node]:
        """Model calls without one inside; an execution in between starts another agent's."""
        inner: dict[str, list[str]] = defaultdict(list)
        outer: dict[str, Node] = {}
        for node in models:
            for above in self.above(node):
                if above.kind == "tool":
                    break
                if above.kind == "llm":
                    inner[above.id].append(node.id)
                    outer[node.id] = above
                    break
        found = []
        for node in models:
            if node.id in inner:
                continue
            whole, around = node, outer.get(node.id)
            while around is not None and len(inner[around.id]) == 1:
                whole, around = _filled(whole, around), outer.get(around.id)
            found.append(whole)
        return found

    def _repeats(self, tool: Node) -> bool:
        for above in self.above(tool):
            if above.kind in ("agent", "llm"):
                return False
            if above.kind == "tool":
                return above.tool == tool.tool
        return False


def said(place: Place, node: Node) -> Message:
    """What a model call answered, as one message.

    Raises:
        ImportFormatError: A message has another shape.
    """
    whole = Message("assistant")
    for number, raw in enumerate(node.reply, 1):
        message = message_from(place.at(f"{node.name}, reply {number}"), raw)
        whole.text = "\n".join(filter(None, (whole.text, message.text)))
        whole.calls += message.calls
        whole.reply |= message.reply
    return whole


def took(node: Node) -> int | None:
    """How long a span took, in ms."""
    if node.start_ms is None or node.end_ms is None or node.end_ms < node.start_ms:
        return None
    return node.end_ms - node.start_ms


def canonical(value: Any) -> str:
    """A value as a text that is the same for the same value."""
    return json.dumps(value, sort_keys=True, default=str)


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    last = 0
    keyed: list[tuple[int, int, Node]] = []
    for number, node in enumerate(nodes):
        last = node.start_ms if node.start_ms is not None else last
        keyed.append((last, number, node))
    return [node for _, _, node in sorted(keyed, key=lambda item: item[:2])]


def _single(place: Place, calls: list[Node]) -> list[Node]:
    """One node a call: two instrumentations may record a call without knowing of each other.

    Such a pair has other names, lies one within the other in time, and answered the same.
    """
    marks = [_mark(place, call) for call in calls]
    kept = list(calls)
    dropped: set[int] = set()
    for index, outer in enumerate(calls):
        for other in _within(calls, index):
            inner = kept[other]
            if other not in dropped and inner.name != outer.name and marks[other] == marks[index]:
                if marks[index] is None:
                    continue
                kept[other] = _filled(inner, kept[index])
                dropped.add(index)
                break
    return [call for index, call in enumerate(kept) if index not in dropped]


def _within(calls: list[Node], index: int) -> Iterator[int]:
    """Calls that run within the time of the one at ``index``."""
    start, end = calls[index].start_ms, calls[index].end_ms
    if start is None or end is None:
        return
    first = index
    while first and calls[first - 1].start_ms == start:
        first -= 1
    for other in range(first, len(calls)):
        begun, done = calls[other].start_ms, calls[other].end_ms
        if begun is None or begun > end:
            return
        wider = (start, -end) < (begun, -done) if done is not None else False
        same = done == end and begun == start and other > index
        if other != index and done is not None and done <= end and (wider or same):
            yield other


def _mark(place: Place, call: Node) -> str | None:
    """What was answered, or where that is not recorded what it cost; ``None`` if neither is."""
    message = said(place, call)
    if message.text or message.calls:
        return canonical([message.text, [made for _, made in message.calls]])
    return canonical(call.usage) if call.usage else None


def _filled(inner: Node, outer: Node) -> Node:
    """``inner`` with what only ``outer`` knows."""
    return replace(
        inner, **{key: getattr(outer, key) for key in _FILLED if not getattr(inner, key)}
    )


def _overlap(one: Node, two: Node) -> bool:
    if None in (one.start_ms, one.end_ms, two.start_ms, two.end_ms):
        return False
    return max(one.start_ms or 0, two.start_ms or 0) < min(one.end_ms or 0, two.end_ms or 0)


def _covered(spans: list[tuple[int, int]]) -> int:
    """How much time the spans cover together."""
    if not spans:
        return 0
    spans = sorted(spans)
    ends = [spans[0][1]]
    for _, end in spans[1:]:
        ends.append(max(ends[-1], end))
    gaps = sum(max(0, begun - done) for done, (begun, _) in zip(ends, spans[1:], strict=False))
    return max(0, ends[-1] - spans[0][0] - gaps)
