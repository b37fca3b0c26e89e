"""Whether differences between paired runs show that the candidate is worse; imports scipy.

Everything here works on plain numbers, so that its false alarm rate can be simulated through the
very function that decides (``judge``). Differences count as *worse is positive*.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

#: Family-wise false alarm rate.
ALPHA = 0.05
#: Resamples of a permutation test that is too large to be exact, and of a bootstrap.
RESAMPLES = 9_999
#: Results are the same at each invocation.
SEED = 20_261
#: Chance with which the smallest detectable shift of a mean would be found.
POWER = 0.80
#: Random numbers drawn at a time, so that large corpora need no gigabytes.
_BATCH = 2_000_000
#: Random numbers for one interval: of a very large corpus it is narrow with fewer resamples too.
_INTERVAL = 20_000_000
_LEAST = 999

Method = Literal["mcnemar", "sign_flip"]


@dataclass(frozen=True, slots=True)
class Question:
    """One metric under one preset: how much worse the candidate was, pair by pair.

    Attributes:
        worse: Candidate against base, positive where the candidate is worse, in the metric's unit.
        clusters: What each pair belongs to (its scenario). Pairs of one cluster are not
            independent, so the mean of a cluster is one observation.
        binary: The differences are those of a yes or no: -1, 0 or 1.
        tolerance: A mean difference up to this is accepted, however certain.
    """

    preset: str
    metric: str
    worse: tuple[float, ...]
    clusters: tuple[str, ...]
    binary: bool = False
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the pairs say to a question.

    Attributes:
        observations: Clusters; a scenario counts once, however often it was repeated.
        mean: Mean over clusters of their mean difference; positive is worse.
        low: Lower end of its confidence interval (level ``1 - alpha``, not adjusted for the number
            of tests); ``None`` where the observations are all alike or fewer than two.
        high: Upper end.
        p: Chance of so large a mean, or a larger one, if the candidate were not worse.
        adjusted: ``p`` after Holm.
        level: Holm's strictest step, ``alpha`` by the number of tests.
        detectable: Smallest difference that could be shown at ``level``; ``None`` if not even all
            pairs getting worse could reach it.
        confirmed: Worse beyond chance and beyond the tolerance.
    """

    preset: str
    metric: str
    method: Method
    pairs: int
    observations: int
    mean: float
    low: float | None
    high: float | None
    p: float
    adjusted: float
    level: float
    detectable: float | None
    confirmed: bool


def judge(
    questions: Sequence[Question],
    *,
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    intervals: bool = True,
    seed: int = SEED,
) -> tuple[Answer, ...]:
    """Test each question one-sided for "the candidate is worse", all together at ``alpha``.

    Success with one observation a scenario: exact McNemar (McNemar 1947; binomial form). All
    else: sign-flip permutation of the scenarios' mean differences (Fisher 1935), exact where there
    are at most about 13 that are not zero, otherwise with seeded resamples. Both hold without any
    assumption about distributions but that base and candidate could be exchanged if nothing had
    changed.

    Args:
        questions: Each with at least one pair.
        alpha: The chance of one or more false alarms among all questions is at most this.
        resamples: At least so many; more where ``alpha`` by the number of tests asks for it.
        intervals: Whether confidence intervals are worked out.
        seed: Of the resamples.

    Returns:
        One answer a question, in order.
    """
    if not questions:
        return ()
    level = alpha / len(questions)
    # A p-value of R resamples is at least 1 / (R + 1), which must lie well below the level.
    draws = max(resamples, math.ceil(10 / level))
    means = [_cluster_means(question) for question in questions]
    raw = [_p_value(q, m, draws, seed) for q, m in zip(questions, means, strict=True)]
    adjusted = holm(raw)
    answers = []
    for question, observed, p, after in zip(questions, means, raw, adjusted, strict=True):
        mean = math.fsum(observed) / len(observed)
        low, high = _interval(observed, alpha, resamples, seed) if intervals else (None, None)
        answers.append(
            Answer(
                question.preset,
                question.metric,
                _method(question),
                len(question.worse),
                len(observed),
                mean,
                low,
                high,
                p,
                after,
                level,
                _detectable(question, observed, level),
                after <= alpha and mean > question.tolerance,
            )
        )
    return tuple(answers)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values by Holm's step-down procedure (Holm 1979), in the given order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for step, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _method(question: Question) -> Method:
    alone = len(set(question.clusters)) == len(question.clusters)
    return "mcnemar" if question.binary and alone else "sign_flip"


def _cluster_means(question: Question) -> list[float]:
    groups: dict[str, list[float]] = {}
    for cluster, worse in zip(question.clusters, question.worse, strict=True):
        groups.setdefault(cluster, []).append(worse)
    return [math.fsum(group) / len(group) for group in groups.values()]


