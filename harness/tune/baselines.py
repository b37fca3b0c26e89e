"""What a preset has to beat: running to the end, counting steps, and knowing the best stop."""

from __future__ import annotations

import numpy as np

from harness.tune.corpus import Corpus, Flags, Ints
from harness.tune.sweep import Small
from harness.tune.totals import Sums, Unit
from harness.tune.value import at_iterations, successes

#: So many step counts are tried; of longer runs, those at equal quantiles of the lengths.
_COUNTS = 400


def step_counts(corpus: Corpus) -> Ints:
    """Fixed numbers of steps worth trying, up to the longest recording."""
    longest = int(corpus.lengths.max(initial=1))
    if longest <= _COUNTS:
        return np.arange(1, longest + 1, dtype=np.int64)
    found = np.quantile(corpus.lengths, np.linspace(0, 1, _COUNTS), method="nearest")
    early = np.arange(1, _COUNTS // 2)
    return np.unique(np.concatenate([early, found.astype(np.int64), [longest]]))


def after(corpus: Corpus, steps: int) -> Small:
    """Where a fixed number of steps ends each episode."""
    return np.minimum(corpus.lengths, steps).astype(np.int32)


def to_the_end(corpus: Corpus) -> Small:
    """Where the recordings end."""
    return corpus.lengths.astype(np.int32)


def oracle(corpus: Corpus) -> Small:
    """The first iteration with the best score, which nobody knows beforehand.

    Where nothing is scored: the end of a run that succeeded, the first iteration of one that is
    known not to have, and the end where nobody knows.
    """
    last = corpus.offsets[1:] - 1
    at = corpus.lengths.copy()
    good = successes(corpus)
    for episode, (begin, end) in enumerate(
        zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)
    ):
        if not np.isnan(corpus.best[last[episode]]):
            reached = corpus.best[begin:end] == corpus.best[end - 1]
            at[episode] = int(np.argmax(reached)) + 1
        elif not good[episode] and corpus.outcome[episode] == "failure":
            at[episode] = 1
    return at.astype(np.int32)


def duration_line(corpus: Corpus, subsets: Flags, unit: Unit) -> tuple[Ints, Sums]:
    """All fixed step counts with their sums over subsets."""
    counts = step_counts(corpus)
    sums = Sums.empty(corpus, len(counts), subsets)
    rows = list(range(len(counts)))
    iteration = np.minimum(corpus.lengths[None, :], counts[:, None]).astype(np.int32)
    sums.fill(corpus, rows, at_iterations(corpus, iteration), subsets, unit)
    return counts, sums


def best_count(sums: Sums, column: int, false_rate: float, lost: float | None = None) -> int:
    """Row of the cheapest step count with at most this harm on one subset.

    There is always one: whoever runs to the end stops nothing falsely and loses nothing.

    Args:
        sums: Of all step counts.
        column: The subset.
        false_rate: Most false stops, as a share of the judged.
        lost: Most quality lost, mean over the scored; ``None``: any.
    """
    fine = np.nan_to_num(sums.mean("false_stops", column)) <= false_rate + 1e-12
    if lost is not None:
        fine &= np.nan_to_num(sums.mean("lost", column)) <= lost + 1e-9
    return int(np.argmin(np.where(fine, sums.effort[:, column], np.inf)))
