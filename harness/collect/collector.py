"""Spans in, recordings out: which traces are due, what they become, and what was not taken."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.clock import Clock, RealClock
from harness.collect.lines import Lines
from harness.collect.traces import Trace, Traces
from harness.errors import ImportFormatError
from harness.importers._base import Place, unique
from harness.importers.otlp import Span, events_from, grouped, recording_of, spans_from
from harness.redact import Redactor

#: A trace that nothing was heard of for this long is written as it is, and closed if its outermost
#: span has ended. Twice what an SDK waits before it sends a batch (5 s).
IDLE_MS = 10_000
#: So many traces may be open ...
MOST_TRACES = 1000
#: ... and so many bytes may they have together, about.
MOST_BYTES = 256 * 2**20


@dataclass(slots=True)
class Counts:
    """What came of what arrived.

    Attributes:
        episodes: Recordings that were written.
        steps: Model calls in them.
        spans: That were taken.
        events: Log records about spans that were taken.
        rejected: Spans and log records that were not: broken, or of a recording that is finished.
        ignored_traces: Traces that tell nothing of an agent.
        ignored_spans: Their spans.
        broken: Runs of an agent that could not be told as a recording.
        closed_early: Traces that were closed because there were too many.
        refused: Requests that were refused as a whole.
    """

    episodes: int = 0
    steps: int = 0
    spans: int = 0
    events: int = 0
    rejected: int = 0
    ignored_traces: int = 0
    ignored_spans: int = 0
    broken: int = 0
    closed_early: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """What of a request was taken: all but ``rejected``, and why those were not."""

    rejected: int = 0
    words: str = ""


def silent(words: str) -> None:
    """Tell nobody."""


class Collector:
    """Keeps a file of recordings up to date with the spans that arrive.

    Traces that share a conversation make one recording, and so do model calls of one agent that no
    span is around, by the rules of the importer ``otlp``.
    Safe to use from several threads.

    Args:
        path: The ``.jsonl`` file; lines that are there already stay.
        idle_ms: See ``IDLE_MS``.
        most: See ``MOST_TRACES``.
        most_bytes: See ``MOST_BYTES``.
        redactor: Takes secrets out before anything is written.
        tell: Told in words of what a user should know.
        clock: Tells time.

    Raises:
        OSError: The file is there and cannot be read.
        HarnessError: A file of patterns that cannot be used.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        idle_ms: int = IDLE_MS,
        most: int = MOST_TRACES,
        most_bytes: int = MOST_BYTES,
        redactor: Redactor | None = None,
        tell: Callable[[str], object] = silent,
        clock: Clock | None = None,
    ) -> None:
        self._lines = Lines(Path(path))
        self._traces = Traces(most, most_bytes)
        self._idle_ms = idle_ms
        self._redactor = redactor or Redactor()
        self._tell = tell
        self._clock = clock or RealClock()
        self._lock = threading.Lock()
        self._counts = Counts()
        #: Runs that still grow: their recording's id, and its steps.
        self._written: dict[str, tuple[str, int]] = {}
        #: Runs that cannot be told yet, and why.
        self._broken: dict[str, str] = {}
        #: What is to be told once it is on the disk.
        self._news: list[str] = []

    @property
    def counts(self) -> Counts:
        """What came of what arrived, until now."""
        with self._lock:
            growing = [steps for _, steps in self._written.values()]
            return replace(
                self._counts,
                episodes=self._counts.episodes + len(growing),
                steps=self._counts.steps + sum(growing),
            )

    def spans(self, request: Any, size: int) -> Taken:
        """Take in a request of traces.

        Args:
            request: The message of protobuf, or OTLP/JSON.
            size: Its bytes.

        Raises:
            ImportFormatError: It is no such request.
        """
        lost: list[ImportFormatError] = []
        found = spans_from(request, lost=lost.append)
        with self._lock:
            now, share = self._clock.now_ms(), size // max(1, len(found))
            taken = self._taken(lost, [self._traces.span(span, share, now) for span in found])
            self._counts.spans += len(found) + len(lost) - taken.rejected
            self._bound()
        return taken

    def events(self, request: Any, size: int) -> Taken:
        """Take in a request of log records, as ``spans``; those about no span are ignored."""
        lost: list[ImportFormatError] = []
        found = events_from(request, lost=lost.append)
        with self._lock:
            now, share = self._clock.now_ms(), size // max(1, len(found))
            taken = self._taken(lost, [self._traces.event(each, share, now) for each in found])
            self._counts.events += len(found) + len(lost) - taken.rejected
            self._bound()
        return taken

    def refuse(self) -> None:
        """Count a request that could not be read."""
        with self._lock:
            self._counts.refused += 1

    def tick(self) -> None:
        """Write what is due, close what is finished.

        Raises:
            OSError: The file cannot be written; the next call tries again.
        """
        with self._lock:
            now = self._clock.now_ms()
            for group in self._traces.groups():
                if any(each.changed and self._due(each, now) for each in group):
                    self._tell_runs(group)
                if all(self._over(each, now) for each in group):
                    self._close(group)
            news = self._write()
        for words in news:
            self._tell(words)

    def close(self) -> None:
        """Write and close everything.

        Raises:
            OSError: The file cannot be written.
        """
        with self._lock:
            while len(self._traces):
                self._end(next(iter(self._traces)))
            news = self._write()
        for words in news:
            self._tell(words)

    def _write(self) -> list[str]:
        self._lines.write()
        news, self._news = self._news, []
        return news

    def _taken(self, lost: Sequence[ImportFormatError], refused: Sequence[str | None]) -> Taken:
        words = [*map(str, lost), *(each for each in refused if each is not None)]
        self._counts.rejected += len(words)
        return Taken(len(words), words[0] if words else "")

    def _bound(self) -> None:
        while (trace := self._traces.too_many()) is not None:
            self._counts.closed_early += self._end(trace)

    def _quiet(self, trace: Trace, now: int) -> bool:
        return now - trace.seen_ms >= self._idle_ms

    def _over(self, trace: Trace, now: int) -> bool:
        # A conversation can go on at any time.
        goes_on = trace.conversations or trace.id in self._traces.runs
        return trace.whole and self._quiet(trace, now) and not goes_on

    def _due(self, trace: Trace, now: int) -> bool:
        return trace.whole or self._quiet(trace, now)

    def _end(self, trace: Trace) -> int:
        """Write a trace, with those it belongs to, for the last time; how many that were."""
        group = self._traces.related(trace)
        self._tell_runs(group)
        self._close(group)
        return len(group)

    def _tell_runs(self, group: Sequence[Trace]) -> None:
        """Bring the recordings of traces that belong together up to date."""
        before = {run for trace in group for run in trace.runs}
        spans = [span for trace in group for span in trace.joined()]
        # In the order of the importer, which counts where two began in the same millisecond.
        runs = grouped(sorted(spans, key=lambda span: span.start_ns or 0), self._traces.runs)
        for run, spans in runs.items():
            self._tell_run(run, spans)
        for run in before - runs.keys():
            self._broken.pop(run, None)
            if (gone := self._written.pop(run, None)) is not None:
                self._lines.drop(gone[0])
        traces = {run: {span.trace_id for span in found} for run, found in runs.items()}
        for trace in group:
            trace.runs = [run for run, ids in traces.items() if trace.id in ids]
            trace.changed = False

    def _tell_run(self, run: str, spans: Sequence[Span]) -> None:
        try:
            recording = _recording(run, spans)
        except ImportFormatError as error:
            # What is missing may still come.
            self._broken[run] = str(error)
            return
        self._broken.pop(run, None)
        if recording is None:
            return
        found = self._written.get(run)
        name = unique(recording["id"], self._lines.ids) if found is None else found[0]
        steps = len(recording["steps"])
        self._written[run] = name, steps
        self._lines.put(name, json.dumps(self._redactor.value({**recording, "id": name})))
        if found is None:
            self._news.append(f"{name}: {steps} steps")

    def _close(self, group: Sequence[Trace]) -> None:
        runs = dict.fromkeys(run for trace in group for run in trace.runs)
        written = [found for run in runs if (found := self._written.pop(run, None)) is not None]
        for name, steps in written:
            self._lines.finish(name)
            self._counts.episodes += 1
            self._counts.steps += steps
        broken = [words for run in runs if (words := self._broken.pop(run, None)) is not None]
        for words in broken:
            self._counts.broken += 1
            self._news.append(words)
        if not written and not broken:
            self._counts.ignored_traces += len(group)
            self._counts.ignored_spans += sum(len(trace.spans) for trace in group)
        for trace in group:
            self._traces.close(trace)


def _recording(run: str, spans: Sequence[Span]) -> dict[str, Any] | None:
    """The recording of a run, which is a valid scenario; ``None`` where it tells of no agent."""
    from pydantic import ValidationError

    from harness.scenario import Scenario
    from harness.validation import problem

    place = Place(Path("collect"), f"run {run}")
    if (recording := recording_of(spans, run, place)) is None:
        return None
    try:
        Scenario.model_validate(recording)
    except ValidationError as error:
        raise place.error(f"scenario{problem(error)}") from error
    return recording
