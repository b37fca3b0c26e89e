"""What ended the loops, what it took, and where presets part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.figures.chosen import Chosen, asked
from harness.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

ALL = Chosen()


def exits(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """How often each exit reason ended a preset's episodes.

    Returns:
        preset, exit_reason, exit_group, episodes, share (of the preset's episodes, 0 to 1).
    """
    return asked(store, "figure_exits", chosen)


def trend(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """Exit groups run by run, the oldest first.

    Returns:
        run_id, created_ms, preset, exit_group, episodes, share (of the preset's in that run).
    """
    return asked(store, "figure_trend", chosen)


def totals(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """One row a preset: what its episodes came to and what they took.

    A sum is over the episodes that know the number; ``*_unknown`` counts those that do not, so a
    sum beside a count above zero is a lower bound. ``judged`` and the six columns after it count
    episodes whose scenario says what a sensible user expects, contestable ones left out; NULL
    where none does.

    Returns:
        preset, episodes, iterations, tokens, tokens_unknown, cost_usd, cost_unknown, elapsed_ms,
        elapsed_unknown, mean_best (over ``scored`` episodes), scored, success, paused, limit,
        stuck, undecided (episodes by exit group), needs_human, exact, censored, diverged,
        unknown_verdicts (readings), warnings, judged, right, false_stops, late, missed,
        wrong_reasons, not_judged, observed (nothing could end these loops).
    """
    return asked(store, "figure_totals", chosen)


def matrix(
    store: Store,
    chosen: Chosen = ALL,
    *,
    limit: int = 60,
    offset: int = 0,
    only_differing: bool = False,
) -> pd.DataFrame:
    """How each preset ended each scenario; the scenarios that presets end most differently first.

    Args:
        store: Where the episodes are.
        chosen: Which of them.
        limit: At most so many scenarios.
        offset: Scenarios to leave out before.
        only_differing: Only scenarios that not all presets end alike.

    Returns:
        scenario, family, preset, exit_reason, exit_group, iteration, best_score, cost_usd,
        episode_id, differs (not all presets end the scenario for the same reason in the same
        iteration). One row a scenario and preset: of several episodes the newest run's first.
    """
    return asked(
        store, "figure_matrix", chosen, limit=limit, offset=offset, only_differing=only_differing
    )


def differing(store: Store, chosen: Chosen = ALL) -> tuple[int, int]:
    """Scenarios that not all presets of a run end alike, and scenarios in all."""
    row = asked(store, "figure_differing", chosen).iloc[0]
    return int(row["differing"]), int(row["scenarios"])
