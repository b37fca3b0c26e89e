"""Spans as nodes: which convention a span follows, and what it says in it."""

from __future__ import annotations

from harness.conventions import TIME_KNOWN
from harness.importers._base import Place
from harness.importers._spans import agents_sdk as _agents_sdk
from harness.importers._spans import genai as _genai
from harness.importers._spans import langfuse as _langfuse
from harness.importers._spans import langsmith as _langsmith
from harness.importers._spans import openinference as _openinference
from harness.importers._spans import own as _own
from harness.importers._spans import vercel as _vercel
from harness.importers._spans.node import Kind, Node
from harness.importers._spans.span import Span

#: In this order; spans that follow several say the most in the first.
_DIALECTS = (_own, _agents_sdk, _langsmith, _langfuse, _openinference, _vercel, _genai)


def kind_of(span: Span) -> Kind:
    """What a span is, by the first convention that it follows; ``other`` where it follows none."""
    kinds = (dialect.kind_of(span) for dialect in _DIALECTS)
    return next((kind for kind in kinds if kind is not None), "other")


def is_model_call(span: Span) -> bool:
    """Whether a span is a model call, or wraps one as if it were."""
    return kind_of(span) == "llm"


def node_from(spot: Place, span: Span) -> Node:
    """What one span tells.

    Args:
        spot: The span, for messages.
        span: With the events that belong to it.

    Raises:
        ImportFormatError: A value has a type that its convention does not allow.
    """
    node = Node(
        # A conversation may go over traces, and an id holds within one.
        f"{span.trace_id}/{span.span_id}",
        None if span.parent_id is None else f"{span.trace_id}/{span.parent_id}",
        kind_of(span),
        span.name,
        _ms(span.start_ns),
        # The harness's own spans say where a time was not recorded.
        None if span.attributes.get(TIME_KNOWN) is False else _ms(span.end_ns),
        error=span.error,
    )
    for dialect in _DIALECTS:
        if dialect.kind_of(span) is not None:
            try:
                dialect.fill(spot, span, node)
            except RecursionError:
                raise spot.error("an attribute holds JSON that is nested too deeply") from None
            break
    return node


def _ms(ns: int | None) -> int | None:
    # Backends that keep times as floating point numbers give them back a little too small.
    return None if ns is None else (ns + 500_000) // 1_000_000
