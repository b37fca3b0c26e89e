"""Agents that run at the same time under one span that is no agent's: one run each.

A script that starts several agents within a span of its own makes one trace of them. A single agent
is never parted: it makes one call after another, whatever happens to its history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from harness.importers._spans.conversations import named_by
from harness.importers._spans.dialects import kind_of
from harness.importers._spans.node import Kind
from harness.importers._spans.rootless import Call, Joined, call_in
from harness.importers._spans.span import Span
from harness.importers._spans.waits import owner_of, waits_of

#: The rule, in words for ``ITERATION``.
RULE = (
    "Model calls directly within an outermost span that is no agent's are a run for each history "
    "that goes on, where at least two of these have several calls and every such one has a call "
    "at the same time as another's; executions go with the call that asked for their id (of "
    "several by arguments, time, result). "
)


def parted(spans: Sequence[Span]) -> list[list[Span]]:
    """The spans of a run, as one run or as several at the same time; each has the outermost span.

    Args:
        spans: All of a run, with their events.
    """
    whole = [list(spans)]
    roots = [span for span in spans if span.parent_id is None]
    if len(roots) != 1 or kind_of(roots[0]) != "other":
        return whole
    kinds: dict[str, Kind] = {span.span_id: kind_of(span) for span in spans}
    if (
        "agent" in kinds.values()
        or list(kinds.values()).count("llm") < 4
        or any(map(named_by, spans))
    ):
        return whole
    branches = _branches(spans, roots[0])
    if branches is None:
        return whole
    owners = _owners(branches, kinds)
    if owners is None:
        return whole
    found: dict[str, list[Span]] = {name: [roots[0]] for name in dict.fromkeys(owners.values())}
    for top, members in branches.items():
        # What tells of nothing belongs to nobody.
        found.get(owners.get(top, ""), []).extend(members)
    return list(found.values())


def part_name(run: str, number: int) -> str:
    """The name of a run's part, from 1."""
    return run if number == 1 else f"{run}-{number}"


def _branches(spans: Sequence[Span], root: Span) -> dict[str, list[Span]] | None:
    """What is under the outermost span, by the span directly below it."""
    parents = {span.span_id: span.parent_id for span in spans}
    found: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        at, steps = span.span_id, 0
        while span is not root and (above := parents.get(at)) != root.span_id:
            steps += 1
            if above is None or steps > len(parents):
                return None
            at = above
        if span is not root:
            found[at].append(span)
    return dict(found)


def _owners(branches: dict[str, list[Span]], kinds: dict[str, Kind]) -> dict[str, str] | None:
    """The run of each branch; ``None`` where they are one."""
    calls: dict[str, Call] = {}
    for top, members in branches.items():
        if kinds[top] == "llm":
            call = call_in(members, next(span for span in members if span.span_id == top))
            if call is None or not call.seen:
                return None
            calls[top] = replace(call, trace_id=top)
        elif any(kinds[span.span_id] == "llm" for span in members):
            return None
    joined = Joined()
    # Of two that began at once, the one that knows less of the talk came first.
    ordered = sorted(calls, key=lambda top: (calls[top].start_ns or 0, len(calls[top].seen), top))
    owners = {top: joined.run_of(calls[top]) for top in ordered}
    if not _at_once([(calls[top], owners[top]) for top in ordered]):
        return None
    waits = waits_of([(calls[top], owners[top], branches[top]) for top in ordered])
    for top, members in branches.items():
        if top in owners or all(kinds[span.span_id] != "tool" for span in members):
            continue
        owner = owner_of([span for span in members if kinds[span.span_id] == "tool"], waits)
        if owner is None:
            return None
        owners[top] = owner
    return owners


def _at_once(calls: Sequence[tuple[Call, str]]) -> bool:
    """Whether several runs of several calls each have calls at the same time as one another."""
    count: dict[str, int] = defaultdict(int)
    beside: set[str] = set()
    running: list[tuple[int, str]] = []
    for call, owner in calls:
        count[owner] += 1
        if call.start_ns is None or call.end_ns is None:
            continue
        running = [(end, other) for end, other in running if end > call.start_ns]
        others = {other for _, other in running if other != owner}
        if others:
            beside |= {owner, *others}
        running.append((call.end_ns, owner))
    several = {owner for owner, number in count.items() if number > 1}
    return len(several) > 1 and several <= beside
