"""Readings of guards as arrays, found by what a guard measures rather than by its name.

A signal depends on the guard's kind and structural settings and on nothing else of the guard, so
the same readings serve a guard under any name, threshold and action.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.guards import Guard
from harness.preset import guard_data

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
#: What a guard measures: its kind, and its structural settings as JSON.
Structure = tuple[str, str]


@dataclass(frozen=True)
class Readings:
    """One guard over all episodes.

    Attributes:
        kind: Its kind.
        settings: Structural settings, as the store has them; those of the first episode where a
            task's limits change them.
        signals: Flat, one an iteration; NaN where nothing could be measured.
    """

    kind: str
    settings: str
    signals: Floats


@dataclass(frozen=True)
class Signals:
    """What guards of one structure measured.

    Attributes:
        values: Flat, one an iteration; NaN where nothing could be measured.
        measured: By episode, whether it was measured there at all.
    """

    values: Floats
    measured: Flags


def structure(guard: Guard) -> Structure:
    """What a guard measures, without threshold and action.

    Those of a combination's parts stay: its signal depends on the parts' thresholds.
    """
    data = guard_data(guard)
    kind = str(data.pop("kind"))
    del data["threshold"], data["on_fire"]
    return kind, _canonical(data)


def _canonical(data: Mapping[str, Any]) -> str:
    return json.dumps(_measuring(data), sort_keys=True)


def _measuring(data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without what the parts of a combination would do if they stood alone."""
    kept = {key: value for key, value in data.items() if key != "on_fire"}
    if "guards" in kept:
        kept["guards"] = [_measuring(part) for part in kept["guards"]]
    return kept


def measured_by(kind: str, settings: str) -> Structure:
    """The structure of settings as the store has them."""
    return kind, _canonical(json.loads(settings))


def by_name(
    table: pa.Table, at: Mapping[str, int], offsets: Ints
) -> tuple[dict[str, Readings], dict[Structure, Signals]]:
    """Stored series as flat arrays.

    Args:
        table: Rows of ``episode_id, guard, kind, settings, signals``, ordered by guard.
        at: Number of each episode by its id.
        offsets: Where each episode's iterations begin.

    Returns:
        Readings by the guard's name, and the same arrays by structure. A guard that some
        episodes lack (a task's own limit) is NaN there.
    """
    named: dict[str, Readings] = {}
    found: dict[Structure, Signals] = {}
    names = table["guard"].to_pylist()
    kinds, settings = table["kind"].to_pylist(), table["settings"].to_pylist()
    episodes = [at[episode] for episode in table["episode_id"].to_pylist()]
    values, starts = flat(table["signals"])
    rows: dict[tuple[str, str, str], list[int]] = {}
    for row, one in enumerate(zip(names, kinds, settings, strict=True)):
        rows.setdefault(one, []).append(row)
    for (name, kind, setting), members in rows.items():
        # One guard has two structures where a task's limits change a window.
        signals = named[name].signals if name in named else unmeasured(offsets)
        which = np.array([episodes[row] for row in members], dtype=np.int64)
        place(signals, which, offsets, values, starts[members])
        named.setdefault(name, Readings(kind, setting, signals))
        here = np.zeros(len(offsets) - 1, dtype=bool)
        here[which] = True
        key = measured_by(kind, setting)
        found[key] = merged(found.get(key), Signals(signals, here), offsets)
    return named, found


def flat(column: pa.ChunkedArray) -> tuple[Floats, Ints]:
    """Lists as one array of all values, and where each list begins."""
    lists = column.combine_chunks()
    values = lists.values.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64), np.asarray(lists.offsets.to_numpy(), np.int64)


def unmeasured(offsets: Ints) -> Floats:
    """Readings of a guard that has measured nothing."""
    return np.full(int(offsets[-1]), np.nan)


def place(into: Floats, episodes: Ints, offsets: Ints, values: Floats, starts: Ints) -> None:
    """Put the readings of these episodes where they belong; ``starts`` says where each begins."""
    lengths = offsets[episodes + 1] - offsets[episodes]
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    into[np.repeat(offsets[episodes], lengths) + within] = values[
        np.repeat(starts, lengths) + within
    ]


def merged(one: Signals | None, other: Signals, offsets: Ints) -> Signals:
    """What either has measured; where both have, they say the same."""
    if one is None:
        return other
    more = other.measured & ~one.measured
    if not more.any():
        return one
    values = one.values.copy()
    chosen = np.repeat(more, np.diff(offsets))
    values[chosen] = other.values[chosen]
    return Signals(values, one.measured | more)


def of_episodes(signals: Signals, episodes: Ints, within: Ints) -> Signals:
    """Only these episodes, whose iterations are those numbered ``within``."""
    return Signals(signals.values[within], signals.measured[episodes])


def sequence(values: Iterable[Any], episodes: Ints) -> tuple[Any, ...]:
    """The entries of these episodes."""
    listed: Sequence[Any] = tuple(values)
    return tuple(listed[episode] for episode in episodes.tolist())
