"""Which preset is the cheapest that loses no quality, on the scenarios that all of them ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.figures.chosen import Chosen, asked
from harness.figures.overview import ALL
from harness.figures.paired import mean_interval
from harness.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

#: Quality that may be lost, mean over scored episodes: what ``stagnation`` calls no improvement.
MAX_LOST = 0.02
#: Share of judged episodes that may be stopped although they should have gone on.
MAX_FALSE = 0.05
#: Share of the episodes that must know a unit for it to be counted in.
LEAST_KNOWN = 0.5
_UNITS = {"usd": ("cost_usd", "priced"), "tokens": ("tokens", "counted")}


def cheapest(
    store: Store, chosen: Chosen = ALL, *, max_lost: float = MAX_LOST, max_false: float = MAX_FALSE
) -> pd.DataFrame:
    """What each preset costs and what it keeps; those that keep quality first, by rising cost.

    Compared are episodes of one run, content and repetition that every preset has, so that no
    preset looks cheap because it was spared the long ones. Quality lost is the distance to the
    best score that any preset reached there.

    Args:
        store: Where the episodes are.
        chosen: Which of them.
        max_lost: Most quality lost, mean over scored episodes.
        max_false: Most false stops, as a share of judged episodes.

    Returns:
        preset, episodes, unit (usd or tokens where at least half of them know it under every
        preset, else iterations), effort (mean of an episode, over ``effort_of`` of them),
        iterations (mean), scored, lost (mean), lost_low, lost_high
        (95 % interval by scenario), judged, false_stops, false_share, observed (could end nothing),
        keeps (within both limits and not observed), answer (the first that keeps).
    """
    import pandas as pd

    single = asked(store, "figure_cheapest", chosen)
    columns = [
        "preset", "episodes", "unit", "effort", "effort_of", "iterations", "scored", "lost",
        "lost_low", "lost_high", "judged", "false_stops", "false_share", "observed",
    ]  # fmt: skip
    if single.empty:
        return pd.DataFrame(columns=[*columns, "keeps", "answer"])
    unit = next((u for u, (_, flag) in _UNITS.items() if single[flag].mean() >= LEAST_KNOWN), "")
    column, flag = _UNITS.get(unit, ("iterations", ""))
    rows = []
    for preset, own in single.groupby("preset", sort=True):
        scored = own[own["lost"].notna()]
        low, high = mean_interval(scored["lost"], scored["scenario"])
        judged = own[own["judged"]]
        false = int(judged["false_stop"].sum())
        counted = own[own[flag]] if flag else own
        rows.append((
            preset, len(own), unit or column, float(counted[column].mean()), len(counted),
            float(own["iterations"].mean()), len(scored),
            float(scored["lost"].mean()) if len(scored) else None, low, high, len(judged), false,
            false / len(judged) if len(judged) else None, bool(own["observed"].all()),
        ))  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    fine = ~(frame["lost"].astype(float) > max_lost) & ~(
        frame["false_share"].astype(float) > max_false
    )
    # What nobody scored or judged is no proof that nothing was lost.
    measured = (frame["scored"] > 0) | (frame["judged"] > 0)
    frame["keeps"] = fine & measured & ~frame["observed"]
    frame = frame.sort_values(
        ["keeps", "effort", "preset"], ascending=[False, True, True], ignore_index=True
    )
    frame["answer"] = frame["keeps"] & (frame.index == 0)
    return frame
