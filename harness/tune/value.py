"""What a stop costs and what it keeps, for every cell of a sweep.

Quality is measured where iterations were scored. Elsewhere an early stop of a run is worth
something between nothing and everything: it is bounded, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.tune.corpus import Corpus, Floats, Ints
from harness.tune.sweep import Exits, Small

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Measured:
    """Presets (rows) by episodes (columns).

    Attributes:
        iteration: Iterations that ran.
        early: A guard or mechanism ended it before the recording did.
        cost: Cost of all roles (pico-USD), the known part.
        role_cost: The part that judges, verifiers and other roles took.
        tokens: Tokens of all roles, the known part.
        best: Best score kept, NaN where nothing was scored by then.
        lost: How much better the best score of the whole recording is (0 or more), NaN where
            unscored; a stop before the first score is NaN too.
        false_stop: Ended early although going on would have paid: a reader said so, a later score
            was better, or, where nothing is scored, the real run succeeded.
        success_low: Certainly a success: the recording ran to its end and succeeded.
        success_high: Possibly a success: as above, or ended early, which nobody can tell.
    """

    iteration: Small
    early: Flags
    cost: Ints
    role_cost: Ints
    tokens: Ints
    best: Floats
    lost: Floats
    false_stop: Flags
    success_low: Flags
    success_high: Flags


def measure(corpus: Corpus, exits: Exits) -> Measured:
    """The value of every cell; those that were not swept mean nothing."""
    return at_iterations(corpus, exits.iteration)


def at_iterations(corpus: Corpus, iteration: Small) -> Measured:
    """The value of ending episodes after these iterations.

    Args:
        corpus: What was observed.
        iteration: Rows by episodes, each within the episode's length.
    """
    at = corpus.offsets[:-1][None, :] + iteration - 1
    last = corpus.offsets[1:] - 1
    best, whole = corpus.best[at], corpus.best[last][None, :]
    sign = np.where(corpus.lower, -1.0, 1.0)[None, :]
    lost = np.maximum(sign * (whole - best), 0.0)
    early = iteration < corpus.lengths[None, :]
    succeeded = successes(corpus)[None, :]
    later = np.where(np.isnan(whole), succeeded, np.isnan(best) | (lost > 0))
    false_until, right_from = labelled(corpus)
    later = by_label(later, iteration, false_until[None, :], right_from[None, :])
    return Measured(
        iteration=iteration,
        early=early,
        cost=corpus.cost[at],
        role_cost=corpus.role_cost[at],
        tokens=corpus.tokens[at],
        best=best,
        lost=lost,
        false_stop=early & later,
        success_low=~early & succeeded,
        success_high=early | succeeded,
    )


def successes(corpus: Corpus) -> Flags:
    """Episodes whose real run succeeded, as the recordings say."""
    return np.array([outcome == "success" for outcome in corpus.outcome], dtype=bool)


def judged(corpus: Corpus) -> Flags:
    """Episodes of which a false stop can be told: scored, labelled, or known to have succeeded."""
    scored = ~np.isnan(corpus.best[corpus.offsets[1:] - 1])
    said = np.array([content in corpus.labels for content in corpus.contents], dtype=bool)
    return np.asarray(scored | successes(corpus) | said, dtype=bool)


def labelled(corpus: Corpus) -> tuple[Ints, Ints]:
    """By episode: up to where readers call a stop false, from where on right or late; 0: none."""
    found = [corpus.labels.get(content, (0, 0)) for content in corpus.contents]
    both = np.array(found, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def by_label(later: Flags, iteration: Ints | Small, false_until: Ints, right_from: Ints) -> Flags:
    """Whether going on would have paid, where readers' labels say so; else as it was.

    Stops before a false one are false too, those after a right or late one are not.
    """
    known_right = (right_from > 0) & (iteration >= right_from)
    return np.asarray((iteration <= false_until) | (later & ~known_right), dtype=bool)
