"""any-agent: traces of Mozilla's any-agent, one run a file.

A run of whichever framework is ``{"spans": [...], "final_output": ...}``; its spans follow
OpenTelemetry's conventions for generative AI, with names of their own for arguments and results.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place, inferred, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_document
from harness.importers._spans.dump import is_span, span_from
from harness.importers._spans.traces import EXIT_REASON as SPANS_EXIT_REASON
from harness.importers._spans.traces import ITERATION, LACKS, TOKENS, recording_of

__all__ = ["EXIT_REASON", "ITERATION", "LACKS", "NAME", "TITLE", "TOKENS", "fits", "read"]

NAME = "any-agent"
TITLE = "traces of Mozilla's any-agent, over seven frameworks"
EXIT_REASON = f"A run with a final output and no error is agent_finished. {SPANS_EXIT_REASON}"


def fits(head: Head) -> bool:
    """One object with spans and a final output."""
    spans = head.get("spans")
    return head.kind == "object" and isinstance(spans, list) and bool(spans) and is_span(spans[0])


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for a file, or for each ``*.json`` file below a folder.

    Raises:
        ImportFormatError: A file is not of this format, or a folder holds none.
    """
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.json file")
    seen: dict[str, int] = {}
    for file in files:
        place = Place(file, "trace")
        with intake.record(place):
            intake.raw = run = json_document(file, intake)
            yield _recording(place, run, seen)


def _recording(place: Place, run: Any, seen: dict[str, int]) -> dict[str, Any]:
    raw = place.get(run, "spans", list)
    spans = [span_from(place.at(f"span {number}"), item) for number, item in enumerate(raw, 1)]
    if not spans:
        raise place.error("key 'spans' is empty; expected the spans of a run")
    recording = recording_of(spans, place.path.stem, place, source=NAME)
    if recording is None:
        raise place.error(f"none of its {len(spans)} spans is a model call")
    ended = recording["recorded"]
    if not ended and run.get("final_output") is not None:
        ended = inferred({"exit_reason": "agent_finished"})
    return {**recording, "id": unique(recording["id"], seen), "recorded": ended}
