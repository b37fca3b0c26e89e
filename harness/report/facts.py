"""The figures of one run, gathered once, and what can be said of them in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.report.blocks import (
    Sentence,
    count,
    missing,
    of,
    recorded,
    rows,
    score,
    share,
    usd,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Facts:
    """All figures of a run; the frames are those of ``harness.figures``.

    Attributes:
        run: Its id.
        base: The preset that others are compared with.
        differing: Scenarios that not all presets end alike, and all scenarios.
        weighty: Episodes to look at, the weightiest first.
        data: What each family of the run lacks.
    """

    run: str
    base: str
    totals: pd.DataFrame
    exits: pd.DataFrame
    lengths: pd.DataFrame
    cheapest: pd.DataFrame
    paired: pd.DataFrame
    roles: pd.DataFrame
    matrix: pd.DataFrame
    differing: tuple[int, int]
    guards: pd.DataFrame
    decided: pd.DataFrame
    weighty: pd.DataFrame
    data: pd.DataFrame

    @property
    def episodes(self) -> int:
        """Episodes of the run."""
        return int(self.totals["episodes"].sum())

    @property
    def acting(self) -> pd.DataFrame:
        """Totals of presets that may end a loop."""
        return self.totals[~self.totals["observed"].astype(bool)]


def reference(path: Path, run: str, totals: pd.DataFrame) -> str:
    """The preset that others are compared with: what watched to the end, else what ran longest.

    Raises:
        HarnessError: The run holds no episode.
    """
    if totals.empty:
        raise HarnessError(f"report: run {run} in store {path} holds no episode")
    order = totals.assign(mean=totals["iterations"] / totals["episodes"]).sort_values(
        ["observed", "mean", "preset"], ascending=[False, False, True]
    )
    return str(order["preset"].iloc[0])


# -- sentences -----------------------------------------------------------------------------------


def size(facts: Facts) -> Sentence:
    """What the report rests on."""
    presets = len(facts.totals)
    return (
        (
            f"{count(facts.episodes)} episodes: {count(facts.differing[1])} scenarios under "
            f"{presets} preset{'s' * (presets != 1)}."
        ),
    )


def cheapest(facts: Facts) -> Sentence:
    """Which preset costs least without losing quality, on the episodes that all of them have."""
    found = rows(facts.cheapest)
    acting = [row for row in found if not row["observed"]]
    if len(acting) < 2:
        return ("At most one preset that may end a loop ran, so there is none to choose from.",)
    best = acting[0]
    if not best["keeps"]:
        known = [row for row in acting if not missing(row["lost"])]
        if not known:
            return ("No episode has scores or a truth, so no quality can be compared.",)
        least = min(known, key=lambda row: (row["lost"], row["preset"]))
        return (
            "No preset keeps the quality within the limits. The least is lost by ",
            recorded(least["preset"]), f": {_kept(least)}.",
        )  # fmt: skip
    dearest = max(acting, key=lambda row: (row["effort"], row["preset"]))
    return (
        recorded(best["preset"]), (" is the cheapest preset that loses no quality here: "
        f"{_effort(best)} an episode (n = {count(best['effort_of'])}; "),
        recorded(dearest["preset"]), f" takes most, {_effort(dearest)}). {_kept(best)}.",
    )  # fmt: skip


def _effort(row: Mapping[str, Any]) -> str:
    if row["unit"] == "usd":
        return usd(row["effort"])
    return f"{count(row['effort']) if row['unit'] == 'tokens' else score(row['effort'])} " + (
        str(row["unit"])
    )


def _kept(row: Mapping[str, Any]) -> str:
    words = []
    if row["scored"]:
        interval = "" if missing(row["lost_low"]) else (
            f"95 % interval {score(row['lost_low'])} to {score(row['lost_high'])}, "
        )  # fmt: skip
        words.append(
            f"Its best scores lie {score(row['lost'])} below the best that any preset reached "
            f"({interval}n = {count(row['scored'])})"
        )
    if row["judged"]:
        words.append(f"{of(row['false_stops'], row['judged'])} judged episodes stop falsely")
    return "; ".join(words)


def ending(facts: Facts) -> Sentence:
    """What ends most loops, and what decides most of those that are decided."""
    watching = set(facts.totals["preset"]) - set(facts.acting["preset"])
    acting = facts.exits[~facts.exits["preset"].isin(watching)]
    if acting.empty:
        return ("Every preset only observed: nothing could end a loop.",)
    n = int(acting["episodes"].sum())
    sums = acting.groupby(["exit_reason", "exit_group"], as_index=False)[["episodes"]].sum()
    sums = sums.sort_values(["episodes", "exit_reason"], ascending=[False, True])
    decided = sums[sums["exit_group"] != "undecided"]
    left = n - int(decided["episodes"].sum())
    if decided.empty:
        return (f"Nothing was decided in any of {count(n)} episodes.",)
    told: list[str] = []
    for row in rows(decided.head(3)):
        told += [", " if told else "", recorded(row["exit_reason"]),
                 f" ({row['exit_group']}, {count(row['episodes'])})"]  # fmt: skip
    head = f"Of {count(n)} episodes that a preset could end, {count(n - left)} were decided "
    rest = f"; {count(left)} ran on until the recording or the agent itself ended."
    return (head, f"({share((n - left) / n)}), most often by ", *told, rest)


def people(facts: Facts) -> Sentence:
    """How often a human is needed, and where most."""
    n, needed = facts.episodes, int(facts.totals["needs_human"].sum())
    if not needed:
        return (f"No episode needs a human (n = {count(n)}).",)
    most = rows(facts.totals.sort_values(["needs_human", "preset"], ascending=[False, True]))[0]
    return (
        f"{of(needed, n)} episodes need a human, most of them under ", recorded(most["preset"]),
        f" ({of(most['needs_human'], most['episodes'])}).",
    )  # fmt: skip


def judged(facts: Facts) -> Sentence | None:
    """How presets agree with what a sensible user expects; ``None`` where nobody said."""
    known = facts.acting[facts.acting["judged"].notna()]
    if known.empty:
        return None
    order = known.sort_values(["right", "preset"], ascending=[False, True])
    best, early = rows(order)[0], rows(known.sort_values(["false_stops", "preset"]))[-1]
    words: list[str] = [
        "Where the scenario says what a sensible user expects, ", recorded(best["preset"]),
        f" is right most often ({of(best['right'], best['judged'])})",
    ]  # fmt: skip
    if early["false_stops"]:
        often = of(early["false_stops"], early["judged"])
        words += ["; ", recorded(early["preset"]), f" stops too early most often ({often})"]
    return (*words, ".")


def parted(facts: Facts) -> Sentence:
    """How many scenarios presets end differently."""
    some, everything = facts.differing
    return (f"Presets end {of(some, everything)} scenarios differently (reason or iteration).",)


def caveat(facts: Facts) -> Sentence:
    """How much of the run is exact."""
    sums = {name: int(facts.totals[name].sum()) for name in ("exact", "censored", "diverged")}
    words = (
        f"{of(sums['exact'], facts.episodes)} episodes are exact; {count(sums['censored'])} are "
        "censored (the recording ended with nothing decided, so what would have come later is "
        f"unknown) and {count(sums['diverged'])} diverged from their recording."
    )
    return (words,)
