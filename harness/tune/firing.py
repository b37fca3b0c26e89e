"""First firings as one number a cell: the arithmetic below the sweep.

A cell (a preset and an episode) is one integer, its *key*: the iteration at which something ends
the loop, counted from 0, then the place of what does so in the decision chain. The lowest key of
any guard or mechanism is what ends the loop, so a sweep is a minimum over tables of keys:

- a guard fires first where its running maximum reaches the threshold, so for all thresholds at
  once the firing is a step function that one pass over the iterations fills in;
- a preset picks one row of each guard's table by its threshold.

Keys are 16 bits wide where they fit, and work goes part by part through the cache.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from harness.guards import Guard
from harness.tune.corpus import Corpus
from harness.tune.readings import Floats, Ints

Keys = npt.NDArray[Any]
#: Keys of one block of presets that stay in the cache while tables are picked from.
_BLOCK = 1 << 16
#: Keys of all tables of one part.
_TABLE = 1 << 22
#: Most episodes of one part.
PART = 511
#: Room for iterations, by iterations that there are, up to which lengths are not told apart.
_PADDING = 3
T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class Column:
    """One guard for all presets.

    Attributes:
        guard: Says how signal and threshold compare.
        signals: Its readings, flat.
        code: Its place in the decision chain, from 1, among all that can end a loop here.
        thresholds: One a preset; NaN where the preset lacks the guard or only observes it.
    """

    guard: Guard
    signals: Floats
    code: int
    thresholds: Floats


@dataclass(frozen=True)
class Levels:
    """A column's thresholds for one direction of scores, each once.

    Attributes:
        sign: 1 where high signals fire, else -1.
        strict: Whether a signal equal to the threshold does not fire.
        distinct: Signed thresholds in rising order.
        row: By preset, which of them; one past the last where the guard is off.
    """

    sign: float
    strict: bool
    distinct: Floats
    row: Ints


def levels(column: Column, *, lower: bool) -> Levels:
    """The thresholds of a column, ready to be compared."""
    compares = column.guard.compares("lower" if lower else "higher")
    sign = 1.0 if compares == ">=" else -1.0
    distinct, row = np.unique(sign * column.thresholds, return_inverse=True)
    return Levels(sign, compares == "<", distinct[~np.isnan(distinct)], row)


@dataclass(frozen=True)
class Part:
    """Episodes that are worked on together: of like length, and with one direction of scores."""

    episodes: Ints
    width: int
    lower: bool


def parts(corpus: Corpus, presets: int, members: Ints | None = None) -> list[Part]:
    """All episodes, or these, in parts; which ones depends on nothing but their lengths."""
    chosen = np.arange(len(corpus)) if members is None else members
    lengths = corpus.lengths[chosen]
    size = corpus.lower[chosen].astype(np.int64)
    if int(lengths.max(initial=1)) * len(chosen) > _PADDING * int(lengths.sum()):
        # Lengths within a factor of four share a part: cells do not pay for width, tables do.
        size += (np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64) + 1) // 2 * 2
    most = min(PART, max(64, _TABLE // max(1, presets)))
    found = []
    for bucket in np.unique(size):
        inside = chosen[size == bucket]
        for at in range(0, len(inside), most):
            episodes = inside[at : at + most]
            width = int(corpus.lengths[episodes].max())
            found.append(Part(episodes, width, bool(corpus.lower[episodes[0]])))
    return found


def shift_for(codes: int) -> int:
    """Bits that hold the codes 0 (nothing) to ``codes``."""
    return max(1, int(codes).bit_length())


def key_type(width: int, shift: int) -> type[np.signedinteger[Any]]:
    """The narrowest integers that hold every key of episodes of this width."""
    return np.int16 if (width + 1) << shift <= np.iinfo(np.int16).max else np.int32


def firing_keys(
    corpus: Corpus,
    part: Part,
    columns: Sequence[tuple[Column, Levels]],
    presets: int,
    fixed: Ints,
    shift: int,
) -> Iterator[tuple[slice, Keys]]:
    """Keys of all presets over the episodes of a part, in blocks of presets.

    Args:
        corpus: What was observed.
        part: Which episodes.
        columns: Guards with their thresholds for the part's direction.
        presets: How many there are.
        fixed: Key of each episode at which a mechanism ends it; ``width << shift`` for none.
        shift: Bits of a key that say what ended the loop.

    Yields:
        Which presets, and their keys: presets by episodes. The same array is used again.
    """
    kind = key_type(part.width, shift)
    cells = cells_of(corpus, part.episodes)
    tables = [_table(cells, column, level, part.width, shift, kind) for column, level in columns]
    step = max(1, _BLOCK // len(part.episodes))
    start = fixed.astype(kind)
    first = np.empty((min(step, presets), len(part.episodes)), dtype=kind)
    picked = np.empty_like(first)
    for begin in range(0, presets, step):
        rows = slice(begin, min(begin + step, presets))
        here = first[: rows.stop - begin]
        buffer = picked[: rows.stop - begin]
        here[:] = start
        for table, row in tables:
            np.take(table, row[rows], axis=0, out=buffer, mode="clip")
            np.minimum(here, buffer, out=here)
        yield rows, here


def _table(
    cells: Ints, column: Column, level: Levels, width: int, shift: int, kind: type[Any]
) -> tuple[Keys, Ints]:
    """Keys by level and episode, and the level of each preset."""
    where, at, values = records(column.signals, cells, level.sign)
    side = "left" if level.strict else "right"
    # How many of the thresholds, in rising order, each highest signal reaches; an unknown one
    # reaches none, not even minus infinity.
    reached = np.searchsorted(level.distinct, values, side=side)  # type: ignore[call-overload]
    reached[np.isnan(values)] = 0
    # Thresholds between which no signal lies fire alike, so they share a row.
    used = np.zeros(len(level.distinct) + 1, dtype=bool)
    used[reached] = True
    rank = np.cumsum(used)
    count, episodes = int(rank[-1]), len(cells)
    compact = rank[reached] - 1
    block = max(1, math.isqrt(count + 2))
    table = np.full((-(-(count + 2) // block) * block, episodes), column.code, dtype=kind)
    # Row r: the first iteration whose level is r or more. The last iteration of each level is
    # noted once, and a running maximum carries it upwards.
    last = np.ones(len(where), dtype=bool)
    last[:-1] = (where[1:] != where[:-1]) | (compact[1:] != compact[:-1])
    table[compact[last] + 1, where[last]] = ((at[last] + 1) << shift) + column.code
    _carry_up(table.reshape(-1, block, episodes))
    table[count + 1] = width << shift
    # Where the guard is off, its row is that last one, which never fires.
    return table, np.append(rank[: len(level.distinct)], count + 1)[level.row]


def records(signals: Floats, cells: Ints, sign: float) -> tuple[Ints, Ints, Floats]:
    """Highest signals so far, each with the last iteration before a higher one.

    Args:
        signals: Flat readings.
        cells: Which of them, episodes by iterations; behind an episode's end its last one.
        sign: 1 where high signals count, -1 where low ones do.

    Returns:
        Episode (row of ``cells``), iteration (column) and signed signal, ordered by episode and
        iteration; unknown ones (NaN) come before the first that was measured.
    """
    values = signals[cells]
    if sign < 0:
        np.negative(values, out=values)
    highest = np.fmax.accumulate(values, axis=1)
    last = np.ones(highest.shape, dtype=bool)
    np.not_equal(highest[:, :-1], highest[:, 1:], out=last[:, :-1])
    where, at = np.nonzero(last)
    return where, at, highest[last]


def cells_of(corpus: Corpus, episodes: Ints) -> Ints:
    """Flat numbers of iterations, one row an episode; behind its end the last one again."""
    lengths = corpus.lengths[episodes]
    columns = np.arange(int(lengths.max(initial=1)))
    numbers: Ints = corpus.offsets[episodes][:, None] + np.minimum(columns, lengths[:, None] - 1)
    return numbers


def _carry_up(blocks: Keys) -> None:
    """Running maximum over all rows, in place: within blocks, over blocks, then down into them.

    ``np.maximum.accumulate`` along the first axis takes four times as long.
    """
    for at in range(1, blocks.shape[1]):
        np.maximum(blocks[:, at], blocks[:, at - 1], out=blocks[:, at])
    for at in range(1, len(blocks)):
        np.maximum(blocks[at, -1], blocks[at - 1, -1], out=blocks[at, -1])
    np.maximum(blocks[1:, :-1], blocks[:-1, -1:], out=blocks[1:, :-1])


def threads() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(work: Callable[[S], T], over: Iterable[S], workers: int | None = None) -> Iterator[T]:
    """Results in order, worked out by several threads: NumPy lets them run side by side.

    Only a few results wait to be taken, so that memory stays bounded.
    """
    count = workers or threads()
    if count == 1:
        yield from map(work, over)
        return
    with ThreadPoolExecutor(count) as pool:
        waiting = []
        for item in over:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * count:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
