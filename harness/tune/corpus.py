"""An observed run as columnar arrays: what a sweep over thresholds reads.

Arrays over iterations are flat: those of episode ``e`` are ``offsets[e]:offsets[e + 1]``. Nothing
here depends on a threshold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from harness.errors import HarnessError, choices
from harness.exits import ExitReason
from harness.labels import stops
from harness.store.database import Store
from harness.store.queries import query
from harness.store.runs import known_run
from harness.task import Limits
from harness.tune.fixed import RANK_STEP, advancing, fixed_ends
from harness.tune.readings import (
    Flags,
    Floats,
    Ints,
    Readings,
    Signals,
    Structure,
    by_name,
    of_episodes,
    sequence,
)

__all__ = ["RANK_STEP", "Corpus", "Flags", "Floats", "Ints", "Readings", "read"]


@dataclass(frozen=True)
class Corpus:
    """Episodes that were observed to their end.

    Attributes:
        run_id: The run that they come from.
        preset: Name of the preset under which they were observed.
        preset_hash: Hash of that preset, resolved.
        scenarios: Id of each episode's scenario.
        families: The scenario's family.
        tasks: What the episode works on: splits and intervals go by it.
        tags: The scenario's tags.
        models: Model of the episode's first priced reply, ``None`` where none is named.
        contents: Content hash, by which duplicates are found.
        offsets: Where each episode's iterations begin; one longer than the episodes.
        cost: Cost of all roles up to each iteration (pico-USD), the known part.
        cost_known: Whether all of it is known up to there.
        role_cost: The part of ``cost`` that judges, verifiers and other roles took.
        tokens: Tokens of all roles up to each iteration, the known part.
        role_tokens: The part of ``tokens`` that other roles than the actor took.
        elapsed: Loop time up to each iteration (ms), -1 where unknown.
        score: Of each iteration, NaN where nobody scored.
        best: Best score so far, NaN where nothing was scored.
        lower: Whether lower scores are better, by episode.
        outcome: What became of the real run, ``None`` where the recording does not say.
        end: Exit reason at the end of the recording.
        replay: ``exact`` where that end is the agent's own, else ``censored`` or ``diverged``.
        recorded: What the scenario says of the real run: its exit reason and limits.
        limits: The task's own limits, which override a preset's.
        fixed_at: Iteration (from 1) at which a mechanism ends the loop whatever the thresholds
            are; 0 where none does.
        fixed_rank: Its place in the decision chain; infinite where none does.
        fixed_reason: Its exit reason, ``None`` where none does.
        phased: Has phases: a success that a guard would give depends on open checks.
        answered: A person spoke on the way, which answers pauses.
        answers: By iteration, whether a person speaks right after it.
        fork: Iteration (from 1) from which on acting differs from observing, because a judge was
            read that acting would not have asked; 0 where there is none.
        tokens_known: Whether all tokens up to each iteration are known.
        advances: By iteration, whether a phase is done there, which comes before limits and stuck
            guards; ``None``: not known, so that nothing is known of episodes with phases.
        guards: Readings by the guard's name in the preset.
        signals: Readings by what a guard measures, whatever its name.
        labels: What readers said of stops, by content hash: up to which iteration one is false, and
            from which on it is not; 0 where nobody said.
    """

    run_id: str
    preset: str
    preset_hash: str
    scenarios: tuple[str, ...]
    families: tuple[str, ...]
    tasks: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    models: tuple[str | None, ...]
    contents: tuple[str, ...]
    offsets: Ints
    cost: Ints
    cost_known: Flags
    role_cost: Ints
    tokens: Ints
    role_tokens: Ints
    elapsed: Ints
    score: Floats
    best: Floats
    lower: Flags
    outcome: tuple[str | None, ...]
    end: tuple[ExitReason, ...]
    replay: tuple[str, ...]
    recorded: tuple[Mapping[str, Any], ...]
    limits: tuple[Limits, ...]
    fixed_at: Ints
    fixed_rank: Floats
    fixed_reason: tuple[ExitReason | None, ...]
    phased: Flags
    answered: Flags
    answers: Flags
    fork: Ints
    tokens_known: Flags
    advances: Flags | None = None
    guards: Mapping[str, Readings] = field(default_factory=dict)
    signals: Mapping[Structure, Signals] = field(default_factory=dict)
    labels: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.scenarios)

    @cached_property
    def lengths(self) -> Ints:
        """Iterations of each episode."""
        return np.diff(self.offsets)

    @cached_property
    def by_limits(self) -> tuple[tuple[Limits, Ints], ...]:
        """Episodes whose tasks set the same limits, with these."""
        groups: dict[str, list[int]] = {}
        for episode, limits in enumerate(self.limits):
            groups.setdefault(limits.model_dump_json(), []).append(episode)
        return tuple(
            (self.limits[members[0]], np.array(members, dtype=np.int64))
            for members in groups.values()
        )

    @cached_property
    def endings(self) -> frozenset[tuple[float, ExitReason]]:
        """Places in the decision chain and exit reasons of mechanisms that end an episode."""
        found = zip(self.fixed_rank.tolist(), self.fixed_reason, strict=True)
        return frozenset((place, reason) for place, reason in found if reason is not None)

    def only(self, episodes: Ints) -> Corpus:
        """Some of its episodes, in this order; a number that comes twice is there twice."""
        chosen = np.asarray(episodes, dtype=np.int64)
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(int(offsets[-1])) + np.repeat(
            self.offsets[chosen] - offsets[:-1], lengths
        )
        parts: dict[str, Any] = {"offsets": offsets}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in parts or value is None or isinstance(value, str | Mapping):
                continue
            if isinstance(value, tuple):
                parts[one.name] = sequence(value, chosen)
            else:
                parts[one.name] = value[within if one.name in _BY_ITERATION else chosen]
        guards = {n: replace(r, signals=r.signals[within]) for n, r in self.guards.items()}
        signals = {key: of_episodes(s, chosen, within) for key, s in self.signals.items()}
        return replace(self, **parts, guards=guards, signals=signals)


_BY_ITERATION = frozenset({
    "cost", "cost_known", "role_cost", "tokens", "role_tokens", "tokens_known", "elapsed",
    "score", "best", "answers", "advances",
})  # fmt: skip


def read(store: Store, run_id: str, preset: str | None = None) -> Corpus:
    """The episodes of a run that were only observed.

    Args:
        store: Where the run is.
        run_id: The run.
        preset: The preset to read; may be left out where the run observed under one only.

    Raises:
        HarnessError: No such run, none or several observed presets, or nothing to read.
    """
    known_run(store, run_id)
    name = _observed(store, run_id, preset)
    key = {"run": run_id, "preset": name}
    episodes = store.table(query("tune_episodes"), key)
    iterations = store.table(query("tune_iterations"), key)
    lengths = _ints(episodes, "exit_iteration")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    at = {episode: number for number, episode in enumerate(episodes["episode_id"].to_pylist())}
    conditions = store.rows(query("tune_conditions"), key)
    fixed = fixed_ends(conditions, at)
    limits = [Limits.model_validate_json(text) for text in episodes["limits"].to_pylist()]
    guards, signals = by_name(store.table(query("tune_guards"), key), at, offsets)
    return Corpus(
        run_id=run_id,
        preset=name,
        preset_hash=_only_hash(episodes, run_id, name),
        scenarios=_texts(episodes, "scenario"),
        families=_texts(episodes, "family"),
        tasks=_texts(episodes, "goal"),
        tags=tuple(tuple(tags) for tags in episodes["tags"].to_pylist()),
        models=tuple(episodes["model"].to_pylist()),
        contents=_texts(episodes, "content_hash"),
        offsets=offsets,
        cost=_running(iterations, "cost", offsets),
        cost_known=_running(iterations, "unpriced", offsets) == 0,
        role_cost=_running(iterations, "role_cost", offsets),
        tokens=_running(iterations, "tokens", offsets),
        role_tokens=_running(iterations, "role_tokens", offsets),
        elapsed=_ints(iterations, "elapsed_ms", missing=-1),
        score=_floats(iterations, "score"),
        best=_floats(iterations, "best_score"),
        lower=np.array([d == "lower" for d in episodes["direction"].to_pylist()], dtype=bool),
        outcome=tuple(episodes["outcome"].to_pylist()),
        end=tuple(ExitReason(reason) for reason in episodes["exit_reason"].to_pylist()),
        replay=_texts(episodes, "replay"),
        recorded=tuple(json.loads(text) for text in episodes["recorded"].to_pylist()),
        limits=tuple(limits),
        fixed_at=np.array([one.iteration for one in fixed], dtype=np.int64),
        fixed_rank=np.array([one.place for one in fixed], dtype=np.float64),
        fixed_reason=tuple(one.reason for one in fixed),
        phased=np.array(episodes["phased"].to_pylist(), dtype=bool),
        answered=np.array(episodes["answered"].to_pylist(), dtype=bool),
        answers=np.array(iterations["answers"].to_pylist(), dtype=bool),
        fork=_ints(episodes, "fork"),
        tokens_known=_running(iterations, "uncounted", offsets) == 0,
        advances=advancing(conditions, at, offsets),
        guards=guards,
        signals=signals,
        labels=stops(store),
    )


def _observed(store: Store, run_id: str, wanted: str | None) -> str:
    rows = store.rows(query("tune_presets"), {"run": run_id})
    names = [row["preset"] for row in rows]
    if wanted is not None and wanted not in names:
        raise HarnessError(f"tune: run {run_id}: observed preset: {choices(wanted, names)}")
    if not names:
        raise HarnessError(
            f"tune: run {run_id} observed nothing; make one with: harness run PATHS -p observe, "
            "or with any preset and --observe"
        )
    if wanted is None and len(names) > 1:
        raise HarnessError(
            f"tune: run {run_id} observed several presets; choose one with --observed: "
            f"{', '.join(names)}"
        )
    return wanted or str(names[0])


def _only_hash(episodes: pa.Table, run_id: str, preset: str) -> str:
    """The observed preset's hash; a run resumed after the preset was edited may hold two."""
    found = sorted(set(episodes["preset_hash"].to_pylist()))
    if len(found) > 1:
        raise HarnessError(
            f"tune: run {run_id}: preset {preset} was changed while the run was made, so its "
            f"readings do not belong together; go on with: --resume {run_id}"
        )
    return str(found[0])


def _running(table: pa.Table, column: str, offsets: Ints) -> Ints:
    """Sums within each episode over what is known; of flags: how often they were set."""
    values = table[column].combine_chunks().cast(pa.int64()).fill_null(0)
    return _within(np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64), offsets)


def _within(numbers: Ints, offsets: Ints) -> Ints:
    """Running sums that start anew with each episode."""
    total = np.concatenate([[0], np.cumsum(numbers)])
    lengths = np.diff(offsets)
    return np.asarray(total[1:] - np.repeat(total[offsets[:-1]], lengths), dtype=np.int64)


def _ints(table: pa.Table, column: str, missing: int = 0) -> Ints:
    filled = table[column].combine_chunks().fill_null(missing)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _floats(table: pa.Table, column: str) -> Floats:
    return np.asarray(table[column].to_numpy(), dtype=np.float64)


def _texts(table: pa.Table, column: str) -> tuple[str, ...]:
    return tuple(table[column].to_pylist())
