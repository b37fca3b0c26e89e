"""Spans as recordings: what every importer of spans does with them once it has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.importers._base import SCHEMA, Place, inferred, shown, slug, unique
from harness.importers._intake import Intake
from harness.importers._lint_rules import NO_CONTENT
from harness.importers._spans import conversations as _conversations
from harness.importers._spans import counts as _counts
from harness.importers._spans import own as _own
from harness.importers._spans import tree as _tree
from harness.importers._spans.dialects import node_from
from harness.importers._spans.dump import dumped
from harness.importers._spans.endings import ending_of
from harness.importers._spans.node import Node, Told
from harness.importers._spans.parted import RULE as PARTED
from harness.importers._spans.parted import part_name, parted
from harness.importers._spans.span import Span
from harness.importers._spans.spool import MAX_RUN_BYTES, Spool

LACKS: tuple[str, ...] = (
    "what was said and done, where the instrumentation does not capture content (tag content:none)",
    "scores and outcome (evaluation events are passed over)",
    "the system prompt (not copied)",
    "time between spans (what the framework itself took)",
)
TOKENS = _counts.RULE
ITERATION = f"{_conversations.RULE} {PARTED}{_tree.ITERATION}"
EXIT_REASON = (
    "Explicit error where the outermost span around the last model call failed, or the outermost "
    "agent's run; explicit max_iterations where that error says that LangGraph's recursion limit "
    "or the Agents SDK's most turns were reached (limits). Else agent_finished is inferred where "
    "the last model call was answered, called nothing, was not cut off, and the agent has tools. "
    "Anything else is unknown."
)
_WANTED = "a model call with gen_ai.*, llm.*, ai.* or openinference.* attributes"


def recording_of(
    spans: Sequence[Span], name: str, place: Place | None = None, *, source: str = "otlp"
) -> dict[str, Any] | None:
    """The spans of one run as a recording (schema ``harness/scenario@1``).

    Args:
        spans: Of one trace or conversation, in any order, with their events.
        name: Of the trace or conversation; becomes a part of the recording's id.
        place: For messages.
        source: The importer's name, the first part of the id.

    Returns:
        ``None`` where no span is a model call or an agent's run.

    Raises:
        ImportFormatError: An agent's run holds no model call, or a span's value is broken.
    """
    place = place or Place(Path(source), f"run {shown(name)}")
    spans = _own.ordered(spans)
    nodes = [node_from(place.at(f"span {span.span_id}"), span) for span in spans]
    if not any(node.kind in ("llm", "agent") for node in nodes):
        return None
    found = _tree.told(place, nodes)
    recording: dict[str, Any] = {
        "schema": SCHEMA,
        "id": f"{source}/{slug(name)}",
        "title": _title(nodes, spans),
        "source": f"{source}:{place.path.name}",
        "goal": found.goal,
        "tags": [source, *found.tags, *_grouped(spans, nodes)],
        "steps": found.steps,
        "recorded": _recorded(nodes, found),
    }
    if NO_CONTENT in found.tags:
        recording["content_captured"] = False
    if found.tools is not None:
        recording["tools"] = found.tools
    _own.complete(spans, recording)
    return recording


def recordings_in(
    kept: Spool, path: Path, intake: Intake, *, source: str, wanted: str = _WANTED
) -> Iterator[dict[str, Any]]:
    """A recording for each run in a spool, by start; runs that tell of no agent are passed over.

    Args:
        kept: All that was read.
        path: For messages.
        intake: Learns which runs are broken.
        source: The importer's name, the first part of each id.
        wanted: What makes a model call, in words, for the message where there is none.

    Raises:
        ImportFormatError: No run holds a model call; where the import is strict, a run is broken.
    """
    seen: dict[str, int] = {}
    found = False
    for name, size, count in kept.runs():
        place = Place(kept.path_of(name) or path, f"run {shown(name)}")
        with intake.record(place):
            if size > MAX_RUN_BYTES:
                raise place.error(
                    f"its {count} spans hold {size} bytes; at most {MAX_RUN_BYTES} are read"
                )
            for number, spans in enumerate(parted(kept.run(name)), 1):
                recording = recording_of(spans, part_name(name, number), place, source=source)
                if recording is not None:
                    found = True
                    intake.raw = {"run": name, "spans": [dumped(span) for span in spans]}
                    yield {**recording, "id": unique(recording["id"], seen)}
    if not found and not intake.broken:
        raise Place(path, "all traces").error(f"none of the {kept.spans} spans is {wanted}")


def _grouped(spans: Sequence[Span], nodes: Sequence[Node]) -> list[str]:
    """By which rule calls that are traces of their own were put together."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    if len(traces) == 1 or not all(map(_conversations.is_rootless, traces.values())):
        return []
    return [f"grouped:{'prefix' if any(node.messages for node in nodes) else 'process'}"]


def _title(nodes: Sequence[Node], spans: Sequence[Span]) -> str:
    agents = (node.name for node in nodes if node.kind == "agent")
    roots = (span.name for span in spans if span.parent_id is None)
    return next(agents, None) or next(roots, None) or spans[0].name


def _recorded(nodes: Sequence[Node], found: Told) -> dict[str, Any]:
    by_id = {node.id: node for node in nodes}
    calls = [node for node in nodes if node.kind == "llm"]
    at = max(calls, key=lambda node: node.start_ms or 0)
    seen = {at.id}
    around: list[Node] = []
    while at.parent in by_id and at.parent not in seen:
        at = by_id[at.parent]
        seen.add(at.id)
        around.append(at)
    # The Agents SDK marks the agent's run, not the task around it.
    agents = [node for node in around if node.kind == "agent"]
    outer = [node for node in (*around[-1:], *agents[-1:]) if node.kind != "llm"]
    if errors := [node.error for node in outer if node.error is not None]:
        return ending_of(errors[0])
    if found.finished and found.tools:
        return inferred({"exit_reason": "agent_finished"})
    return {}
