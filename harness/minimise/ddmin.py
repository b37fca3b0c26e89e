"""Delta debugging: a smallest part of a list that still has a property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], holds: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of ``items`` that holds and of which no single item can be left out.

    The algorithm is ddmin (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
    input", 2002), which first asks whether nothing at all is enough.

    Args:
        items: All of them hold; that is not asked again.
        holds: Whether a part, in the order of the list, still has the property. The same answer
            each time for the same part.

    Returns:
        The part, in the order of the list. 1-minimal unless ``holds`` gave up meanwhile.
    """
    left = list(items)
    if not left or holds([]):
        return []
    pieces = 2
    while len(left) >= 2:
        chunks = _split(left, pieces)
        found = next((chunk for chunk in chunks if holds(chunk)), None)
        if found is not None:
            left, pieces = found, 2
            continue
        # With two pieces each is the other's rest.
        rests = (_without(chunks, at) for at in range(len(chunks))) if pieces > 2 else iter(())
        found = next((rest for rest in rests if holds(rest)), None)
        if found is not None:
            left, pieces = found, max(pieces - 1, 2)
        elif pieces >= len(left):
            break
        else:
            pieces = min(2 * pieces, len(left))
    return left


def _split(items: list[T], pieces: int) -> list[list[T]]:
    """Pieces of about the same length, none empty; later ones first, because endings lie late."""
    edges = [len(items) * n // pieces for n in range(pieces + 1)]
    return [items[a:b] for a, b in pairwise(edges)][::-1]


def _without(chunks: list[list[T]], at: int) -> list[T]:
    """All but one piece, in the order of the list."""
    return [item for n, chunk in reversed(list(enumerate(chunks))) if n != at for item in chunk]
