"""Presets as thresholds over shapes: the guards that many presets share, and their numbers apart.

Presets that have the same guards with the same actions differ in numbers only; they have one
*shape*. A task's limits change every preset of a shape in the same way, so they are applied to
the shape once and not to each preset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter
from typing import Any

import numpy as np

from harness.decide import is_pause, rank
from harness.errors import HarnessError
from harness.guards import ENDING, Guard
from harness.preset import Preset
from harness.task import Limits
from harness.tune.readings import Floats, Ints, Structure, structure
from harness.verdicts import Condition

#: Actions that leave the course of the loop alone until they end it.
_PASSIVE = ENDING | {"observe", "warn"}
#: Classes of ``on_fire`` that can be compared quickly: one action, a ladder, the default.
_HASHABLE = frozenset({str, tuple, type(None)})
#: A guard in a preset, by its name there and by what it measures.
Label = tuple[str, Structure]


def passive(guard: Guard) -> bool:
    """Whether a guard does nothing to a loop but end it."""
    return isinstance(guard.action, str) and guard.action in _PASSIVE


@dataclass(frozen=True)
class Shape:
    """Presets that differ in thresholds only.

    Attributes:
        rows: Their numbers.
        guards: Their guards in order; thresholds are NaN here.
        thresholds: By guard, one a preset.
        observe: They end nothing at all.
        passive: They do not intervene, so that they can be swept.
    """

    rows: Ints
    guards: Mapping[str, Guard]
    thresholds: Mapping[str, Floats]
    observe: bool
    passive: bool

    def under(self, limits: Limits) -> tuple[dict[str, Guard], dict[str, Floats]]:
        """Guards under a task's limits, and the thresholds of those that end a loop.

        A limit that sets a threshold sets it for all presets alike.
        """
        guards = dict(Preset(guards=self.guards).with_limits(limits).guards)
        found = {}
        for name, guard in guards.items():
            if not self.passive or self.observe or guard.action not in ENDING:
                continue
            own = guard.threshold != guard.threshold
            found[name] = (
                self.thresholds[name] if own else np.full(len(self.rows), float(guard.threshold))
            )
        return guards, found


@cache
def _settings(cls: type[Guard]) -> Any:
    """Reads all that two guards of one shape have in common, then the threshold."""
    names = [f.name for f in fields(cls) if f.name != "threshold"]
    return attrgetter(*names, "threshold")


def shapes(presets: Sequence[Preset]) -> list[Shape]:
    """Presets by shape, in the order of the first of each."""
    members: dict[Any, list[int]] = {}
    numbers: dict[Any, list[list[float]]] = {}
    for row, preset in enumerate(presets):
        key: list[Any] = [preset.observe]
        values = []
        for name, guard in preset.guards.items():
            cls = guard.__class__
            got = _settings(cls)(guard)
            key += (name, cls, got[:-1])
            values.append(got[-1])
            if guard.on_fire.__class__ not in _HASHABLE:
                # Such guards intervene; equal ladders need not be found out.
                key[-1] = row
        found = tuple(key)
        members.setdefault(found, []).append(row)
        numbers.setdefault(found, []).append(values)
    made = []
    for found, rows in members.items():
        first = presets[rows[0]]
        columns = np.array(numbers[found], dtype=np.float64).reshape(len(rows), -1)
        named = dict(zip(first.guards, columns.T.copy(), strict=True))
        made.append(_shape(np.array(rows, dtype=np.int64), first, named))
    return made


def _shape(rows: Ints, preset: Preset, thresholds: Mapping[str, Floats]) -> Shape:
    guards = {name: replace(guard, threshold=np.nan) for name, guard in preset.guards.items()}
    known = all(passive(guard) for guard in guards.values())
    known = known and not any(np.isnan(column).any() for column in thresholds.values())
    return Shape(rows, guards, thresholds, preset.observe, known)


def varied(preset: Preset, thresholds: Mapping[str, Floats]) -> list[Shape]:
    """One preset with many thresholds, without making a preset of each.

    Args:
        preset: Gives guards, actions, and the thresholds of guards that are not named.
        thresholds: By guard, one a variant; all of one length.

    Raises:
        HarnessError: A guard that the preset lacks, or columns of different lengths.
    """
    lacking = sorted(set(thresholds) - set(preset.guards))
    if lacking:
        raise HarnessError(f"tune: preset {preset.name} has no guard {lacking[0]}")
    sizes = {len(column) for column in thresholds.values()}
    if len(sizes) != 1:
        raise HarnessError(f"tune: thresholds must be of one length, found {sorted(sizes)}")
    count = sizes.pop()
    columns = {
        name: np.asarray(thresholds[name], dtype=np.float64)
        if name in thresholds
        else np.full(count, float(guard.threshold))
        for name, guard in preset.guards.items()
    }
    return [_shape(np.arange(count), preset, columns)]


def label(name: str, guard: Guard) -> Label:
    """A guard by its name and by what it measures."""
    return name, structure(guard)


def pauses(name: str, guard: Guard) -> bool:
    """Whether it waits for a person, who may have answered in the recording."""
    condition = Condition(guard.kind(), name, guard.exit_reason, str(guard.action))
    return is_pause(condition, rank(guard.kind(), guard.exit_reason)[0])


class Order:
    """The order in which guards of the same place in the decision chain decide: a preset's own.

    Presets may disagree; those that do are swept apart.
    """

    def __init__(self) -> None:
        self._before: dict[Label, set[Label]] = {}

    def takes(self, sequences: Iterable[Sequence[tuple[Label, Guard]]]) -> bool:
        """Take in the guards of presets, unless they contradict the order so far."""
        wanted = {key: set(before) for key, before in self._before.items()}
        for sequence in sequences:
            last: dict[tuple[int, float], Label] = {}
            for key, guard in sequence:
                place = rank(guard.kind(), guard.exit_reason)
                before = wanted.setdefault(key, set())
                if place in last:
                    before.add(last[place])
                last[place] = key
        try:
            TopologicalSorter(wanted).prepare()
        except CycleError:
            return False
        self._before = wanted
        return True

    def __iter__(self) -> Iterator[Label]:
        return iter(TopologicalSorter(self._before).static_order())
