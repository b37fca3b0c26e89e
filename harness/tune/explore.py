"""Turning thresholds by hand: the knobs of an observed run, and what a setting of them gives.

Every position of a knob is a threshold that matters: an observed signal, between two of which
nothing changes. The figures are those of the sweep, so they are exact and come at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import HarnessError
from harness.guards import ENDING, Guard
from harness.preset import Preset
from harness.tune.attribution import SCORE_UNIT, attribute
from harness.tune.corpus import Corpus, Ints
from harness.tune.curves import curves
from harness.tune.readings import structure
from harness.tune.shapes import passive
from harness.tune.split import units
from harness.tune.steps import steps
from harness.tune.sweep import Exits, exits
from harness.tune.totals import Outcome, figures
from harness.tune.value import at_iterations

if TYPE_CHECKING:
    import pandas as pd

#: Positions of one knob; where a run has more thresholds that matter, they are thinned.
MOST = 40


@dataclass(frozen=True)
class Knob:
    """One guard that can be turned.

    Attributes:
        guard: Its name in the observed preset.
        made: The guard with the threshold it starts at; it stops.
        on: Whether the preset that one starts from has it on.
        points: Thresholds to choose from, rising.
        shown: The same, as people read them.
    """

    guard: str
    made: Guard
    on: bool
    points: tuple[float, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """Where turning begins.

    Attributes:
        preset: What can be swept of the preset that one starts from.
        knobs: The guards that can be turned, those that are on first.
        notes: What was left out or changed, one line each.
    """

    preset: Preset
    knobs: tuple[Knob, ...]
    notes: tuple[str, ...]


def start(corpus: Corpus, observed: Preset, wanted: Preset) -> Start:
    """The knobs of a run, set as in a preset.

    Args:
        corpus: What was observed.
        observed: The preset under which it was.
        wanted: The preset to start from.
    """
    places = {structure(guard): name for name, guard in observed.guards.items()}
    on: dict[str, Guard] = {}
    notes = []
    for name, guard in wanted.guards.items():
        place = places.get(structure(guard))
        if place is None or place not in corpus.guards:
            other = " with these settings" if name in corpus.guards else ""
            notes.append(f"{name} was not observed{other}, so it is left out")
        elif not passive(guard):
            notes.append(f"{name} intervenes before it ends a loop; here it stops at once")
            on.setdefault(place, replace(guard, on_fire="stop", threshold=_number(guard)))
        elif guard.action in ENDING:
            on.setdefault(place, guard)
    if wanted.mechanisms != observed.mechanisms:
        notes.append(f"mechanisms are those of {observed.name}, which were observed")
    knobs = []
    for name, guard in observed.guards.items():
        if name not in corpus.guards or hasattr(guard, "guards"):
            continue
        made = on.get(name) or replace(guard, on_fire="stop")
        points = _points(corpus, name, made if name in on else None)
        if points:
            shown = tuple(made.shown(point) for point in points)
            knobs.append(Knob(name, made, name in on, points, shown))
    base = replace(observed, name=wanted.name, observe=False, guards=on, source="")
    return Start(base, tuple(sorted(knobs, key=lambda k: not k.on)), tuple(notes))


def _number(guard: Guard) -> float:
    # A ladder's rungs may stand elsewhere than its threshold; the last rung is where it ends.
    rungs = list(guard.action) if isinstance(guard.action, Mapping) else []
    return float(max(map(float, rungs), default=guard.threshold))


def _points(corpus: Corpus, name: str, guard: Guard | None) -> tuple[float, ...]:
    signals = corpus.guards[name].signals
    found = np.unique(signals[np.isfinite(signals) & (signals >= 0)])
    if len(found) > MOST:
        found = found[np.unique(np.linspace(0, len(found) - 1, MOST).round().astype(int))]
    own = [] if guard is None or not np.isfinite(guard.threshold) else [float(guard.threshold)]
    return tuple(np.unique([*found.tolist(), *own]).tolist())


def turned(begin: Start, settings: Mapping[str, float | None], name: str = "mine") -> Preset:
    """The preset that the knobs stand for: a threshold for each guard, ``None`` for off."""
    guards = {}
    for knob in begin.knobs:
        value = settings.get(knob.guard)
        if value is not None:
            guards[knob.guard] = replace(knob.made, threshold=_whole(value))
    return replace(begin.preset, name=name, guards=guards)


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value


@dataclass(frozen=True)
class Turned:
    """What presets come to on the same episodes.

    Attributes:
        exits: preset, exit_reason, exit_group, episodes, share.
        totals: One row a preset: the columns of ``harness.tune.totals.figures``.
        incidence: By preset: cause, iteration, share, low, high.
        episodes: On how many episodes it rests.
        left_out: Episodes that would have to be replayed.
    """

    exits: pd.DataFrame
    totals: pd.DataFrame
    incidence: Mapping[str, pd.DataFrame]
    episodes: int
    left_out: int


def outcome(corpus: Corpus, presets: Sequence[Preset], unit: Ints | None = None) -> Turned:
    """What presets come to on the episodes of which all of them can be told.

    Args:
        corpus: What was observed.
        presets: Which presets.
        unit: By episode, what must not be taken apart (``split.units``); worked out where left out,
            which on a large corpus is the dearest part.

    Raises:
        HarnessError: There is no such episode.
    """
    import pandas as pd

    found = exits(corpus, presets)
    told = found.swept.all(axis=0)
    if not told.any():
        raise HarnessError("tune: no episode of this run can be told without replaying it")
    kept = corpus.only(np.flatnonzero(told))
    ends = replace(
        found, iteration=found.iteration[:, told], by=found.by[:, told], swept=found.swept[:, told]
    )
    own = units(kept).unit if unit is None else unit[told]
    labels = [str(one) for one in own]
    everyone = np.ones(len(kept), dtype=bool)
    shares, rows, incidence = [], [], {}
    for row, preset in enumerate(presets):
        one = Exits(ends.iteration[[row]], ends.by[[row]], ends.reasons, ends.swept[[row]])
        row_of = figures(kept, _valued(kept, one), everyone, labels)
        rows.append({"preset": preset.name, **_plain(row_of)})
        shares += _shares(kept, one, preset.name)
        incidence[preset.name] = curves(kept, ends, row, unit=own).frame()
    return Turned(
        pd.DataFrame(shares), pd.DataFrame(rows), incidence, len(kept), int((~told).sum())
    )


def _valued(corpus: Corpus, one: Exits) -> Outcome:
    return Outcome(one, at_iterations(corpus, one.iteration))


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Figures without what is no number, and effort as a mean."""
    n = row["episodes"]
    found = {k: v for k, v in row.items() if k != "reasons"}
    found["cost_usd"] = row["cost"] / 1e12
    found["mean_iterations"] = row["iterations"] / n if n else None
    return found


