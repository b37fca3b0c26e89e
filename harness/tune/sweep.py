"""The exact sweep: where any passive preset would have ended every observed episode.

First firings by guard as a step function of its threshold, the minimum over guards in the order
of the decision chain. No loop is run; for passive presets the result is that of running the loop
(the threshold law). Where a cell cannot be known from what was observed, it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from harness.exits import ExitReason
from harness.preset import Preset
from harness.tune.corpus import Corpus, Ints
from harness.tune.firing import Keys, spread
from harness.tune.readings import Flags, structure
from harness.tune.shapes import Shape, passive, shapes
from harness.tune.swept import Batch, Piece, batches

Small = npt.NDArray[np.int32]
Number = TypeVar("Number", np.float64, np.int64, np.bool_)
#: Cells (presets times episodes) that a caller should ask for at a time; bounds the memory.
CELLS = 8_000_000
#: Rows that are decoded together.
_ROWS = 64


@dataclass(frozen=True)
class Exits:
    """Where presets (rows) end episodes (columns).

    Attributes:
        iteration: The last iteration that runs.
        by: Which condition ended it: index into ``reasons``; -1 where the recording ran out.
        reasons: Exit reasons, and the guard that gives each (empty for a mechanism).
        swept: False where a cell has to be replayed instead; its values mean nothing.
    """

    iteration: Small
    by: Small
    reasons: tuple[tuple[ExitReason, str], ...]
    swept: npt.NDArray[np.bool_]


def why_replayed(preset: Preset, base: Preset) -> str | None:
    """Why a preset cannot be swept over what another one observed; ``None`` if it can.

    Args:
        preset: The candidate.
        base: The preset under which the corpus was observed.
    """
    return why_intervenes(preset) or why_unobserved(preset, base) or why_other(preset, base)


def why_intervenes(preset: Preset) -> str | None:
    """Why a preset changes the course of a loop before it ends it; ``None`` if it does not."""
    for name, guard in preset.guards.items():
        if not passive(guard):
            return f"guard {name} intervenes (on_fire)"
        if guard.threshold != guard.threshold:
            return f"guard {name}: its threshold is no number"
    return None


def why_unobserved(preset: Preset, base: Preset) -> str | None:
    """Why readings of a preset's guards are missing; ``None`` if all are there."""
    for name, guard in preset.guards.items():
        known = base.guards.get(name)
        if known is None:
            return f"guard {name} was not observed"
        if structure(guard) != structure(known):
            return f"guard {name} has other settings than observed"
    return None


def why_other(preset: Preset, base: Preset) -> str | None:
    """Why the loop around the guards was another one; ``None`` if it was the same."""
    if preset.mechanisms != base.mechanisms:
        return "its mechanisms differ from those observed"
    if (preset.wait_ms, preset.models) != (base.wait_ms, base.models):
        return "its settings differ from those observed"
    if preset.mechanisms.structured_issues and _quality(preset) != _quality(base):
        return "structured issues read the quality threshold"
    return None


def _quality(preset: Preset) -> list[float]:
    return [g.threshold for g in preset.guards.values() if g.kind() == "quality"]


def exits(corpus: Corpus, presets: Sequence[Preset], *, workers: int | None = None) -> Exits:
    """Where each preset would have ended each episode.

    Args:
        corpus: What was observed.
        presets: Passive presets over the guards that were observed (see ``why_replayed``).
        workers: Threads; as many as there are processors where left out.

    Returns:
        Arrays of presets by episodes. Not swept are: presets that intervene; a guard that was
        not observed in an episode with these settings; cells that end by a pause which the
        recording answers; cells that reach a turn whose judge was read although triage had
        decided; and in episodes with phases those that end by a guard's success, which an open
        check may veto, or by a later path of the decision chain where a phase is done.
    """
    return exits_of(corpus, shapes(presets), workers=workers)


