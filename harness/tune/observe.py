"""Readings of guards that a run did not observe: worked out from its recordings, once.

What a guard would have measured depends on the recording, the guard's structure and the loop
around it, not on the other guards; so it is kept in the store under these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from harness import __version__
from harness.fingerprint import digest
from harness.guards import Guard, built_in
from harness.loop import run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.store.database import Store
from harness.store.queries import query
from harness.task import Limits
from harness.tune.corpus import Corpus
from harness.tune.readings import (
    Floats,
    Ints,
    Signals,
    Structure,
    flat,
    merged,
    place,
    structure,
    unmeasured,
)
from harness.tune.recordings import Progress, Work, replayed
from harness.tune.shapes import Shape
from harness.turns import prepare


def needed(corpus: Corpus, presets: Sequence[Shape]) -> dict[Structure, Guard]:
    """Guards of which some episode lacks readings that these presets read there."""
    found: dict[Structure, Guard] = {}
    for limits, members in corpus.by_limits:
        for shape in presets:
            guards, ending = shape.under(limits)
            for name in ending:
                key = structure(guards[name])
                signals = corpus.signals.get(key)
                if signals is None or not signals.measured[members].all():
                    found.setdefault(key, guards[name])
    return found


def with_readings(
    store: Store,
    corpus: Corpus,
    base: Preset,
    guards: Mapping[Structure, Guard],
    *,
    workers: int = 1,
    on_progress: Progress | None = None,
) -> Corpus:
    """The corpus with readings of these guards in every episode.

    Args:
        store: Where the run is, and where readings are kept.
        corpus: What was observed.
        base: The preset under which it was observed; gives the loop around the guards.
        guards: By structure; thresholds and actions do not matter.
        workers: Processes that replay.
        on_progress: Called with recordings done and recordings in all.

    Raises:
        HarnessError: Readings are missing and the recordings are gone.
    """
    if not guards:
        return corpus
    store.create()
    key = _base(base)
    found = {one: _kept(store, corpus, key, one) for one in guards}
    missing = {one: guard for one, guard in guards.items() if not found[one].measured.all()}
    if missing:
        lacking = np.any([~found[one].measured for one in missing], axis=0)
        episodes = {corpus.contents[e]: int(e) for e in np.nonzero(lacking)[0]}
        work = Work(episodes, _measure, _Settings(base, tuple(missing.values())))
        measured = replayed(store, corpus, work, workers=workers, on_progress=on_progress)
        for at, one in enumerate(missing):
            values = [series[at] for series in measured]
            new = _placed(corpus, np.array(sorted(episodes.values()), dtype=np.int64), values)
            if _lasting(missing[one]):
                _keep(store, corpus, key, one, new, found[one])
            found[one] = merged(found[one], new, corpus.offsets)
    signals = dict(corpus.signals)
    for one, new in found.items():
        signals[one] = merged(signals.get(one), new, corpus.offsets)
    return replace(corpus, signals=signals)


@dataclass(frozen=True)
class _Settings:
    base: Preset
    guards: tuple[Guard, ...]


def _measure(settings: _Settings, _: int, scenario: Scenario) -> list[list[float]]:
    """Signals of each guard over one recording, in observe mode."""
    base = settings.base
    # The guards are what they are: a task's limits have been applied to them already.
    kept = Limits(watchdog_s=scenario.limits.watchdog_s)
    plain = scenario.model_copy(update={"limits": kept})
    tape = replace(prepare(scenario, wait_ms=base.wait_ms), scenario=plain)
    named = {f"guard_{number}": guard for number, guard in enumerate(settings.guards)}
    episode = run_episode(tape, replace(base, guards=named), observe=True)
    return [[float(signal) for signal in series.signals] for series in episode.series]


def _base(base: Preset) -> str:
    """Hash of all that a signal depends on beside the recording and the guard."""
    data = base.as_data()
    kept = {key: data[key] for key in ("mechanisms", "wait_ms", "models", "normalisation")}
    return digest("readings", __version__, json.dumps(kept, sort_keys=True))


def _lasting(guard: Guard) -> bool:
    """Whether readings may be kept: the code of a user's own guard may change any time."""
    parts = getattr(guard, "guards", ())
    return guard.kind() in built_in() and all(_lasting(part) for part in parts)


def _kept(store: Store, corpus: Corpus, base: str, one: Structure) -> Signals:
    """Readings that the run observed or that the store keeps."""
    known = corpus.signals.get(one)
    if known is None:
        known = Signals(unmeasured(corpus.offsets), np.zeros(len(corpus), dtype=bool))
    parameters = {"base": base, "kind": one[0], "settings": one[1]}
    table = store.table(query("tune_readings"), parameters)
    rows = {content: row for row, content in enumerate(table["content_hash"].to_pylist())}
    pairs = [(e, rows[c]) for e, c in enumerate(corpus.contents) if c in rows]
    if not pairs:
        return known
    values, starts = flat(table["signals"])
    episodes, chosen = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    signals = unmeasured(corpus.offsets)
    place(signals, episodes, corpus.offsets, values, starts[chosen])
    here = np.zeros(len(corpus), dtype=bool)
    here[episodes] = True
    return merged(known, Signals(signals, here), corpus.offsets)


def _placed(corpus: Corpus, episodes: Ints, values: list[list[float]]) -> Signals:
    signals = unmeasured(corpus.offsets)
    joined: Floats = np.array([s for one in values for s in one], dtype=np.float64)
    starts = np.cumsum([0, *(len(one) for one in values)], dtype=np.int64)
    place(signals, episodes, corpus.offsets, joined, starts[:-1])
    here = np.zeros(len(corpus), dtype=bool)
    here[episodes] = True
    return Signals(signals, here)


def _keep(
    store: Store, corpus: Corpus, base: str, one: Structure, new: Signals, old: Signals
) -> None:
    """Write what was not there yet."""
    episodes = np.nonzero(new.measured & ~old.measured)[0].tolist()
    signals = []
    for episode in episodes:
        values = new.values[corpus.offsets[episode] : corpus.offsets[episode + 1]].tolist()
        signals.append([None if value != value else value for value in values])
    count = len(episodes)
    columns = {
        "content_hash": [corpus.contents[episode] for episode in episodes],
        "base": [base] * count,
        "kind": [one[0]] * count,
        "settings": [one[1]] * count,
        "signals": pa.array(signals, pa.list_(pa.float64())),
    }
    store.write({"readings": pa.table(columns)})
