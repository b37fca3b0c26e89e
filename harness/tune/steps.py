"""What each threshold of one guard would have done: all that matter, exactly, in one pass.

Between two observed signals nothing changes, so the totals over all episodes are a step function
of the threshold. Each step moves the end of some episodes to an earlier iteration; the steps are
sorted and added up, and no threshold is tried.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import HarnessError, choices
from harness.guards import Guard, guard_class
from harness.preset import Preset
from harness.trace import Direction
from harness.tune.corpus import Corpus, Floats, Ints, Readings
from harness.tune.firing import cells_of, records
from harness.tune.shapes import pauses
from harness.tune.sums import worth
from harness.tune.sweep import exits
from harness.verdicts import Comparison

#: Episodes that are looked at together.
_PART = 4096


@dataclass(frozen=True)
class Steps:
    """Totals over all episodes that can be swept, one entry a threshold, in rising order.

    They are those of a preset with this guard at this threshold, and of what stands beside it.

    Attributes:
        episodes: How many episodes are in the totals.
        threshold: Thresholds that differ in what they do: observed signals, and where the guard
            fires below its threshold the next higher number behind the highest one.
        ended: Episodes in which it fires, and no later than anything else would end them.
        iterations: Iterations that ran.
        cost: Cost of all roles (pico-USD), the known part.
        cost_saved: What the whole recordings cost more (pico-USD).
        lost: How much better the best scores of whole recordings are, over scored episodes.
        early: Episodes that ended before their recording did.
        false_stops: Early ends although going on would have paid (see ``harness.tune.value``).
    """

    episodes: int
    threshold: Floats
    ended: Ints
    iterations: Ints
    cost: Ints
    cost_saved: Ints
    lost: Floats
    early: Ints
    false_stops: Ints


def steps(corpus: Corpus, guard: str, beside: Preset | None = None) -> Steps:
    """All thresholds of an observed guard that matter, with what they come to.

    The guard stands at each threshold in all episodes, also where a task sets its own.

    Args:
        corpus: What was observed; mechanisms that end episodes do so here too.
        guard: Its name in the observed preset.
        beside: A passive preset that ends episodes too; an entry of the guard's name in it is
            left out.

    Raises:
        HarnessError: No such guard.
    """
    readings = corpus.guards.get(guard)
    if readings is None:
        raise HarnessError(f"tune: guard: {choices(guard, corpus.guards)}")
    probe = _probe(readings)
    others = {n: g for n, g in (beside.guards if beside else {}).items() if n != guard}
    found = exits(corpus, [Preset(guards=others)])
    counted = found.swept[0] & ~corpus.phased & (corpus.fork == 0)
    if pauses(guard, probe):
        # Where a person answers, a threshold may end nothing.
        counted &= ~corpus.answered
    members = np.nonzero(counted)[0]
    cap = found.iteration[0].astype(np.int64)
    moves = [
        _moves(corpus, readings.signals, probe.compares(direction), chosen, cap)
        for direction, lower in _DIRECTIONS
        if len(chosen := members[corpus.lower[members] == lower])
    ]
    return _totals(corpus, members, cap, moves)


_DIRECTIONS: tuple[tuple[Direction, bool], ...] = (("higher", False), ("lower", True))


def _probe(readings: Readings) -> Guard:
    """A guard of this kind, to ask how its signal compares; its settings do not matter there."""
    cls = guard_class(readings.kind)
    settings = json.loads(readings.settings)
    parts = tuple(
        _probe(Readings(part["kind"], json.dumps(_plain(part)), readings.signals))
        for part in settings.pop("guards", [])
    )
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    return cls(threshold=0.0, on_fire="stop", **values, **({"guards": parts} if parts else {}))


def _plain(part: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in part.items() if k not in ("kind", "threshold", "on_fire")}


@dataclass(frozen=True)
class _Moves:
    """Ends of episodes that move earlier as a threshold gets stricter.

    Attributes:
        value: Signed signals at which something moves, the most extreme one first.
        before: The episode's last iteration (flat) as long as that signal is not reached.
        after: And once it is.
        first: Whether the guard did not fire in that episode before.
        sign: 1 where high signals fire, else -1; ``strict`` where equal ones do not.
    """

    value: Floats
    before: Ints
    after: Ints
    first: npt.NDArray[np.bool_]
    sign: float
    strict: bool


def _moves(
    corpus: Corpus, signals: Floats, compares: Comparison, members: Ints, cap: Ints
) -> _Moves:
    sign = 1.0 if compares == ">=" else -1.0
    found: list[tuple[Ints, Ints, Floats]] = []
    ordered = members[np.argsort(corpus.lengths[members], kind="stable")]
    for part in np.array_split(ordered, -(-len(ordered) // _PART)):
        where, last, values = records(signals, cells_of(corpus, part), sign)
        # A record begins right after the one before it has had its last iteration.
        begin = np.zeros(len(last), dtype=np.int64)
        begin[1:] = np.where(where[1:] == where[:-1], last[:-1] + 1, 0)
        known = ~np.isnan(values)
        found.append((part[where[known]], begin[known] + 1, values[known]))
    episode, at, value = (np.concatenate(columns) for columns in zip(*found, strict=True))
    limit = cap[episode]
    fires = at <= limit
    after = np.minimum(at, limit)
    before = limit.copy()
    same = episode[:-1] == episode[1:]
    before[:-1][same] = after[1:][same]
    first = fires.copy()
    first[:-1][same] &= ~fires[1:][same]
    start = corpus.offsets[episode] - 1
    order = np.argsort(-value, kind="stable")
    return _Moves(
        value[order], (start + before)[order], (start + after)[order], first[order],
        sign, compares == "<",
    )  # fmt: skip


def _totals(corpus: Corpus, members: Ints, cap: Ints, moves: list[_Moves]) -> Steps:
    """Sums at every threshold at which something changes."""
    thresholds = np.unique(np.concatenate([_thresholds(one) for one in moves] or [np.empty(0)]))
    values = worth(corpus)
    values["lost"] = np.nan_to_num(values["lost"])
    values["cost"] = corpus.cost
    values["iterations"] = np.arange(len(corpus.cost)) - np.repeat(
        corpus.offsets[:-1] - 1, corpus.lengths
    )
    last = corpus.offsets[members] + cap[members] - 1
    found: dict[str, npt.NDArray[Any]] = {}
    for name in ("iterations", "cost", "lost", "early", "false_stops"):
        flat = values[name].astype(np.float64 if name == "lost" else np.int64)
        found[name] = np.full(len(thresholds), flat[last].sum())
        for one in moves:
            found[name] += _reached(one, flat[one.after] - flat[one.before], thresholds)
    ended = np.zeros(len(thresholds), dtype=np.int64)
    for one in moves:
        ended += _reached(one, one.first.astype(np.int64), thresholds)
    whole = int(corpus.cost[corpus.offsets[members + 1] - 1].sum())
    return Steps(
        episodes=len(members),
        threshold=thresholds,
        ended=ended,
        cost_saved=whole - found["cost"],
        **found,
    )


def _thresholds(moves: _Moves) -> Floats:
    """For each outcome the loosest threshold that gives it, on the scale of the signal."""
    signals = np.unique(moves.sign * moves.value)
    if not moves.strict:
        return signals
    # Below a threshold: the next higher signal, and behind the highest the next number.
    return np.append(signals[1:], np.nextafter(signals[-1:], np.inf))


def _reached(moves: _Moves, change: npt.NDArray[Any], thresholds: Floats) -> npt.NDArray[Any]:
    """Sum of the changes of all moves that each threshold brings about."""
    total = np.concatenate([np.zeros(1, dtype=change.dtype), np.cumsum(change)])
    side = "left" if moves.strict else "right"
    # Values fall, so their negatives rise; a move happens where value >= (or >) threshold.
    count = np.searchsorted(-moves.value, -moves.sign * thresholds, side=side)  # type: ignore[call-overload]
    return np.asarray(total[count])
