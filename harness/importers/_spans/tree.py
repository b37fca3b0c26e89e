"""Spans of an agent's run, whoever traced it, as steps: one model call, one step.

Agents within agents are told as one sequence, in order of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.importers._base import Place
from harness.importers._finish import is_own_stop
from harness.importers._messages import Message, message_from
from harness.importers._spans.graph import Graph, said, took
from harness.importers._spans.node import Kind, Node, Told
from harness.importers._spans.pairing import Open, Pairing
from harness.importers._turns import settle

__all__ = ["ITERATION", "Kind", "Node", "Told", "told"]

#: The rule, in words for ``ITERATION``.
ITERATION = (
    "One model call, in order of its start; a call that wraps another one is not counted. "
    "Executions after it are the results of the calls it asked for (by call id, else name; of "
    "several the nearest in the tree, then by arguments, then by what the conversation says came "
    "back; never of another agent that runs at the same time); one that no reply asked for is a "
    "call of the step before it. Results that no span holds come from what the next model call was "
    "given (by call id, else name; where no call has the id, in order), never from what the call "
    "itself was asked with. A user message that is new "
    "since the conversation's previous call is the 'user' of the step; of a conversation that "
    "begins within a run (a sub-agent, a planner) none is. Agents within agents are one sequence "
    "(tag sub-agents)."
)

#: How a framework that knows no tool messages begins a result.
_OBSERVATION = "Observation:"


@dataclass(slots=True)
class _Run:
    """What the steps so far leave behind for the next."""

    place: Place
    graph: Graph
    steps: list[dict[str, Any]] = field(default_factory=list)
    pairing: Pairing = field(init=False)
    #: The model call of each step.
    asking: list[Node] = field(default_factory=list)
    #: User messages so far, by the conversation's first.
    heard: dict[str, Counter[str]] = field(default_factory=dict)
    roots: set[str] = field(default_factory=set)
    #: Executions before the first model call.
    early: list[dict[str, Any]] = field(default_factory=list)
    goal: str | None = None
    done_ms: int | None = None

    def __post_init__(self) -> None:
        self.pairing = Pairing(self.graph)


def told(place: Place, nodes: Sequence[Node]) -> Told:
    """Read the spans of one run.

    Args:
        place: The run.
        nodes: Its spans, in any order.

    Raises:
        ImportFormatError: No span is a model call, or a message has another shape.
    """
    graph = Graph(place, nodes)
    if not graph.calls:
        kinds = Counter(node.kind for node in nodes)
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
        raise place.error(f"holds no model call; found spans: {found}")
    run = _Run(place, graph)
    counted = {node.id: node for node in (*graph.calls, *graph.tools)}
    for node in graph.nodes:
        if (known := counted.get(node.id)) is not None:
            (_reply if known.kind == "llm" else _execute)(run, known)
    given = (node.text_in for node in graph.nodes if node.kind == "agent" and node.text_in)
    return Told(
        run.goal or next(given, "") or next(iter(run.heard), ""),
        run.steps,
        _tools(run),
        _finished(graph.calls[-1], run.steps[-1]),
        _tags(graph),
    )


def _reply(run: _Run, node: Node) -> None:
    """A model call as the next step."""
    spot = run.place.at(node.name)
    asked = [
        message_from(spot.at(f"message {number}"), raw)
        for number, raw in enumerate(node.messages, 1)
    ]
    message = said(run.place, node)
    step: dict[str, Any] = {}
    opening = next(_words(asked), None)
    run.pairing.answer(node, opening, asked)
    person, framework = _new_words(run, node, asked)
    if framework and not _observed(run, framework, opening):
        step["nudge"] = "\n\n".join(framework)
    if person:
        step["user"] = "\n\n".join(person)
        _idle(run, node, step)
    reply = {**({"text": message.text} if message.text else {}), **message.reply}
    known = {
        "model": node.model,
        "finish_reason": node.finish_reason,
        "usage": node.usage,
        "ms": took(node),
        "error": node.error,
    }
    reply |= {key: value for key, value in known.items() if value is not None}
    if reply:
        step["reply"] = reply
    number = len(run.steps)
    run.pairing.add([Open(own, call, number, node, opening) for own, call in message.calls], asked)
    if calls := run.early + [call for _, call in message.calls]:
        step["calls"] = calls
    run.early = []
    run.steps.append(step)
    run.asking.append(node)
    _until(run, node)


def _execute(run: _Run, node: Node) -> None:
    """A tool's execution as the result of its call."""
    found = run.pairing.asked(node) or _unasked(run, node)
    found.executed = True
    call = found.call
    if node.args not in (None, {}):
        # LlamaIndex's replies leave arguments out.
        call.setdefault("args", node.args)
    if (text := node.result or node.error) is not None:
        told_by = message_from(run.place.at(node.name), {"role": "tool", "content": text})
        (result,) = told_by.results
        result.failed = result.failed or node.error is not None
        settle(call, result)
    elif node.error is not None:
        call["ok"] = False
    if (ms := run.graph.own_ms(node)) is not None:
        call["ms"] = ms
    _until(run, node)