def exits_of(corpus: Corpus, presets: list[Shape], *, workers: int | None = None) -> Exits:
    """As ``exits``, for presets that are thresholds already (``harness.tune.shapes``)."""
    size = (sum(len(shape.rows) for shape in presets), len(corpus))
    found = Exits(
        np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), (), np.ones(size, bool)
    )
    reasons: dict[tuple[ExitReason, str], int] = {}
    for batch in batches(corpus, presets):
        # Code 0 is nothing, which is -1.
        places = [-1, *(reasons.setdefault(reason, len(reasons)) for reason in batch.reasons)]
        keys = np.empty((len(batch.rows), len(corpus)), dtype=batch.key_type)
        swept = np.ones(keys.shape, dtype=bool)
        inverse = _gathered(batch, keys, swept, workers)
        _decode(corpus, batch, keys, inverse, np.array(places, dtype=np.int32), found, workers)
        found.swept[batch.rows] = swept
    return replace(found, reasons=tuple(reasons))


def _gathered(batch: Batch, keys: Keys, swept: Flags, workers: int | None) -> Ints | None:
    """Fill ``keys`` piece by piece, each with its columns side by side.

    Returns:
        Where each episode's column is; ``None`` where they are in order already.
    """
    pieces = batch.pieces
    ends = np.cumsum([len(piece.episodes) for piece in pieces], dtype=np.int64)

    def work(item: tuple[int, Piece]) -> None:
        end, piece = item
        begin = end - len(piece.episodes)
        for rows, block in piece.blocks():
            keys[rows, begin:end] = block
            flags = piece.swept(rows, block)
            if flags is not None:
                swept[rows, piece.episodes] = flags

    for _ in spread(work, zip(ends.tolist(), pieces, strict=True), workers):
        pass
    order = np.concatenate([piece.episodes for piece in pieces]) if pieces else ends
    if np.array_equal(order, np.arange(len(order))):
        return None
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def _decode(
    corpus: Corpus,
    batch: Batch,
    keys: Keys,
    inverse: Ints | None,
    places: Small,
    found: Exits,
    workers: int | None,
) -> None:
    """Keys as iterations and conditions, in the order of presets and episodes."""
    lengths = corpus.lengths.astype(keys.dtype)
    mask = keys.dtype.type((1 << batch.shift) - 1)
    plain = np.array_equal(places, np.arange(-1, len(places) - 1))
    in_order = np.array_equal(batch.rows, np.arange(batch.rows[0], batch.rows[0] + len(keys)))

    def work(begin: int) -> None:
        block = keys[begin : begin + _ROWS]
        if inverse is not None:
            block = np.take(block, inverse, axis=1)
        first = int(batch.rows[0]) + begin
        rows = slice(first, first + len(block)) if in_order else batch.rows[begin : begin + _ROWS]
        at = block >> batch.shift
        at += 1
        found.iteration[rows] = np.minimum(at, lengths, out=at)
        block &= mask
        found.by[rows] = np.subtract(block, 1, out=block) if plain else places[block]

    for _ in spread(work, range(0, len(keys), _ROWS), workers):
        pass


def values_at(
    corpus: Corpus, iteration: Small, values: npt.NDArray[Number], *, workers: int | None = None
) -> npt.NDArray[Number]:
    """What each cell has come to: entries of a flat array, such as ``corpus.cost``.

    Args:
        corpus: What was observed.
        iteration: Presets by episodes: the last iteration, within the episode's length.
        values: Flat, one an iteration.
        workers: Threads; as many as there are processors where left out.
    """
    found = np.empty(iteration.shape, dtype=values.dtype)
    before = corpus.offsets[:-1] - 1

    def work(begin: int) -> None:
        rows = slice(begin, begin + _ROWS)
        np.take(values, before + iteration[rows], out=found[rows], mode="clip")

    for _ in spread(work, range(0, len(iteration), _ROWS), workers):
        pass
    return found
