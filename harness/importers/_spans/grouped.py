"""Spans in memory by the run that they are part of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.importers._spans.conversations import Link, named_by, runs_of
from harness.importers._spans.parted import part_name, parted
from harness.importers._spans.rootless import call_of, joined
from harness.importers._spans.span import Span


def grouped(spans: Iterable[Span], runs: Mapping[str, str] | None = None) -> dict[str, list[Span]]:
    """Spans in memory by their run, in the order in which the runs came.

    Args:
        spans: With the events that belong to them.
        runs: The runs of the traces that ``call_of`` tells of, as ``joined`` sorts them; left out:
            as it sorts those that are here.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    if runs is None:
        runs = joined(filter(None, map(call_of, traces.values())))
    found: dict[str, list[Span]] = {}
    for trace_id, members in traces.items():
        links = [Link(span.span_id, span.parent_id, named_by(span)) for span in members]
        of = runs_of(runs.get(trace_id, trace_id), links)
        for span in members:
            found.setdefault(of[span.span_id], []).append(span)
    return {
        part_name(run, number): part
        for run, members in found.items()
        for number, part in enumerate(parted(members), 1)
    }
