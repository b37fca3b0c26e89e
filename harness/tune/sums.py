"""Totals by preset without the cells: what a search over many presets and episodes can hold.

Cells are summed part by part while their keys are in the cache, so memory is that of one part of
the episodes and of one row of totals for each preset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.preset import Preset
from harness.tune.corpus import Corpus, Flags, Floats, Ints
from harness.tune.firing import PART, Keys, cells_of, spread
from harness.tune.shapes import Shape, shapes
from harness.tune.swept import Piece, batches
from harness.tune.value import by_label, labelled, successes

#: Counts that are summed as one number: so many bits each, as a part has fewer episodes.
_BITS = int(PART).bit_length()
_COUNTED = (
    "early", "false_stops", "unscored", "censored", "success_low", "success_high", "unpriced",
)  # fmt: skip


@dataclass(frozen=True)
class Sums:
    """Totals over the swept cells, one entry a preset.

    Attributes:
        cells: Episodes that could be swept; nothing else is in the totals.
        iterations: Iterations that ran.
        cost: Cost of all roles (pico-USD), the known part.
        role_cost: The part that judges, verifiers and other roles took.
        tokens: Tokens of all roles, the known part.
        lost: How much better the best scores of whole recordings are, over scored episodes.
        early: Episodes that a guard or mechanism ended before the recording did.
        false_stops: Early ends although going on would have paid (see ``harness.tune.value``).
        unscored: Episodes of which nothing was scored by their end, so ``lost`` is unknown.
        censored: Episodes that reached the end of a recording that was cut off.
        success_low: Certain successes.
        success_high: Possible successes.
        unpriced: Episodes whose cost is known in part only.
    """

    cells: Ints
    iterations: Ints
    cost: Ints
    role_cost: Ints
    tokens: Ints
    lost: Floats
    early: Ints
    false_stops: Ints
    unscored: Ints
    censored: Ints
    success_low: Ints
    success_high: Ints
    unpriced: Ints


def sums(corpus: Corpus, presets: Sequence[Preset], *, workers: int | None = None) -> Sums:
    """Totals of passive presets over all episodes; see ``harness.tune.sweep.exits``.

    Args:
        corpus: What was observed.
        presets: Passive presets over the guards that were observed.
        workers: Threads; as many as there are processors where left out.
    """
    return sums_of(corpus, shapes(presets), workers=workers)


def sums_of(corpus: Corpus, presets: list[Shape], *, workers: int | None = None) -> Sums:
    """As ``sums``, for presets that are thresholds already (``harness.tune.shapes``)."""
    count = sum(len(shape.rows) for shape in presets)
    total: dict[str, Any] = {
        one.name: np.zeros(count, dtype=np.float64 if one.name == "lost" else np.int64)
        for one in fields(Sums)
    }
    tables = _tables(corpus)
    for batch in batches(corpus, presets):
        # Parts are added in order, so that sums of floats do not depend on the workers.
        for part in spread(lambda piece: _summed(piece, tables), batch.pieces, workers):
            for name, values in part.items():
                total[name][batch.rows] += values
    return Sums(**total)


def worth(corpus: Corpus) -> dict[str, npt.NDArray[Any]]:
    """What each iteration is worth as the last one, flat; the meanings are those of ``Sums``.

    ``lost`` is NaN where nothing is scored.
    """
    lengths = corpus.lengths
    last = np.repeat(corpus.offsets[1:] - 1, lengths)
    sign = np.repeat(np.where(corpus.lower, -1.0, 1.0), lengths)
    whole = corpus.best[last]
    lost = np.maximum(sign * (whole - corpus.best), 0.0)
    early = np.arange(len(last)) < last
    won = np.repeat(successes(corpus), lengths)
    later = np.where(np.isnan(whole), won, np.isnan(corpus.best) | (lost > 0))
    if corpus.labels:
        number = np.arange(len(last)) - np.repeat(corpus.offsets[:-1] - 1, lengths)
        bounds = (np.repeat(bound, lengths) for bound in labelled(corpus))
        later = by_label(later, number, *bounds)
    cut = np.repeat(np.array([label == "censored" for label in corpus.replay], bool), lengths)
    return {
        "early": early,
        "false_stops": early & later,
        "unscored": np.isnan(lost),
        "censored": ~early & cut,
        "success_low": ~early & won,
        "success_high": early | won,
        "unpriced": ~corpus.cost_known,
        "lost": lost,
    }


def _tables(corpus: Corpus) -> dict[str, npt.NDArray[Any]]:
    """All that is summed, flat; counts packed into one number."""
    values = worth(corpus)
    lost = np.nan_to_num(values.pop("lost"))
    packed = np.zeros(len(lost), dtype=np.int64)
    for place, name in enumerate(_COUNTED):
        packed += values[name].astype(np.int64) << (place * _BITS)
    found = {"cost": corpus.cost, "tokens": corpus.tokens, "packed": packed}
    if corpus.role_cost.any():
        found["role_cost"] = corpus.role_cost
    return found | {"lost": lost} if lost.any() else found


def _summed(piece: Piece, tables: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Totals of one part."""
    cells = cells_of(piece.corpus, piece.episodes)
    width = cells.shape[1]
    # A last entry for cells that are not swept: they are worth nothing.
    local = {name: np.append(values[cells].ravel(), 0) for name, values in tables.items()}
    lengths = piece.corpus.lengths[piece.episodes]
    base = np.arange(len(cells)) * width
    count = len(piece.observing)
    found: dict[str, npt.NDArray[Any]] = {
        name: np.zeros(count, dtype=values.dtype) for name, values in local.items()
    }
    found |= {name: np.zeros(count, dtype=np.int64) for name in ("cells", "iterations")}
    for rows, block in piece.blocks():
        flags = piece.swept(rows, block)
        _add(found, rows, _numbers(block, piece.shift, width), flags, (local, base, lengths))
    packed = found.pop("packed")
    for place, name in enumerate(_COUNTED):
        found[name] = (packed >> (place * _BITS)) & ((1 << _BITS) - 1)
    return found


def _numbers(block: Keys, shift: int, width: int) -> Ints:
    """Last iterations, from 0."""
    at = block >> shift
    return np.asarray(np.minimum(at, width - 1, out=at), dtype=np.int64)


def _add(
    found: dict[str, npt.NDArray[Any]],
    rows: slice,
    at: Ints,
    flags: Flags | None,
    part: tuple[dict[str, npt.NDArray[Any]], Ints, Ints],
) -> None:
    local, base, lengths = part
    ran = np.minimum(at + 1, lengths)
    at += base
    if flags is None:
        found["cells"][rows] = len(base)
    else:
        found["cells"][rows] = flags.sum(axis=1)
        ran[~flags] = 0
        at[~flags] = len(base) * (len(local["packed"]) // len(base))
    found["iterations"][rows] = ran.sum(axis=1)
    picked = np.empty(at.shape, dtype=np.int64)
    for name, values in local.items():
        into = picked if values.dtype == np.int64 else picked.view(values.dtype)
        np.take(values, at, out=into, mode="clip")
        found[name][rows] = into.sum(axis=1)
