"""The harness's own spans of a replay: what only they tell, so that it comes back as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness import conventions as names
from harness.exits import ExitReason
from harness.ids import span_order
from harness.importers._base import Place
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.span import Span

_NUMBER = f"{names.ITERATION}number"
_SCORE = f"{names.ITERATION}score"
#: An ending that the recording did not decide: it was over, or the replay was.
_NO_ENDING = ("recording_exhausted",)


def tells(span: Span) -> bool:
    """Whether a span is one that only this module reads."""
    return _NUMBER in span.attributes


def kind_of(span: Span) -> Kind | None:
    """``other`` for what a judge, a verifier or another role replied: no iteration of its own."""
    return "other" if span.attributes.get(names.ROLE, "actor") != "actor" else None


def fill(spot: Place, span: Span, node: Node) -> None:
    """Such a reply is part of no step."""


def ordered(spans: Sequence[Span]) -> Sequence[Span]:
    """The spans in the order in which the harness made them, which their ids tell.

    Virtual times do not: where none were recorded, a whole replay takes no time. Backends give
    back the newest first, and with times that are no longer exact.
    """
    if not any(tells(span) for span in spans):
        return spans
    return sorted(spans, key=lambda s: (s.start_ns or 0, span_order(int(s.span_id, 16))))


def complete(spans: Sequence[Span], recording: dict[str, Any]) -> None:
    """Add scores and which way they are better, and how the replay ended."""
    found = {s.attributes[_NUMBER]: s.attributes.get(_SCORE) for s in spans if tells(s)}
    steps = recording["steps"]
    if len(found) != len(steps):
        return
    for step, number in zip(steps, sorted(found), strict=True):
        if found[number] is not None:
            step["score"] = found[number]
    for span in spans:
        reason = span.attributes.get(f"{names.EPISODE}exit_reason")
        if reason is None:
            continue
        if span.attributes.get(names.DIRECTION) == "lower":
            recording["direction"] = "lower"
        known = reason in set(ExitReason) and reason not in _NO_ENDING
        outcome = span.attributes.get(f"{names.EPISODE}outcome")
        recording["recorded"] = {
            **({"exit_reason": reason} if known else {}),
            **({"outcome": outcome} if isinstance(outcome, str) else {}),
        }
