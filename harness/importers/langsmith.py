"""LangSmith: runs as its API, its SDK and its bulk export give them.

Reads JSON Lines or a list of runs (also ``{"runs": [...]}``, as the API answers), each with its
``run_type``, ``inputs`` and ``outputs``; children may stand beside it (``parent_run_id``) or within
(``child_runs``). Runs are put together by trace, traces by the thread that their metadata name.
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
from harness.importers._spans import langsmith as _langsmith
from harness.importers._spans import traces as _traces
from harness.importers._spans import tree as _tree
from harness.importers._spans.span import Span
from harness.importers._spans.spool import spool

NAME = "langsmith"
TITLE = "LangSmith runs"
LACKS: tuple[str, ...] = (
    "what was said and done, where its inputs and outputs are hidden (tag content:none)",
    "outcome (feedback measures what a team chose; none is taken for a verdict)",
    *_traces.LACKS[2:],
)
TOKENS = _langsmith.RULE
ITERATION = (
    "One recording for each thread (session_id, thread_id or conversation_id of the metadata), "
    "else for each trace. Runs of type llm are model calls, tool executions. "
    f"{_conversations.LONE} {_tree.ITERATION}"
)
EXIT_REASON = _traces.EXIT_REASON

#: Keys of the metadata by which LangSmith itself puts traces together as threads.
_THREADS = ("session_id", "thread_id", "conversation_id")
_OWN = (
    "run_type", "inputs", "outputs", "extra", "prompt_tokens", "completion_tokens",
    "prompt_token_details", "completion_token_details",
)  # fmt: skip
_TRACEBACK = "Traceback (most recent call last)"


def fits(head: Head) -> bool:
    """A run, alone, in a list, or the first of many lines; a folder with JSON files."""
    if head.kind == "folder":
        return has_json(head)
    runs = head.get("runs")
    first = runs[0] if isinstance(runs, list) and runs else head.first
    return isinstance(first, dict) and {"run_type", "inputs", "start_time"} <= set(first)


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each thread or trace, of a file or of all below a folder together.

    Raises:
        ImportFormatError: A file is not of this format, a folder holds none, or no run is a model
            call.
    """
    with spool() as kept:
        for file in files_of(path, fits, TITLE):
            with intake.record(Place(file, "file")):
                for place, run in _runs(file, intake):
                    with intake.record(place, run):
                        kept.add(_spans(place, run, None, None))
        wanted = "a run of type llm"
        yield from _traces.recordings_in(kept, path, intake, source=NAME, wanted=wanted)


def _runs(file: Path, intake: Intake) -> Iterator[tuple[Place, Any]]:
    for place, record in json_records(file, intake, what="run"):
        if isinstance(record, dict) and "runs" in record:
            for number, run in enumerate(place.get(record, "runs", list), 1):
                yield place.at(f"run {number}"), run
        else:
            yield place, record


def _spans(place: Place, run: Any, parent: str | None, trace: str | None) -> list[Span]:
    own = place.get(run, "id", str)
    trace = place.get_or_none(run, "trace_id", str) or trace or own
    kind = place.get(run, "run_type", str)
    attributes = {_langsmith.PREFIX + k: loaded(run[k]) for k in _OWN if run.get(k) is not None}
    if (thread := _thread(attributes.get(f"{_langsmith.PREFIX}extra"))) is not None:
        attributes["langsmith.trace.session_id"] = thread
    error = place.get_or_none(run, "error", str)
    found = [
        Span(
            trace,
            own,
            place.get_or_none(run, "parent_run_id", str) or parent,
            place.get_or_none(run, "name", str) or kind,
            moment_ns(place, run.get("start_time")),
            moment_ns(place, run.get("end_time")),
            attributes,
            status="error" if error else "unset",
            message=_words(error or ""),
        )
    ]
    for number, child in enumerate(place.get_or_none(run, "child_runs", list) or (), 1):
        found += _spans(place.at(f"child {number}"), child, own, trace)
    return found


def _thread(extra: Any) -> str | None:
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    if not isinstance(metadata, dict):
        return None
    return next((metadata[key] for key in _THREADS if isinstance(metadata.get(key), str)), None)


def _words(error: str) -> str:
    """The error without its traceback, which names it last."""
    before, _, traced = error.strip().partition(_TRACEBACK)
    lines = (before or traced).strip().splitlines()
    return (lines[0] if before else lines[-1]) if lines else ""
