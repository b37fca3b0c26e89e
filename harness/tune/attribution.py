"""What each guard of a preset is worth: alone, left out, and as its Shapley value.

Guards overlap: what one stops, another would have stopped a little later. Leaving one out shows
what nobody else would have done; the Shapley value (Shapley 1953) is the mean of what a guard adds
over all orders of adding them, so that the values of all guards sum to the whole. All subsets are
looked at, so nothing is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pandas as pd

from harness.errors import HarnessError
from harness.guards import ENDING
from harness.preset import Preset
from harness.tune.corpus import Corpus, Flags, Ints
from harness.tune.paths import sweepable
from harness.tune.sweep import Exits, Small, exits
from harness.tune.value import at_iterations

#: Subsets double with each guard; 4,096 of them are a matter of seconds.
MOST = 12
#: Presets times episodes that are looked at together; bounds the memory.
_CELLS = 2_000_000
#: Scores count in billionths, as their differences are rounded to nine decimals.
SCORE_UNIT = 10**9
Measure = Literal["saved", "iterations", "lost", "false_stops"]
#: What is attributed, with its unit. Integers, so that the parts sum to the whole exactly.
MEASURES: Mapping[Measure, str] = {
    "saved": "cost of what did not run, pico-USD",
    "iterations": "iterations that did not run",
    "lost": "best scores missed, billionths, where scores are known",
    "false_stops": "episodes ended early although going on would have paid",
}


@dataclass(frozen=True, slots=True)
class Worth:
    """What one guard, or one kind of guards, is worth by one measure.

    Attributes:
        alone: With this guard only, over none.
        left_out: What is missing if only this one is off.
        shapley: Mean over all orders of what it adds; exact.
        share: ``shapley`` in whole units; those of all guards sum to the whole.
    """

    guard: str
    alone: int
    left_out: int
    shapley: Fraction
    share: int


@dataclass(frozen=True)
class Attribution:
    """What the guards of a preset are worth.

    Attributes:
        preset: Its name.
        grouped: The players are kinds of guards, because there are too many guards.
        whole: By measure: the preset over none of its guards.
        worth: By measure, guards in the order of the preset. Those that never fire are worth 0.
        episodes: Episodes it rests on.
        priced: Those of them whose cost is known; of the others it is the known part.
        left_out: Episodes that a sweep cannot judge (phases, answered pauses).
    """

    preset: str
    grouped: bool
    whole: Mapping[Measure, int]
    worth: Mapping[Measure, tuple[Worth, ...]]
    episodes: int
    priced: int
    left_out: int

    def frame(self) -> pd.DataFrame:
        """One row a guard and measure: alone, left_out, share; and shapley as a number."""
        rows = [
            {"measure": measure, "guard": one.guard, "alone": one.alone,
             "left_out": one.left_out, "share": one.share, "shapley": float(one.shapley)}
            for measure, found in self.worth.items() for one in found
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["measure", "guard", "alone", "left_out", "share",
                                           "shapley"])  # fmt: skip


def attribute(corpus: Corpus, preset: Preset) -> Attribution:
    """Attribute what a preset saves and loses to its guards, exactly.

    A task's own limits stay in force in every subset: they are the task's, not the preset's. So do
    mechanisms, which end an episode whatever the guards do.

    Args:
        corpus: What was observed.
        preset: A passive preset over observed guards.

    Raises:
        HarnessError: It cannot be swept, or more than twelve guards, and then more than twelve
            kinds of guards, fire.
    """
    sweepable(corpus, preset)
    active = [name for name, guard in preset.guards.items() if guard.action in ENDING]
    each = [_only(preset, {name}) for name in active]
    alone = exits(corpus, [_only(preset, set()), *each])
    known: Flags = np.asarray(alone.swept.all(axis=0))
    fires = (alone.iteration[1:] != alone.iteration[:1]) | (alone.by[1:] != alone.by[:1])
    busy = fires[:, known].any(axis=1)
    players = {name: frozenset({name}) for name, fired in zip(active, busy, strict=True) if fired}
    grouped = len(players) > MOST
    if grouped:
        players = _kinds(preset, players)
    if len(players) > MOST:
        raise HarnessError(
            f"attribution: preset {preset.name}: {len(players)} kinds of guards fire; at most "
            f"{MOST} can be told apart exactly, so switch some off"
        )
    rows = {name: row for row, name in enumerate(active, 1)}
    members = [[rows[name] for name in names] for names in players.values()]
    totals = _totals(corpus, alone.iteration, members, known)
    idle = [] if grouped else [name for name in active if name not in players]
    order = list(players) if grouped else active
    worth: dict[Measure, tuple[Worth, ...]] = {}
    for name, values in totals.items():
        found = {one.guard: one for one in _worth(list(players), values)}
        found.update({guard: Worth(guard, 0, 0, Fraction(0), 0) for guard in idle})
        worth[name] = tuple(found[guard] for guard in order)
    return Attribution(
        preset=preset.name,
        grouped=grouped,
        whole={name: values[-1] - values[0] for name, values in totals.items()},
        worth=worth,
        episodes=int(known.sum()),
        priced=int((corpus.cost_known[corpus.offsets[1:] - 1] & known).sum()),
        left_out=int((~known).sum()),
    )


def _only(preset: Preset, kept: set[str] | frozenset[str]) -> Preset:
    """The preset with these of its guards, in its order."""
    return replace(preset, guards={n: g for n, g in preset.guards.items() if n in kept})


def _kinds(preset: Preset, players: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for name in players:
        kind = preset.guards[name].kind()
        groups[kind] = groups.get(kind, frozenset()) | {name}
    return groups


def _totals(
    corpus: Corpus, alone: Small, members: Sequence[Sequence[int]], known: Flags
) -> dict[Measure, list[int]]:
    """Each measure for every subset; bit j of a subset's number says whether player j is in.

    Args:
        corpus: What was observed.
        alone: Last iterations by episode: without any guard, then with each one alone.
        members: Of each player, the rows of its guards in ``alone``.
        known: Episodes that count.
    """
    totals: dict[Measure, list[int]] = {name: [] for name in MEASURES}
    here = np.flatnonzero(known)
    part = corpus.only(here)
    none = alone[0, here]
    players = [alone[list(rows)][:, here].min(axis=0) for rows in members]
    whole = part.cost[part.offsets[1:] - 1]
    low = min(len(players), max(0, (_CELLS // max(1, len(part))).bit_length() - 1))
    for high in range(2 ** (len(players) - low)):
        # A loop ends where the first of its guards ends it, so subsets need no sweep of their own.
        ends = np.minimum.reduce([none, *_chosen(players[low:], high)])[None, :]
        for player in players[:low]:
            ends = np.concatenate([ends, np.minimum(ends, player)])
        value = at_iterations(part, ends)
        lost = np.rint(np.nan_to_num(value.lost) * SCORE_UNIT).astype(np.int64)
        totals["saved"] += _sums(whole - value.cost)
        totals["iterations"] += _sums(part.lengths - value.iteration)
        totals["lost"] += _sums(lost)
        totals["false_stops"] += _sums(value.false_stop)
    return totals


def _chosen(players: Sequence[Small], subset: int) -> list[Small]:
    return [player for j, player in enumerate(players) if subset >> j & 1]


def _sums(cells: Ints | Flags) -> list[int]:
    return [int(total) for total in cells.sum(axis=1, dtype=np.int64)]


def _worth(names: Sequence[str], values: Sequence[int]) -> list[Worth]:
    exact = shapley(values)
    parts = whole_units(exact)
    everyone = len(values) - 1
    return [
        Worth(
            guard=name,
            alone=values[1 << j] - values[0],
            left_out=values[everyone] - values[everyone ^ 1 << j],
            shapley=exact[j],
            share=parts[j],
        )
        for j, name in enumerate(names)
    ]


def shapley(values: Sequence[int]) -> list[Fraction]:
    """Shapley values of a game given by the value of every subset of its players.

    phi_j = sum over subsets S without j of |S|! (n - |S| - 1)! / n! * (v(S + j) - v(S)).

    Args:
        values: v(S) under the number whose bit j says whether player j is in S.

    Returns:
        One exact value a player; they sum to the value of all less that of none.
    """
    n = len(values).bit_length() - 1
    orders = [math.factorial(s) * math.factorial(n - s - 1) for s in range(n)]
    found = []
    for j in range(n):
        total = sum(
            orders[s.bit_count()] * (values[s | 1 << j] - values[s])
            for s in range(len(values))
            if not s >> j & 1
        )
        found.append(Fraction(total, math.factorial(n)))
    return found


def whole_units(parts: Sequence[Fraction]) -> list[int]:
    """Parts rounded to integers that keep their sum (largest remainders, Hamilton 1792)."""
    floors = [math.floor(part) for part in parts]
    missing = int(sum(parts)) - sum(floors)
    order = sorted(range(len(parts)), key=lambda j: (floors[j] - parts[j], j))
    for j in order[:missing]:
        floors[j] += 1
    return floors


def runners_up(corpus: Corpus, preset: Preset) -> pd.DataFrame:
    """For each episode that a guard ends: who would have ended it next, and when.

    Args:
        corpus: What was observed.
        preset: A passive preset over observed guards.

    Returns:
        One row an episode that a guard ended: scenario, task, guard, reason, iteration; next_guard
        (empty where a mechanism or nobody would have), next_reason (empty where the recording
        would have run to its end), next_iteration; and the cost (pico-USD) that lies between.

    Raises:
        HarnessError: The preset cannot be swept.
    """
    sweepable(corpus, preset)
    active = [name for name, guard in preset.guards.items() if guard.action in ENDING]
    found = exits(corpus, [preset, *(_only(preset, {*preset.guards} - {n}) for n in active)])
    rows = []
    for episode in np.flatnonzero(found.swept.all(axis=0)).tolist():
        guard, reason = _winner(found, 0, episode)
        if guard not in active:
            continue
        without = 1 + active.index(guard)
        after, next_reason = _winner(found, without, episode)
        now, later = (int(found.iteration[row, episode]) for row in (0, without))
        begin = int(corpus.offsets[episode]) - 1
        rows.append(
            (corpus.scenarios[episode], corpus.tasks[episode], guard, reason, now, after,
             next_reason, later, int(corpus.cost[begin + later] - corpus.cost[begin + now]))
        )  # fmt: skip
    columns = ["scenario", "task", "guard", "reason", "iteration", "next_guard", "next_reason",
               "next_iteration", "cost_between"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _winner(found: Exits, row: int, episode: int) -> tuple[str, str]:
    by = int(found.by[row, episode])
    if by < 0:
        return "", ""
    reason, guard = found.reasons[by]
    return guard, reason.value