def _shares(corpus: Corpus, one: Exits, name: str) -> list[dict[str, Any]]:
    counts = Counter(
        one.reasons[by][0] if by >= 0 else corpus.end[episode]
        for episode, by in enumerate(one.by[0].tolist())
    )
    return [
        {"preset": name, "exit_reason": reason.value, "exit_group": reason.group, "episodes": n,
         "share": n / len(corpus)}
        for reason, n in sorted(counts.items(), key=lambda found: -found[1])
    ]  # fmt: skip


def step_frame(corpus: Corpus, guard: str, beside: Preset) -> pd.DataFrame:
    """What each threshold of one guard would have done, beside the others as they stand.

    Returns:
        threshold, false_stops, cost_saved (USD), lost, ended, iterations.
    """
    import pandas as pd

    found = steps(corpus, guard, beside)
    return pd.DataFrame(
        {"threshold": found.threshold, "false_stops": found.false_stops,
         "cost_saved": found.cost_saved / 1e12, "lost": found.lost, "ended": found.ended,
         "iterations": found.iterations}
    )  # fmt: skip


def worth_frame(corpus: Corpus, preset: Preset) -> pd.DataFrame:
    """What each guard that is worth anything is worth, in USD and units of score.

    Raises:
        HarnessError: As ``attribute``.
    """
    frame = attribute(corpus, preset).frame()
    scale = frame["measure"].map({"saved": 1e12, "lost": float(SCORE_UNIT)}).fillna(1.0)
    for column in ("alone", "left_out", "share", "shapley"):
        frame[column] = frame[column] / scale
    return frame[(frame["share"] != 0) | (frame["alone"] != 0)].reset_index(drop=True)


def front_frame(study: Any) -> pd.DataFrame:
    """The candidates of a study on its train side, for a picture of the front.

    Returns:
        name, effort (mean of an episode, in the study's unit; USD where that is cost), harm
        (false-stop rate), front, chosen.
    """
    import pandas as pd

    # Column 0 is all episodes; the next is the side that was chosen by.
    column = min(1, study.sums.effort.shape[1] - 1)
    scale = 1e12 if study.unit == "cost" else 1.0
    effort = study.sums.mean("effort", column) / scale
    harm = np.nan_to_num(study.sums.mean("false_stops", column))
    front = set(study.front.tolist())
    rest = np.linspace(0, len(effort) - 1, min(len(effort), 400)).round().astype(int).tolist()
    rows = sorted({*front, *rest, study.common.row})
    return pd.DataFrame(
        [(study.candidates.words(r), effort[r], harm[r], r in front, r == study.common.row)
         for r in rows],
        columns=["name", "effort", "harm", "front", "chosen"],
    )  # fmt: skip
