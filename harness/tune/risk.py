"""Where a stop would be a false one, and how near to it a signal came."""

from __future__ import annotations

from typing import Literal

import numpy as np

from harness.tune.corpus import Corpus, Flags, Floats, Ints
from harness.tune.split import units
from harness.tune.value import judged, labelled, successes
from harness.verdicts import Comparison

By = Literal["task", "run"]


def at_risk(corpus: Corpus) -> Ints:
    """For each episode, after how many of its first iterations a stop would be a false one.

    As ``value.at_iterations`` has it: a later score is better, or, where nothing is scored, the
    real run went on and succeeded. The last iteration is no early stop. 0 is no good run: a stop
    costs it nothing, or nobody can tell.
    """
    counts = np.zeros(len(corpus), dtype=np.int64)
    lengths = corpus.lengths
    whole = corpus.best[corpus.offsets[1:] - 1]
    scored = ~np.isnan(whole)
    unscored = judged(corpus) & successes(corpus) & ~scored
    counts[unscored] = lengths[unscored] - 1
    sign = np.where(corpus.lower, -1.0, 1.0)
    owner = np.repeat(np.arange(len(corpus)), lengths)
    # Best scores so far only get better, so what is worse than the last comes first.
    worse = np.isnan(corpus.best) | (sign[owner] * (whole[owner] - corpus.best) > 0)
    behind = np.bincount(owner[worse], minlength=len(corpus))
    counts[scored] = behind[scored]
    false_until, right_from = labelled(corpus)
    counts = np.where(right_from > 0, np.minimum(counts, right_from - 1), counts)
    return np.minimum(np.maximum(counts, false_until), lengths - 1)


def clusters(corpus: Corpus, by: By) -> Ints:
    """By episode, the number of what counts as one: itself, or its task and that of its copies."""
    return np.arange(len(corpus)) if by == "run" else units(corpus).unit


def worst(scores: Floats, good: Flags, cluster: Ints) -> Floats:
    """The highest score of each cluster's good runs."""
    _, member = np.unique(cluster[good], return_inverse=True)
    found = np.full(int(member.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(found, member, scores[good])
    return found


def nearest(corpus: Corpus, signed: Floats, counts: Ints) -> Floats:
    """The highest of each episode's first ``counts`` signals; -inf where none is known."""
    counted = (iterations_before(corpus) < np.repeat(counts, corpus.lengths)) & ~np.isnan(signed)
    found = np.maximum.reduceat(np.where(counted, signed, -np.inf), corpus.offsets[:-1])
    return np.asarray(found, dtype=np.float64)


def first_reached(
    corpus: Corpus, signals: Floats, comparison: Comparison, threshold: float
) -> Ints:
    """The iteration (from 1) at which each episode first reaches the threshold.

    One more than the episode has where it never does.
    """
    if comparison == ">=":
        reached = signals >= threshold
    else:
        reached = signals < threshold if comparison == "<" else signals <= threshold
    within = iterations_before(corpus)
    never = np.repeat(corpus.lengths, corpus.lengths)
    first = np.minimum.reduceat(np.where(reached, within, never), corpus.offsets[:-1])
    return np.asarray(first + 1, dtype=np.int64)


def iterations_before(corpus: Corpus) -> Ints:
    """By iteration, how many came before it in its episode."""
    return np.arange(int(corpus.offsets[-1])) - np.repeat(corpus.offsets[:-1], corpus.lengths)
