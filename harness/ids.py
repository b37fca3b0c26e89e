"""Ids: the same work has the same id on every machine and in every run."""

from __future__ import annotations

from harness.fingerprint import digest

_SPAN_MASK = (1 << 64) - 1
#: An odd multiplier visits every id once; neighbours do not look alike.
_SPAN_FACTOR = 0x9E3779B97F4A7C15


def episode_id(run_id: str, pair_key: str) -> str:
    """Id of one episode: only a resumed or retried episode has the same one again."""
    return digest("episode", run_id, pair_key)


def trace_id(episode: str) -> int:
    """128-bit trace id of an episode, never 0."""
    return int(digest("trace", episode) + digest("trace2", episode), 16) or 1


def span_ids(episode: str) -> SpanIds:
    """The span ids of an episode, in order of use."""
    return SpanIds(int(digest("spans", episode), 16))


def span_order(span_id: int) -> int:
    """A number that grows from each span id of an episode to the next one used."""
    return (span_id * pow(_SPAN_FACTOR, -1, 1 << 64)) & _SPAN_MASK


class SpanIds:
    """Counts through 64-bit span ids from a start that belongs to one episode; never 0."""

    __slots__ = ("_next",)

    def __init__(self, start: int) -> None:
        self._next = start

    def take(self) -> int:
        """The next id."""
        self._next = (self._next + 1) & _SPAN_MASK
        return (self._next * _SPAN_FACTOR) & _SPAN_MASK or 1
