"""Presets against one of them, scenario by scenario, with intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.errors import choices as told_choices
from harness.figures.chosen import Chosen, asked
from harness.statistics import ratio_interval
from harness.store.database import Store
from harness.store.queries import query

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("iterations", "tokens", "cost_usd", "best_score")
#: Up to so many scenarios intervals are bootstrapped; of more the mean is normal enough, and the
#: answer comes at once.
BOOTSTRAPPED = 400
LEVEL = 0.95


def paired(
    store: Store, chosen: Chosen, base_preset: str, *, bootstrapped: int = BOOTSTRAPPED
) -> pd.DataFrame:
    """What each preset takes more or less than ``base_preset`` on the same scenarios.

    Pairs are episodes of one run, scenario and repetition. A scenario counts once: the mean of its
    pairs is one observation. A score's difference is positive where it is better, whatever its
    direction.

    Args:
        store: Where the episodes are.
        chosen: Which of them; the base is taken along.
        base_preset: The preset compared with.
        bootstrapped: Up to so many scenarios intervals are bootstrapped.

    Returns:
        preset, metric (iterations, tokens, cost_usd, best_score), scenarios (that know it on both
        sides), unknown (scenarios that do not), mean (difference, preset less base), low, high
        (its 95 % interval, NULL where all scenarios are alike or there are fewer than two),
        method (bootstrap or normal), less, same, more (scenarios by the sign of the difference).

    Raises:
        HarnessError: No chosen episode is under ``base_preset``.
    """
    import pandas as pd

    others = _without_presets(chosen)
    known = asked(store, "figure_presets", others)["preset"].tolist()
    if base_preset not in known:
        raise HarnessError(f"paired: base preset: {told_choices(base_preset, known)}")
    wanted = list(chosen.presets) or known
    sums = _asked(store, "figure_paired_sums", others, base_preset)
    few = int(sums["of"].max()) <= bootstrapped if len(sums) else False
    single = _asked(store, "figure_paired", others, base_preset) if few else None
    rows = [
        _row(row, single)
        for row in sums.to_dict("records")
        if row["preset"] in wanted
    ]  # fmt: skip
    columns = ["preset", "metric", "scenarios", "unknown", "mean", "low", "high", "method",
               "less", "same", "more"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def mean_interval(
    values: pd.Series[float], clusters: pd.Series[str], *, bootstrapped: int = BOOTSTRAPPED
) -> tuple[float | None, float | None]:
    """95 % interval of a mean whose values come in clusters; ``None`` where all are alike.

    Args:
        values: Known values.
        clusters: What each belongs to; those of one cluster are not independent.
        bootstrapped: Of more clusters than these the mean is taken as normal.
    """
    if clusters.nunique() <= bootstrapped:
        return ratio_interval(values.tolist(), [1.0] * len(values), clusters.tolist(), LEVEL)
    # The sums by cluster around the mean (Cochran 1977, ratio estimator).
    mean = float(values.mean())
    off = (values - mean).groupby(clusters).sum()
    return _normal(mean, math.sqrt(float((off**2).sum())) / len(values))


def _normal(mean: float, error: float) -> tuple[float | None, float | None]:
    if not error:
        return None, None
    half = NormalDist().inv_cdf(0.5 + LEVEL / 2) * error
    return mean - half, mean + half


def _asked(store: Store, name: str, chosen: Chosen, base: str) -> pd.DataFrame:
    sql = "\n".join(query(part) for part in ("chosen_episodes", "paired_scenarios", name))
    return store.frame(sql, {**chosen.parameters, "base": base})


def _without_presets(chosen: Chosen) -> Chosen:
    """The base is needed, whether or not its episodes are shown."""
    return Chosen(chosen.runs, (), chosen.families, chosen.tags, chosen.models, chosen.outcomes)


def _row(row: dict[Any, Any], single: pd.DataFrame | None) -> tuple[Any, ...]:
    n, mean, spread = int(row["scenarios"]), float(row["mean"]), float(row["spread"])
    low: float | None = None
    high: float | None = None
    if single is not None:
        ours = single[(single["preset"] == row["preset"]) & single[row["metric"]].notna()]
        values = ours[row["metric"]].tolist()
        low, high = ratio_interval(values, [1.0] * len(values), ours["scenario"].tolist(), LEVEL)
    elif n > 1 and spread > 0:
        low, high = _normal(mean, spread / math.sqrt(n))
    return (
        row["preset"], row["metric"], n, int(row["of"]) - n, mean if n else None, low, high,
        "normal" if single is None else "bootstrap",
        int(row["less"]), int(row["same"]), int(row["more"]),
    )  # fmt: skip
