"""Stored spans to any OpenTelemetry backend, or into a file that one can read.

Ids are those under which the episodes were stored, so a second export is the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.otlp import QUEUE_SPANS, OtlpSink, otlp_json
from harness.store.database import Store
from harness.telemetry import Traced, restored

#: Episodes whose spans are read at once.
_TOGETHER = 200


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of the spans of an export.

    Attributes:
        spans: Handed over; those that a sampler leaves out are not among them.
        confirmed: Taken by the backend.
        cause: Why the first of the others were not.
    """

    episodes: int
    spans: int
    confirmed: int
    cause: str | None = None

    @property
    def lost(self) -> int:
        """Spans that nobody confirmed."""
        return self.spans - self.confirmed


def traces(store: Store, episodes: Sequence[dict[str, Any]]) -> Iterator[Traced]:
    """The spans of episodes, one episode after the other.

    Args:
        store: Where they are.
        episodes: Rows of the table ``episodes``.
    """
    for first in range(0, len(episodes), _TOGETHER):
        part = episodes[first : first + _TOGETHER]
        ids = [row["episode_id"] for row in part]
        spans: dict[str, list[dict[str, Any]]] = {}
        versions: dict[str, str] = {}
        for row in store.rows(
            "SELECT s.*, r.harness_version FROM spans s JOIN runs r USING (run_id) "
            "WHERE list_contains($ids, s.episode_id) ORDER BY s.rowid",
            {"ids": ids},
        ):
            spans.setdefault(row["episode_id"], []).append(row)
            versions[row["episode_id"]] = row["harness_version"]
        for name in ids:
            yield restored(spans[name], versions[name])


def send(found: Iterable[Traced], endpoint: str | None, on_progress: Callable[[int], None]) -> Sent:
    """Send episodes over OTLP/HTTP and wait until all are confirmed or lost.

    Args:
        found: Their spans.
        endpoint: URL; left out: the one that the standard variables name.
        on_progress: Called with episodes done.

    Raises:
        HarnessError: The endpoint or a standard variable cannot be used.
    """
    sink = OtlpSink(endpoint=endpoint)
    number = waiting = 0
    try:
        for number, traced in enumerate(found, 1):
            if waiting + len(traced.spans) > QUEUE_SPANS // 2:
                # Nobody hurries: what does not fit into the queue would be dropped.
                sink.flush()
                waiting = 0
            sink.send(traced)
            waiting += len(traced.spans)
            on_progress(number)
    finally:
        sink.close()
    return Sent(number, sink.sent, sink.confirmed, sink.cause)


def write(path: Path, found: Iterable[Traced], on_progress: Callable[[int], None]) -> Sent:
    """Write episodes as lines of OTLP/JSON, one a line; the file is written whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    number = spans = 0
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for number, traced in enumerate(found, 1):
                file.write(otlp_json(traced) + "\n")
                spans += len(traced.spans)
                on_progress(number)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return Sent(number, spans, spans)