def _unasked(run: _Run, node: Node) -> Open:
    """An execution that no reply asked for, as a call of the step before it."""
    call: dict[str, Any] = {"tool": node.tool or node.name}
    newest = range(len(run.steps) - 1, -1, -1)
    own = (at for at in newest if not run.graph.apart(run.asking[at], node))
    at = next(own, len(run.steps) - 1)
    if run.steps:
        run.steps[at].setdefault("calls", []).append(call)
    else:
        run.early.append(call)
    found = Open(node.call_id, call, at, node)
    run.pairing.open.append(found)
    return found


def _words(asked: list[Message]) -> Iterator[str]:
    """What users said; the first of it tells conversations within a run apart."""
    yield from (m.text for m in asked if m.role == "user" and (m.text or not m.results))


def _new_words(run: _Run, node: Node, asked: list[Message]) -> tuple[list[str], list[str]]:
    """What a person and the framework said since the conversation's previous call."""
    words = list(_words(asked))
    root = run.graph.root(node)
    arrived = root not in run.roots
    run.roots.add(root)
    if not words:
        return [], []
    known = run.heard.get(words[0])
    if known is None:
        before = set().union(*run.heard.values()) if run.heard else set()
        if run.goal is None and not run.steps:
            run.goal, new = words[0], words[1:]
        else:
            # A new run in the same session may not repeat what was said before it.
            new = [text for text in words if text not in before] if arrived else []
    else:
        new = list(_beyond(words, known))
    run.heard[words[0]] = (known or Counter()) | Counter(words)
    framework = [text for text in new if text.startswith(_OBSERVATION)]
    return [text for text in new if text not in framework], framework


def _beyond(words: list[str], known: Counter[str]) -> Iterator[str]:
    left = Counter(known)
    for text in words:
        if left[text]:
            left[text] -= 1
        else:
            yield text


def _observed(run: _Run, framework: list[str], opening: str | None) -> bool:
    """Whether the words are the result of the one call that waits in the conversation."""
    if len(framework) != 1:
        return False
    return run.pairing.observe(opening, framework[0].removeprefix(_OBSERVATION).lstrip("\n"))


def _idle(run: _Run, node: Node, step: dict[str, Any]) -> None:
    if run.done_ms is not None and node.start_ms is not None and node.start_ms > run.done_ms:
        step["idle_ms"] = node.start_ms - run.done_ms


def _until(run: _Run, node: Node) -> None:
    if node.end_ms is not None:
        run.done_ms = max(run.done_ms or 0, node.end_ms)


def _tools(run: _Run) -> list[str] | None:
    offered = [name for node in run.graph.nodes for name in node.offered]
    called = sorted({call["tool"] for step in run.steps for call in step.get("calls", ())})
    return list(dict.fromkeys([*offered, *called])) or None


def _finished(node: Node, step: dict[str, Any]) -> bool:
    reply = step.get("reply", {})
    reason = reply.get("finish_reason")
    answered = bool(reply.get("text")) or reason is not None
    return answered and is_own_stop(reason) and "error" not in reply and not step.get("calls")


def _tags(graph: Graph) -> list[str]:
    found = []
    agents = {a.id: a for call in graph.calls if (a := graph.agent(call)) is not None}
    nested = any(above.id in agents for a in agents.values() for above in graph.above(a))
    if nested or len({agent.name for agent in agents.values()}) > 1:
        found.append("sub-agents")
    if not any(call.messages or call.reply for call in graph.calls):
        found.append("content:none")
    return found
