"""What guards and mechanisms did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.figures.chosen import Chosen, asked
from harness.figures.overview import ALL
from harness.store.database import Store

if TYPE_CHECKING:
    import pandas as pd


def lengths(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """How many rounds episodes took.

    Returns:
        preset, rounds (revisions, 0 is the first draft alone), exit_group, episodes, share (of
        the preset's episodes).
    """
    return asked(store, "figure_lengths", chosen)


def guards(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """What each guard of each preset measured and did.

    Returns:
        preset, guard, kind, threshold (the smallest, where a task's limits set others),
        thresholds (how many), comparison, on_fire, episodes, fired_episodes, ended (episodes that
        it decided), readings, fired, unknown (readings), unknown_share, nearest (the reading that
        came closest to firing), never_reached.
    """
    return asked(store, "figure_guards", chosen)


def mechanisms(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """What each mechanism did or left.

    Returns:
        preset, mechanism, event, episodes, times.
    """
    return asked(store, "figure_mechanisms", chosen)


def decided(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """Turns classified by code alone (triage) and by asking the judge.

    Returns:
        preset, by_code, by_model, code_share (of both; NULL where there are none).
    """
    return asked(store, "figure_decided", chosen)


def roles(store: Store, chosen: Chosen = ALL) -> pd.DataFrame:
    """Model calls by role; the actor is one of them.

    Returns:
        preset, role, calls, tokens, cost_usd, cost_unknown (calls), unparsed, failed.
    """
    return asked(store, "figure_roles", chosen)
