"""Which of several agents under one plain span asked for an execution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._messages import message_from
from harness.importers._spans.brought import same_args
from harness.importers._spans.dialects import node_from
from harness.importers._spans.graph import Graph, said
from harness.importers._spans.node import Node
from harness.importers._spans.rootless import Call
from harness.importers._spans.span import Span

_PLACE = Place(Path("spans"), "span")


@dataclass(frozen=True, slots=True)
class Wait:
    """A call for a tool, and the time that it has.

    Attributes:
        owner: The run that waits.
        since_ns: When it was asked for.
        until_ns: When the run's next model call began; ``None`` where there is none.
        result: What that one was told came back.
    """

    owner: str
    call_id: str | None
    args: Any
    since_ns: int | None
    until_ns: int | None
    result: str | None

    def at(self, start_ns: int | None) -> bool:
        """Whether it still waits at that time."""
        if start_ns is None or self.since_ns is None or start_ns < self.since_ns:
            return False
        return self.until_ns is None or start_ns <= self.until_ns


def waits_of(calls: Sequence[tuple[Call, str, Sequence[Span]]]) -> list[Wait]:
    """What the model calls of all runs asked for.

    Args:
        calls: In order of their start: the call, its run, and its spans.
    """
    asking = Counter(own for own, _ in {(own, owner) for call, owner, _ in calls
                                        for own in call.pending})  # fmt: skip
    found: list[Wait] = []
    after: dict[str, tuple[Call, Sequence[Span]]] = {}
    for call, owner, members in reversed(calls):
        later, spans = after.get(owner, (None, ()))
        wanted: list[tuple[str | None, Any]] = [(own, None) for own in call.pending]
        results: dict[str | None, str] = {}
        if any(asking[own] > 1 for own in call.pending):
            reply = said(_PLACE, _call(members))
            wanted = [(own, made.get("args")) for own, made in reply.calls]
            results = _results(_call(spans)) if spans else {}
        until = later.start_ns if later else None
        found += [Wait(owner, own, args, call.end_ns, until, results.get(own))
                  for own, args in wanted]  # fmt: skip
        after[owner] = call, members
    return found


def _call(spans: Sequence[Span]) -> Node:
    """The model call that spans tell of."""
    return Graph(_PLACE, [node_from(_PLACE, span) for span in spans]).calls[-1]


def _results(call: Node) -> dict[str | None, str]:
    """What a model call was told came back, by id; the newest of each."""
    asked = (message_from(_PLACE, raw) for raw in call.messages)
    return {result.call_id: result.text for message in asked for result in message.results}


def owner_of(tools: Sequence[Span], waits: Sequence[Wait]) -> str | None:
    """The run that asked for an execution: by id, of several by arguments, by time, by result.

    Args:
        tools: The execution, and any that are part of it.
        waits: Of all runs.

    Returns:
        ``None`` where that is open, or a value is broken.
    """
    try:
        nodes = [(span, node_from(_PLACE, span)) for span in tools]
    except ImportFormatError:
        return None
    span, tool = next(((span, node) for span, node in nodes if node.call_id), (None, None))
    if span is None or tool is None:
        return None
    found = [wait for wait in waits if wait.call_id == tool.call_id]
    for fits in (
        lambda wait: same_args(wait.args, tool.args),
        lambda wait: wait.at(span.start_ns),
        lambda wait: wait.result == tool.result,
    ):
        if len({wait.owner for wait in found}) > 1:
            found = list(filter(fits, found)) or found
    runs = {wait.owner for wait in found}
    return runs.pop() if len(runs) == 1 else None
