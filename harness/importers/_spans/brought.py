"""Results among what a model call was asked, and which of them a call can have caused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.importers._messages import Message, Result, message_from
from harness.importers._spans.graph import Graph, canonical, said
from harness.importers._spans.node import Node

Mark = tuple[str | None, str | None, str, str]


@dataclass(frozen=True, slots=True)
class Brought:
    """A result as a model call was told it.

    Attributes:
        call: What asked for it, as the conversation repeats it; ``None`` where it does not.
        mark: The same for results that nothing tells apart.
        number: The how many-th of those with this mark, from 1.
    """

    result: Result
    call: dict[str, Any] | None
    mark: Mark
    number: int


def brought(asked: Iterable[Message], ids: Collection[str | None]) -> list[Brought]:
    """The results among messages that have one of these ids, or none, in order.

    Args:
        asked: All that a model call was asked.
        ids: Of calls.
    """
    calls: dict[str | None, dict[str, Any]] = {}
    count: Counter[Mark] = Counter()
    found = []
    for message in asked:
        calls.update((own, call) for own, call in message.calls if own is not None)
        for result in message.results:
            own = result.call_id
            if own is not None and own not in ids:
                continue
            call = calls.get(own)
            mark = (own, result.tool, result.text, canonical(call))
            count[mark] += 1
            found.append(Brought(result, call, mark, count[mark]))
    return found


def results_of(graph: Graph, call: Node, number: int) -> list[Result]:
    """What the next model call of a conversation was told came back from this one's calls.

    Args:
        graph: Of the run.
        call: A model call.
        number: Its place among those of the run, from 0.
    """
    later = (each for each in islice(graph.calls, number + 1, None) if goes_on(graph, call, each))
    if (found := next(later, None)) is None:
        return []
    spot = graph.place.at(found.name)
    rest = [message_from(spot, raw) for raw in found.messages[len(call.messages) :]]
    return [result for message in rest for result in message.results]


def goes_on(graph: Graph, call: Node, later: Node) -> bool:
    """Whether a model call is asked with all that an earlier one was, and with its reply."""
    known = len(call.messages)
    if not known or len(later.messages) <= known or later.messages[:known] != call.messages:
        return False
    echo = message_from(graph.place.at(later.name), later.messages[known])
    reply = said(graph.place, call)
    return (echo.text, echo.calls) == (reply.text, reply.calls)


def alike(call: dict[str, Any], other: dict[str, Any] | None) -> bool:
    """Whether two calls are the same tool's with the same arguments."""
    return (
        other is not None
        and call["tool"] == other["tool"]
        and same_args(call.get("args"), other.get("args"))
    )


def same_args(asked: Any, executed: Any) -> bool:
    """Whether arguments are the same, as a call and as an execution write them."""
    # LangChain writes a tool's input as Python does.
    written = isinstance(executed, str) and executed == str(asked)
    return written or canonical(asked or {}) == canonical(executed or {})
