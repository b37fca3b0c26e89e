"""Lists: runs, episodes, lessons, and what the data lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.errors import choices as told_choices
from harness.figures.chosen import Chosen, asked
from harness.figures.overview import ALL
from harness.store.database import Store
from harness.store.queries import query

if TYPE_CHECKING:
    import pandas as pd

#: Orders of a list of episodes; ``look``: those worth a look first.
ORDERS = {
    "look": "weight DESC, unknown_verdicts DESC",
    "scenario": "scenario, preset, repetition",
    "cost": "cost_usd DESC NULLS LAST",
    "tokens": "tokens DESC NULLS LAST",
    "iterations": "iteration DESC",
    "score": "best_score NULLS LAST",
    "time": "elapsed_ms DESC NULLS LAST",
    "unknown": "unknown_verdicts DESC",
}


def runs(store: Store) -> pd.DataFrame:
    """The runs, the newest first.

    Returns:
        run_id, created_ms (since the epoch), state, harness_version, episodes, scenarios, presets
        (a list of names).
    """
    return store.frame(query("figure_runs"))


def episodes(
    store: Store,
    chosen: Chosen = ALL,
    *,
    limit: int = 100,
    offset: int = 0,
    order: str = "look",
    least_weight: int = 0,
) -> pd.DataFrame:
    """One page of episodes.

    Args:
        store: Where they are.
        chosen: Which of them.
        limit: At most so many.
        offset: So many are left out before.
        order: One of ``ORDERS``.
        least_weight: Only episodes of at least this weight.

    Returns:
        episode_id, run_id, scenario, family, preset, model, repetition, status, exit_reason,
        exit_group, exit_guard, iteration, rounds, best_score, tokens, cost_usd, elapsed_ms,
        needs_human, replay, unknown_verdicts, warnings, outcome, agreement, weight (6 false stop,
        5 wrong reason, 4 late or missed, 3 diverged, 2 needs a human, 1 unknown readings, 0),
        message (cut).

    Raises:
        HarnessError: An unknown order.
    """
    if order not in ORDERS:
        raise HarnessError(f"episodes: order: {told_choices(order, ORDERS)}")
    return asked(
        store, "figure_episodes", chosen,
        f"WHERE weight >= $least_weight\n"
        f"ORDER BY {ORDERS[order]}, scenario, preset, repetition, episode_id\n"
        "LIMIT $limit OFFSET $offset",
        limit=limit, offset=offset, least_weight=least_weight,
    )  # fmt: skip


def count(store: Store, chosen: Chosen = ALL) -> int:
    """How many episodes are chosen."""
    return int(asked(store, "figure_count", chosen)["episodes"].iloc[0])


def lessons(store: Store, *, limit: int = 100) -> pd.DataFrame:
    """Mistakes over all runs, the most frequent first.

    Returns:
        mistake, times, episodes, avoid, strategies (a list of texts); texts are cut.
    """
    return store.frame(query("figure_lessons"), {"limit": limit})


def data(store: Store) -> pd.DataFrame:
    """What each run and family of scenarios holds and lacks, in episodes.

    Returns:
        run_id, family, created_ms, state, episodes, scenarios, presets, iterations, without_usage,
        without_price, without_time, without_score, without_truth, without_outcome, exact,
        censored, diverged, observed.
    """
    return store.frame(query("figure_data"))
