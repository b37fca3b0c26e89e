"""When loops end, by the group of their exit: cumulative incidence with competing risks.

An episode ends once, in one way, and each way keeps the others from happening. The share that has
ended in a given way by iteration t is estimated with Aalen and Johansen (1978); a recording that
runs out with nothing decided is censored there: the loop would have gone on, nobody knows how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.tune.corpus import Corpus, Floats, Ints
from harness.tune.split import units
from harness.tune.sweep import Exits

#: Episodes whose agent ended by itself: nothing can happen to them later, so it is no censoring.
FINISHED = "agent_finished"
#: Number of an episode whose recording ran out.
CENSORED = -1
#: Resamples of the tasks.
RESAMPLES = 999
#: Results are the same at each invocation.
SEED = 20_261


@dataclass(frozen=True)
class Incidence:
    """Share of episodes that ended by each iteration, by cause.

    Attributes:
        causes: Names, in the order of the rows below.
        times: Iterations at which an episode ended or was censored, rising.
        at_risk: Episodes still running before each of them.
        events: Causes by times: how many ended there.
        share: Causes by times: cumulative incidence; together with ``running`` they sum to 1.
        se: Standard error of ``share``.
        low: Lower end of the pointwise interval.
        high: Upper end.
        running: Share still running after each time (Kaplan and Meier 1958).
        resampled: Errors and intervals come from resampling tasks, which occur more than once.
    """

    causes: tuple[str, ...]
    times: Ints
    at_risk: Ints
    events: Ints
    share: Floats
    se: Floats
    low: Floats
    high: Floats
    running: Floats
    resampled: bool

    def frame(self) -> pd.DataFrame:
        """One row a cause and iteration."""
        return pd.concat(
            [
                pd.DataFrame(
                    {"cause": name, "iteration": self.times, "at_risk": self.at_risk,
                     "events": self.events[k], "share": self.share[k], "se": self.se[k],
                     "low": self.low[k], "high": self.high[k]}
                )
                for k, name in enumerate(self.causes)
            ],
            ignore_index=True,
        )  # fmt: skip


def curves(
    corpus: Corpus, found: Exits, row: int = 0, level: float = 0.95, *, unit: Ints | None = None
) -> Incidence:
    """Cumulative incidence of exit groups under one preset of a sweep.

    Args:
        corpus: What was observed.
        found: Where presets end episodes.
        row: Which preset.
        level: Level of the pointwise intervals.
        unit: What each episode belongs to (``split.units``), where that is known already.

    Returns:
        Causes are exit groups (success, paused, limit, stuck) and ``agent_finished``. Where tasks
        occur more than once, tasks are resampled.

    Raises:
        HarnessError: No episode of the run can be swept under this preset.
    """
    swept = np.flatnonzero(found.swept[row])
    if not len(swept):
        raise HarnessError(f"curves: no episode of run {corpus.run_id} can be swept")
    groups = [reason.group for reason, _ in found.reasons]
    names = [
        groups[by] if (by := int(found.by[row, e])) >= 0 else _own_end(corpus, int(e))
        for e in swept
    ]
    causes = tuple(sorted({name for name in names if name is not None}))
    numbers = np.array([CENSORED if n is None else causes.index(n) for n in names], dtype=np.int64)
    times = found.iteration[row, swept].astype(np.int64)
    unit = (units(corpus).unit if unit is None else unit)[swept]
    clusters = unit if len(np.unique(unit)) < len(unit) else None
    return incidence(times, numbers, causes, clusters=clusters, level=level)


def _own_end(corpus: Corpus, episode: int) -> str | None:
    return FINISHED if corpus.end[episode] is ExitReason.AGENT_FINISHED else None


def incidence(
    times: Ints,
    causes: Ints,
    names: Sequence[str],
    *,
    clusters: Ints | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Incidence:
    """The Aalen-Johansen estimator for competing risks.

    F_k(t) = sum over t_i <= t of S(t_i-) d_ki / n_i, with n_i at risk and d_ki ended by cause k.
    The standard error is that of the delta method (Marubini and Valsecchi 1995, section 10.3), the
    interval is symmetric on log(-log F) (Kalbfleisch and Prentice 1980). With clusters both come
    from a bootstrap of whole clusters (percentiles), because their episodes are alike.

    Args:
        times: Last iteration of each episode.
        causes: Index into ``names``, -1 where censored. Who is censored at t was at risk at t.
        names: Names of the causes.
        clusters: What each episode belongs to, where episodes are not independent.
        level: Of the pointwise intervals.
        resamples: How many bootstrap samples.
    """
    distinct, place = np.unique(times, return_inverse=True)
    shape = (len(names) + 1, len(distinct))
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (np.where(causes < 0, len(names), causes), place), 1)
    events = counts[:-1]
    at_risk = counts.sum() - np.concatenate([[0], np.cumsum(counts.sum(axis=0))[:-1]])
    share, running = _estimate(events.astype(np.float64), at_risk.astype(np.float64))
    if clusters is None:
        se = _errors(events, at_risk, share, running)
        low, high = _interval(share, se, level)
    else:
        samples = _resampled(place, causes, shape, clusters, resamples)
        se = samples.std(axis=0, ddof=1)
        tail = (1 - level) / 2
        low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return Incidence(
        causes=tuple(names),
        times=distinct.astype(np.int64),
        at_risk=at_risk,
        events=events,
        share=share,
        se=se,
        low=low,
        high=high,
        running=running,
        resampled=clusters is not None,
    )


def _estimate(events: Floats, at_risk: Floats) -> tuple[Floats, Floats]:
    """Cumulative incidence (causes by times) and the share still running; leading axes allowed."""
    hazard = np.divide(
        events, at_risk[..., None, :], out=np.zeros_like(events), where=at_risk[..., None, :] > 0
    )
    running = np.cumprod(1 - hazard.sum(axis=-2), axis=-1)
    before = np.concatenate([np.ones_like(running[..., :1]), running[..., :-1]], axis=-1)
    # Sums of floats may end a hair above the whole.
    share = np.clip(np.cumsum(before[..., None, :] * hazard, axis=-1), 0.0, 1.0)
    return share, running


def _errors(events: Ints, at_risk: Ints, share: Floats, running: Floats) -> Floats:
    """Standard errors by the delta method; 0 where nothing has happened yet."""
    n = at_risk.astype(np.float64)
    ended = events.sum(axis=0).astype(np.float64)
    before = np.concatenate([[1.0], running[:-1]])
    left = n - ended
    # Where all end at once nothing is left to vary: (F - F) times anything.
    ra = np.divide(ended, n * left, out=np.zeros_like(n), where=left > 0)
    variance = np.empty_like(share)
    for k, f in enumerate(share):
        d = events[k]
        variance[k] = f**2 * np.cumsum(ra) - 2 * f * np.cumsum(f * ra) + np.cumsum(f**2 * ra)
        variance[k] += np.cumsum(before**2 * (n - d) * d / n**3)
        rb = before * d / n**2
        variance[k] -= 2 * (f * np.cumsum(rb) - np.cumsum(f * rb))
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)


def _interval(share: Floats, se: Floats, level: float) -> tuple[Floats, Floats]:
    """F to the power of exp(-+ z se / (F log F)); where F is 0 or 1 there is nothing to scale."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    inner = (share > 0) & (share < 1)
    f = np.where(inner, share, 0.5)
    with np.errstate(over="ignore"):
        width = np.exp(z * np.where(inner, se, 0.0) / -(f * np.log(f)))
        low, high = f**width, f ** (1 / width)
    return np.where(inner, low, share), np.where(inner, high, share)


def _resampled(
    place: npt.NDArray[np.intp],
    causes: Ints,
    shape: tuple[int, int],
    clusters: Ints,
    resamples: int,
) -> Floats:
    """Estimates (resamples by causes by times) over clusters drawn with replacement."""
    _, member = np.unique(clusters, return_inverse=True)
    size = int(member.max()) + 1
    counts = np.zeros((size, *shape))
    np.add.at(counts, (member, np.where(causes < 0, shape[0] - 1, causes), place), 1)
    drawn = np.random.default_rng(SEED).multinomial(size, np.full(size, 1 / size), resamples)
    summed = (drawn @ counts.reshape(size, math.prod(shape))).reshape(-1, *shape)
    every = summed.sum(axis=1)
    at_risk = every.sum(axis=-1, keepdims=True) - np.cumsum(every, axis=-1) + every
    return _estimate(summed[:, :-1], at_risk)[0]
