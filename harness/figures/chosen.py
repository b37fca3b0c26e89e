"""Which episodes a figure rests on: the reader's filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.store.database import Store
from harness.store.queries import query

if TYPE_CHECKING:
    import pandas as pd

#: What stands for a value that no recording names, in filters and figures.
UNKNOWN = "(unknown)"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Filters; they hold together, and an empty one lets everything through.

    Attributes:
        runs: Ids of runs.
        presets: Names of presets.
        families: Families of scenarios.
        tags: A scenario with one of these.
        models: Models; ``(unknown)`` where no reply names one.
        outcomes: What became of the real run; ``(unknown)`` where the recording does not say.
    """

    runs: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, list[str]]:
        """As parameters of ``chosen_episodes``."""
        return {
            "runs": list(self.runs), "presets": list(self.presets),
            "families": list(self.families), "tags": list(self.tags),
            "models": list(self.models), "outcomes": list(self.outcomes),
        }  # fmt: skip


def asked(store: Store, name: str, chosen: Chosen, more: str = "", **others: Any) -> pd.DataFrame:
    """A named query over the chosen episodes.

    Args:
        store: Where they are.
        name: The query, which goes on after ``chosen_episodes``.
        chosen: The filters.
        more: SQL of our own behind it, such as an order.
        others: Further parameters.
    """
    sql = f"{query('chosen_episodes')}\n{query(name)}\n{more}"
    return store.frame(sql, {**chosen.parameters, **others})


def choices(store: Store) -> dict[str, list[str]]:
    """All values of each filter, sorted; runs with the newest first."""
    found: dict[str, list[str]] = {
        "runs": [str(row["run_id"]) for row in store.rows(query("runs"))][::-1],
        "presets": [], "families": [], "tags": [], "models": [], "outcomes": [],
    }  # fmt: skip
    for row in store.rows(query("figure_choices")):
        found[row["filter"]].append(str(row["value"]))
    return found