def _p_value(question: Question, means: Sequence[float], draws: int, seed: int) -> float:
    # Nothing that stayed the same says anything in either test.
    moved = [mean for mean in means if mean != 0]
    if not moved:
        return 1.0
    if len(moved) == 1:
        # scipy asks for two; one observation has two signs.
        return 0.5 if moved[0] > 0 else 1.0
    from scipy import stats

    if _method(question) == "mcnemar":
        worse = sum(mean > 0 for mean in moved)
        return float(stats.binomtest(worse, len(moved), 0.5, alternative="greater").pvalue)
    import numpy as np

    def statistic(sample: Numbers, axis: int) -> Any:
        return np.mean(sample, axis=axis)

    # For a single sample scipy's "samples" flips signs.
    found = stats.permutation_test(
        (np.asarray(moved, dtype=np.float64),),
        statistic,
        permutation_type="samples",
        alternative="greater",
        n_resamples=draws,
        vectorized=True,
        batch=max(1, _BATCH // len(moved)),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def _interval(
    means: Sequence[float], alpha: float, resamples: int, seed: int
) -> tuple[float | None, float | None]:
    """BCa bootstrap by cluster (Efron 1987) of the mean difference."""
    if len(set(means)) < 2:
        return None, None
    import numpy as np
    from scipy import stats

    # Differences too small for their cubes have no interval; nobody needs to be warned of it.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (np.asarray(means, dtype=np.float64),),
            np.mean,
            confidence_level=1 - alpha,
            n_resamples=min(resamples, max(_LEAST, _INTERVAL // len(means))),
            vectorized=True,
            batch=max(1, _BATCH // len(means)),
            method="BCa",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return (low, high) if low == low and high == high else (None, None)


def smallest_count(observations: int, level: float) -> int | None:
    """Fewest pairs that must all turn one way for exact McNemar to reach ``level``.

    k pairs one way and none the other have p = 0.5 to the power of k.
    """
    k = max(1, math.ceil(math.log(level, 0.5)))
    # The logarithm may be off by a hair at powers of two.
    k -= k > 1 and 0.5 ** (k - 1) <= level
    return k if k <= observations else None


def _detectable(question: Question, means: Sequence[float], level: float) -> float | None:
    count = smallest_count(len(means), level)
    if count is None:
        return None
    if _method(question) == "mcnemar":
        return count / len(means)
    from scipy import stats

    n = len(means)
    mean = math.fsum(means) / n
    spread = math.sqrt(math.fsum((m - mean) ** 2 for m in means) / max(1, n - 1))
    # Minimum detectable effect (Bloom 1995): both quantiles, in standard errors.
    t = stats.t(max(1, n - 1))
    return float((t.ppf(1 - level) + t.ppf(POWER)) * spread / math.sqrt(n))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which a share ``p`` of the Beta(a, b) distribution lies."""
    from scipy import stats

    return float(stats.beta(a, b).ppf(p))


def proportion_interval(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share (Clopper, Pearson 1934); 0 to 1 where nothing was counted."""
    tail = (1 - level) / 2
    low = beta_quantile(tail, hits, n - hits + 1) if hits else 0.0
    high = beta_quantile(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return low, high


def ratio_interval(
    tops: Sequence[float], bottoms: Sequence[float], clusters: Sequence[str], level: float = 0.95
) -> tuple[float | None, float | None]:
    """Bootstrap by cluster of sum(tops) / sum(bottoms), BCa up to 5,000 clusters (Efron 1987).

    ``None`` where there are fewer than two clusters, or all are alike.
    """
    import numpy as np
    from scipy import stats

    _, at = np.unique(np.asarray(clusters), return_inverse=True)
    pair = (np.bincount(at, np.asarray(tops)), np.bincount(at, np.asarray(bottoms)))
    pair = (pair[0][pair[1] > 0], pair[1][pair[1] > 0])
    n = len(pair[0])
    if n < 2 or len(np.unique(pair[0] / pair[1])) < 2:
        return None, None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            pair, lambda top, bottom, axis: top.sum(axis) / bottom.sum(axis), paired=True,
            confidence_level=level, n_resamples=min(RESAMPLES, max(_LEAST, _INTERVAL // n)),
            vectorized=True, batch=max(1, _BATCH // n), rng=np.random.default_rng(SEED),
            method="BCa" if n <= 5_000 else "percentile",
        ).confidence_interval  # fmt: skip
    low, high = float(found.low), float(found.high)
    return (low, high) if low == low and high == high else (None, None)
