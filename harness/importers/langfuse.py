"""Langfuse: traces as its API, its interface and its exports to storage give them.

Reads a trace with its ``observations`` (``{"trace": ..., "observations": [...]}``, or the trace
that the API returns), a list or JSON Lines of such traces, and observations by themselves (one a
line, or ``{"data": [...]}``), which are put together by their trace. Traces of one session are
one recording. Keys may be written ``traceId`` or ``trace_id``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.importers._base import Place
from harness.importers._folder import files_of, has_json
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._messages import loaded, moment_ns
from harness.importers._reading import json_records
from harness.importers._spans import conversations as _conversations
from harness.importers._spans import langfuse as _langfuse
from harness.importers._spans import traces as _traces
from harness.importers._spans import tree as _tree
from harness.importers._spans.span import Span
from harness.importers._spans.spool import spool

NAME = "langfuse"
TITLE = "Langfuse traces with their observations"
LACKS: tuple[str, ...] = (
    "what was said and done, where its input and output were not sent (tag content:none)",
    "outcome (Langfuse's scores measure what a team chose; none is taken for a verdict)",
    "sessions, in observations exported to storage (each trace is a recording)",
    *_traces.LACKS[2:],
)
TOKENS = _langfuse.RULE
ITERATION = (
    "One recording for each session, else for each conversation that an observation's attributes "
    "name (gen_ai.conversation.id), else for each trace. Observations of type GENERATION are model "
    "calls, TOOL executions (also SPAN where its attributes or its output say so). "
    f"{_conversations.LONE} {_tree.ITERATION}"
)
EXIT_REASON = f"The level ERROR is a failure. {_traces.EXIT_REASON}"

_OWN = {
    "type": "type", "input": "input", "output": "output", "model": "model.name",
    "usageDetails": "usage_details",
}  # fmt: skip
#: Keys of an export to storage, by those of the API.
_SNAKE = {
    "trace_id": "traceId", "parent_observation_id": "parentObservationId",
    "session_id": "sessionId", "start_time": "startTime", "end_time": "endTime",
    "status_message": "statusMessage", "usage_details": "usageDetails",
    "provided_model_name": "model",
}  # fmt: skip


def fits(head: Head) -> bool:
    """A trace with observations, an observation, or a page of either; a folder with JSON files."""
    if head.kind == "folder":
        return has_json(head)
    data = head.get("data")
    first = data[0] if isinstance(data, list) and data else head.first
    if not isinstance(first, dict):
        return False
    if isinstance(first.get("observations"), list):
        return "trace" in first or "timestamp" in first
    own = {"type", "startTime", "traceId"} <= set(first)
    return own or {"type", "start_time", "trace_id", "parent_observation_id"} <= set(first)


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each session or trace, of a file or of all below a folder together.

    Raises:
        ImportFormatError: A file is not of this format, a folder holds none, or no trace holds a
            generation.
    """
    with spool() as kept:
        for file in files_of(path, fits, TITLE):
            with intake.record(Place(file, "file")):
                for place, record in json_records(file, intake, what="trace"):
                    with intake.record(place, record):
                        kept.add(_spans(place, record))
        wanted = "a generation with input, output or usage"
        yield from _traces.recordings_in(kept, path, intake, source=NAME, wanted=wanted)


def _spans(place: Place, record: Any) -> list[Span]:
    if isinstance(record, dict) and "data" in record:
        page = place.get(record, "data", list)
        return [
            span
            for number, item in enumerate(page, 1)
            for span in _spans(place.at(f"item {number}"), item)
        ]
    if isinstance(record, dict) and not record.keys().isdisjoint(("traceId", "trace_id")):
        return [_span(place, record, {})]
    observations = place.get(record, "observations", list)
    trace = place.get_or_none(record, "trace", dict) or record
    if any(isinstance(observation, str) for observation in observations):
        raise place.error(
            "holds only the ids of its observations; export the trace itself (the API's "
            "/traces/ID) or the observations"
        )
    return [
        _span(place.at(f"observation {number}"), observation, trace)
        for number, observation in enumerate(observations, 1)
    ]


def _span(spot: Place, raw: Any, trace: dict[str, Any]) -> Span:
    own = spot.get(raw, "id", str)
    about = {_SNAKE.get(key, key): value for key, value in raw.items()}
    # Older servers call it usage.
    about["usageDetails"] = about.get("usageDetails") or about.get("usage")
    metadata = loaded(about.get("metadata"))
    kept = loaded(metadata.get("attributes")) if isinstance(metadata, dict) else None
    attributes = {k: _unboxed(v) for k, v in kept.items()} if isinstance(kept, dict) else {}
    for theirs, ours in _OWN.items():
        if about.get(theirs) is not None:
            attributes[_langfuse.PREFIX + ours] = about[theirs]
    session = spot.get_or_none(trace, "sessionId", str) or spot.get_or_none(about, "sessionId", str)
    if session is not None:
        attributes["gen_ai.conversation.id"] = session
    failed = about.get("level") == "ERROR"
    return Span(
        spot.get_or_none(about, "traceId", str) or spot.get(trace, "id", str),
        own,
        spot.get_or_none(about, "parentObservationId", str) or None,
        spot.get_or_none(about, "name", str) or spot.get(about, "type", str).lower(),
        moment_ns(spot, about.get("startTime")),
        moment_ns(spot, about.get("endTime")),
        attributes,
        status="error" if failed else "unset",
        message=spot.get_or_none(about, "statusMessage", str) or "" if failed else "",
    )


def _unboxed(value: Any) -> Any:
    """An attribute that Langfuse kept with its OTLP type, ``{"intValue": 0}``, as text."""
    if not isinstance(value, str) or not value.startswith('{"') or "Value" not in value[:16]:
        return value
    inner = loaded(value)
    single = isinstance(inner, dict) and len(inner) == 1
    return next(iter(inner.values())) if single and next(iter(inner)).endswith("Value") else value
