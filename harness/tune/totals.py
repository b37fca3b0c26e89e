"""What presets come to over episodes: sums to choose by, and the figures that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from harness.errors import HarnessError, choices
from harness.statistics import proportion_interval, ratio_interval
from harness.tune.corpus import Corpus, Flags, Floats, Ints
from harness.tune.sweep import Exits, Small
from harness.tune.value import Measured, at_iterations, judged

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["cost", "tokens", "iterations"]
UNITS: tuple[Unit, ...] = ("cost", "tokens", "iterations")
Row = dict[str, Any]


def unit_of(corpus: Corpus, wanted: str | None = None) -> Unit:
    """What saving is counted in: cost where all is priced, else tokens, else iterations.

    Raises:
        HarnessError: What is wanted is unknown in part.
    """
    if wanted is not None and wanted not in UNITS:
        raise HarnessError(f"tune: --unit: {choices(wanted, UNITS)}")
    last = corpus.offsets[1:] - 1
    known: dict[Unit, bool] = {
        "cost": bool(corpus.cost_known[last].all()) and int(corpus.cost[last].sum()) > 0,
        "tokens": bool((corpus.tokens[last] > 0).all()),
        "iterations": True,
    }
    for unit in UNITS:
        if known[unit] and wanted in (None, unit):
            return unit
    raise HarnessError(f"tune: --unit {wanted}: it is unknown in part; choose another unit")


def effort(measured: Measured, unit: Unit) -> npt.NDArray[np.int64]:
    """What each cell took, in the unit (pico-USD, tokens, iterations)."""
    return np.asarray(getattr(measured, _EFFORT[unit]), dtype=np.int64)


_EFFORT = {"cost": "cost", "tokens": "tokens", "iterations": "iteration"}


def losses(corpus: Corpus, measured: Measured) -> Floats:
    """Quality lost in each cell; NaN where nothing is scored.

    A stop before the first score of a scored episode kept nothing that was measured: it counts as
    if the worst of the episode's scores had been kept, so that stopping blind never looks free.
    """
    whole = corpus.best[corpus.offsets[1:] - 1]
    worst = np.array(
        [
            np.nan if np.isnan(best) else (np.nanmax if lower else np.nanmin)(corpus.score[a:b])
            for best, lower, a, b in zip(
                whole, corpus.lower, corpus.offsets[:-1], corpus.offsets[1:], strict=True
            )
        ]
    )
    return np.asarray(
        np.where(np.isnan(measured.lost), np.abs(whole - worst)[None, :], measured.lost)
    )


@dataclass(frozen=True)
class Sums:
    """Sums of policies (rows) over subsets of the episodes (columns).

    Attributes:
        n: Episodes of each subset; ``judged`` and ``scored`` those of which a false stop, or a
            loss, can be told.
        effort: In the corpus's unit.
        iterations: Iterations.
        false_stops: Among the judged.
        lost: Quality lost, among the scored.
    """

    n: Floats
    judged: Floats
    scored: Floats
    effort: Floats
    iterations: Floats
    false_stops: Floats
    lost: Floats

    @classmethod
    def empty(cls, corpus: Corpus, rows: int, subsets: Flags) -> Sums:
        """Room for ``rows`` policies.

        Args:
            corpus: What was observed.
            rows: How many policies.
            subsets: Episodes by subsets: who belongs.
        """
        inside = subsets.astype(np.float64)
        scored = ~np.isnan(corpus.best[corpus.offsets[1:] - 1])
        room = [np.zeros((rows, subsets.shape[1])) for _ in range(4)]
        return cls(inside.sum(0), judged(corpus) @ inside, scored @ inside, *room)

    def fill(
        self, corpus: Corpus, rows: Sequence[int], measured: Measured, subsets: Flags, unit: Unit
    ) -> None:
        """Sum some policies."""
        inside = subsets.astype(np.float64)
        false = measured.false_stop & judged(corpus)[None, :]
        self.effort[rows] = effort(measured, unit) @ inside
        self.iterations[rows] = measured.iteration @ inside
        self.false_stops[rows] = false @ inside
        self.lost[rows] = np.nan_to_num(losses(corpus, measured)) @ inside

    def mean(
        self, what: Literal["effort", "iterations", "false_stops", "lost"], column: int
    ) -> Floats:
        """By policy, over one subset: per episode, false stops per judged one, loss per scored one.

        NaN where there is none.
        """
        by = {"false_stops": self.judged, "lost": self.scored}.get(what, self.n)[column]
        values: Floats = getattr(self, what)[:, column]
        return values / by if by else np.full(len(values), np.nan)


@dataclass(frozen=True)
class Outcome:
    """Where policies (rows) end episodes (columns), and what that comes to.

    Attributes:
        exits: Where and why.
        measured: What it comes to; of a replayed episode, what the replay came to.
    """

    exits: Exits
    measured: Measured


def ended(corpus: Corpus, iteration: Ints | Small) -> Outcome:
    """A policy by iteration alone, such as a fixed count of steps: it ends without a reason."""
    at = np.asarray(iteration, dtype=np.int32)[None, :]
    exits = Exits(at, np.full(at.shape, -1, np.int32), (), np.ones(at.shape, dtype=bool))
    return Outcome(exits, at_iterations(corpus, at))


def figures(
    corpus: Corpus,
    outcome: Outcome,
    members: Flags,
    clusters: Sequence[str],
    *,
    unit: Unit | None = None,
    intervals: bool = True,
) -> Row:
    """What one policy comes to over some episodes: exact sums, shares, bounds, intervals.

    Args:
        corpus: What was observed.
        outcome: Of one policy (one row).
        members: Which episodes.
        clusters: By episode, what intervals are clustered by (its task).
        unit: What ``effort`` is counted in; the best known one where left out.
        intervals: Whether they are worked out.

    Returns:
        Money in pico-USD. ``false_low`` and ``false_high`` are exact (Clopper-Pearson) where each
        task has one judged episode or no task differs from the others, else a bootstrap by task.
        ``success_low`` and ``success_high`` bound the share that succeeds: an early stop may or
        may not be one.
    """
    m, exits = outcome.measured, outcome.exits
    own = np.flatnonzero(members)
    task = np.array(clusters)
    told = own[judged(corpus)[own]]
    lost = losses(corpus, m)[0]
    scored = own[~np.isnan(lost[own])]
    last = corpus.offsets[1:] - 1
    # A replay may have gone on in a branch, beyond its recording.
    stop = np.minimum(corpus.offsets[:-1] + m.iteration[0] - 1, last)
    n = len(own)
    unit = unit or unit_of(corpus)
    took = effort(m, unit)[0]
    false = m.false_stop[0]
    out = (exits.by[0] < 0) & ~m.early[0]
    replay = np.array(corpus.replay)
    row: Row = {
        "episodes": n, "tasks": len(np.unique(task[own])), "unit": unit,
        "iterations": int(m.iteration[0, own].sum()),
        "effort": int(took[own].sum()),
        "cost": int(m.cost[0, own].sum()),
        "unpriced": int((~corpus.cost_known[stop])[own].sum()),
        "role_cost": int(m.role_cost[0, own].sum()),
        "tokens": int(m.tokens[0, own].sum()),
        "saved": int((corpus.cost[last] - m.cost[0])[own].sum()),
        "judged": len(told), "false_stops": int(false[told].sum()),
        "scored": len(scored),
        "best": _mean(m.best[0, own][~np.isnan(m.best[0, own])]),
        "lost": _mean(lost[scored]),
        "success_low": int(m.success_low[0, own].sum()),
        "success_high": int(m.success_high[0, own].sum()),
        "diverged": int((out & (replay == "diverged"))[own].sum()),
        "censored": int((out & (replay == "censored"))[own].sum()),
        "reasons": _reasons(corpus, exits, out, own),
    }  # fmt: skip
    row["exact"] = n - row["diverged"] - row["censored"]
    row["censored_share"] = row["censored"] / n if n else None
    row["false_rate"] = row["false_stops"] / len(told) if len(told) else None
    if intervals:
        row["false_low"], row["false_high"] = false_interval(
            false[told].tolist(), task[told].tolist()
        )
        for name, values, which in (("effort", took, own), ("lost", lost, scored)):
            row[f"{name}_low"], row[f"{name}_high"] = ratio_interval(
                values[which].tolist(), [1.0] * len(which), task[which].tolist()
            )
    return row


def false_interval(
    hits: Sequence[bool], clusters: Sequence[str]
) -> tuple[float | None, float | None]:
    """95 % interval of a share: exact for one observation a cluster, else bootstrap by cluster.

    Where no cluster differs from the others there is nothing to resample: then a cluster counts as
    one observation (0 of 10 tasks: up to 31 %), which errs on the wide side.
    """
    tasks = len(set(clusters))
    if not hits:
        return None, None
    if tasks == len(hits):
        return proportion_interval(sum(hits), len(hits))
    low, high = ratio_interval([float(hit) for hit in hits], [1.0] * len(hits), clusters)
    if low is None or high is None:
        return proportion_interval(round(sum(hits) / len(hits) * tasks), tasks)
    return low, high


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _reasons(corpus: Corpus, exits: Exits, out: Flags, own: Ints) -> dict[str, int]:
    """Exit reasons with their counts, most frequent first; where nothing fired, the recording's."""
    names = [
        corpus.end[e].value if out[e]
        else exits.reasons[exits.by[0, e]][0].value if exits.by[0, e] >= 0 else "stopped"
        for e in own
    ]  # fmt: skip
    return dict(sorted(Counter(names).items(), key=lambda found: (-found[1], found[0])))


def totals(
    corpus: Corpus, policies: Sequence[tuple[str, Outcome]], groups: Sequence[str] | None = None
) -> pd.DataFrame:
    """Totals by policy, and by group where groups are given, as a frame.

    Args:
        corpus: What was observed.
        policies: Label and outcome (one row each).
        groups: By episode, what to group by, for instance ``corpus.families``.

    Returns:
        One row a policy and group, with the columns of ``figures``.
    """
    import pandas as pd

    labels = np.array(groups if groups is not None else [""] * len(corpus))
    rows = [
        {"policy": label, "group": str(group),
         **figures(corpus, outcome, labels == group, corpus.tasks)}
        for label, outcome in policies
        for group in dict.fromkeys(labels.tolist())
    ]  # fmt: skip
    return pd.DataFrame(rows)
