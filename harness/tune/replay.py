"""Where any presets end the episodes of an observed run: swept where that is exact, else replayed.

A preset that only ends loops is swept, also with settings that were not observed: their readings
are worked out once. One that changes the course of a loop, or runs other mechanisms, is replayed
from the run's own recordings, as is every single cell that a sweep leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from harness.episode import Episode
from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.loop import run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.store.database import Store
from harness.tune.corpus import Corpus
from harness.tune.observe import needed, with_readings
from harness.tune.recordings import Progress, Work, replayed
from harness.tune.shapes import shapes
from harness.tune.sweep import (
    Exits,
    exits,
    why_intervenes,
    why_other,
    why_replayed,
)
from harness.tune.value import Measured, at_iterations, successes
from harness.turns import Tape, prepare


@dataclass(frozen=True)
class How:
    """How a preset's cells were obtained.

    Attributes:
        by: ``swept`` from what was observed; ``derived``: swept, with readings worked out anew
            for guards or settings that were not observed; ``replayed`` from the recordings.
        reason: Why not simply swept, ``None`` where it was.
        cells: Episodes that were replayed one by one, also of a preset that was swept.
    """

    by: Literal["swept", "derived", "replayed"]
    reason: str | None
    cells: int


@dataclass(frozen=True)
class Evaluated:
    """Every preset over every episode.

    Attributes:
        exits: Where they end; ``swept`` says which cells were swept, and all cells count. An
            episode that went on in a branch may be longer than its recording.
        measured: What they come to, replayed cells included.
        how: By preset, how that was found out.
    """

    exits: Exits
    measured: Measured
    how: tuple[How, ...]


def evaluate(
    store: Store,
    corpus: Corpus,
    presets: Sequence[Preset],
    base: Preset,
    *,
    workers: int = 1,
    on_progress: Progress | None = None,
) -> Evaluated:
    """Judge presets of any kind over an observed run.

    Args:
        store: Where the run is; also keeps readings that had to be worked out.
        corpus: What was observed.
        presets: The candidates.
        base: The preset under which it was observed.
        workers: Processes that replay.
        on_progress: Called with recordings replayed and recordings to replay.

    Raises:
        HarnessError: ``base`` is another preset, or recordings are needed and gone.
    """
    if corpus.preset_hash not in {replace(base, observe=o).hash for o in (True, False)}:
        raise HarnessError(
            f"tune: preset {base.name} is not the one under which run {corpus.run_id} was "
            f"observed ({corpus.preset}), or was changed since"
        )
    reasons = [why_replayed(preset, base) for preset in presets]
    sweepable = [not (why_intervenes(preset) or why_other(preset, base)) for preset in presets]
    rows = [row for row, passive in enumerate(sweepable) if passive]
    chosen = [presets[row] for row in rows]
    lacking = needed(corpus, shapes(chosen))
    complete = with_readings(store, corpus, base, lacking, workers=workers, on_progress=on_progress)
    found = _spread(exits(complete, chosen), rows, (len(presets), len(corpus)))
    measured = at_iterations(corpus, found.iteration)
    if not found.swept.all():
        outcomes = _replays(store, corpus, presets, ~found.swept, workers, on_progress)
        found, measured = _filled(corpus, found, measured, outcomes)
    cells = (~found.swept).sum(axis=1).tolist()
    how = []
    for row, reason in enumerate(reasons):
        by: Literal["swept", "derived", "replayed"] = "swept"
        if reason is not None:
            by = "derived" if sweepable[row] else "replayed"
        how.append(How(by, reason, cells[row]))
    return Evaluated(found, measured, tuple(how))


def _spread(found: Exits, rows: list[int], size: tuple[int, int]) -> Exits:
    """Exits of some presets among all; the others are not swept, and end nowhere so far."""
    iteration, by = np.ones(size, dtype=np.int32), np.full(size, -1, dtype=np.int32)
    swept = np.zeros(size, dtype=bool)
    iteration[rows], by[rows], swept[rows] = found.iteration, found.by, found.swept
    return Exits(iteration, by, found.reasons, swept)


@dataclass(frozen=True)
class _Outcome:
    """What a replayed episode came to.

    Attributes:
        ended: A guard or mechanism ended it.
        decided: And did so before its recording was over.
        left: It went on where the recording did not: in a branch, or diverged.
    """

    iteration: int
    reason: ExitReason
    guard: str
    ended: bool
    decided: bool
    left: bool
    cost: int
    role_cost: int
    tokens: int
    best: float


@dataclass(frozen=True)
class _Settings:
    presets: tuple[Preset, ...]
    rows: dict[int, tuple[int, ...]]


def _replays(
    store: Store,
    corpus: Corpus,
    presets: Sequence[Preset],
    wanted: npt.NDArray[np.bool_],
    workers: int,
    on_progress: Progress | None,
) -> dict[tuple[int, int], _Outcome]:
    """Outcomes by preset and episode."""
    rows = {
        int(episode): tuple(np.nonzero(wanted[:, episode])[0].tolist())
        for episode in np.nonzero(wanted.any(axis=0))[0]
    }
    episodes = {corpus.contents[episode]: episode for episode in rows}
    work = Work(episodes, _replay, _Settings(tuple(presets), rows))
    results = replayed(store, corpus, work, workers=workers, on_progress=on_progress)
    return {
        (row, episode): outcome
        for episode, outcomes in zip(sorted(rows), results, strict=True)
        for row, outcome in zip(rows[episode], outcomes, strict=True)
    }


def _replay(settings: _Settings, episode: int, scenario: Scenario) -> list[_Outcome]:
    """One recording under all presets that have to be replayed over it."""
    tapes: dict[int, Tape] = {}
    outcomes = []
    for row in settings.rows[episode]:
        preset = settings.presets[row]
        if preset.wait_ms not in tapes:
            tapes[preset.wait_ms] = prepare(scenario, wait_ms=preset.wait_ms)
        outcomes.append(_outcome(run_episode(tapes[preset.wait_ms], preset), scenario))
    return outcomes


def _outcome(episode: Episode, scenario: Scenario) -> _Outcome:
    replies = [reply for it in episode.iterations for reply in it.replies]
    names = {series.guard for series in episode.series}
    branched = any(it.turn.source[0] for it in episode.iterations)
    best = episode.best_score
    length = episode.exit_iteration
    return _Outcome(
        iteration=length,
        reason=episode.exit_reason,
        guard=episode.exit_guard if episode.exit_guard in names else "",
        ended=episode.exit_guard is not None,
        decided=episode.decisions[-1].ends and length < len(scenario.steps),
        left=branched or episode.replay == "diverged",
        cost=sum(reply.cost or 0 for reply in replies),
        role_cost=sum(reply.cost or 0 for reply in replies if reply.role != "actor"),
        tokens=sum(reply.usage.total for reply in replies if reply.usage),
        best=np.nan if best is None else float(best),
    )


def _filled(
    corpus: Corpus,
    found: Exits,
    measured: Measured,
    outcomes: dict[tuple[int, int], _Outcome],
) -> tuple[Exits, Measured]:
    """Swept cells and replayed ones together."""
    reasons = {reason: number for number, reason in enumerate(found.reasons)}
    by = [
        reasons.setdefault((one.reason, one.guard), len(reasons))
        # A branch may end in another way than the recording did.
        if one.ended or one.reason is not corpus.end[episode]
        else -1
        for (_, episode), one in outcomes.items()
    ]
    at = tuple(np.array(column, dtype=np.int64) for column in zip(*outcomes, strict=True))
    listed = list(outcomes.values())
    found.iteration[at] = [one.iteration for one in listed]
    found.by[at] = by
    episodes = at[1]
    columns: dict[str, npt.NDArray[Any]] = {
        "iteration": np.array([one.iteration for one in listed]),
        "cost": np.array([one.cost for one in listed]),
        "role_cost": np.array([one.role_cost for one in listed]),
        "tokens": np.array([one.tokens for one in listed]),
        "best": np.array([one.best for one in listed]),
        "early": np.array([one.decided for one in listed]),
    }
    left = np.array([one.left for one in listed])
    whole = corpus.best[corpus.offsets[episodes + 1] - 1]
    sign = np.where(corpus.lower[episodes], -1.0, 1.0)
    columns["lost"] = np.maximum(sign * (whole - columns["best"]), 0.0)
    won = successes(corpus)[episodes]
    later = np.where(np.isnan(whole), won, np.isnan(columns["best"]) | (columns["lost"] > 0))
    columns["false_stop"] = columns["early"] & later
    # What would have become of a loop that left its recording is not known.
    columns["success_low"] = ~columns["early"] & won & ~left
    columns["success_high"] = columns["early"] | won | left
    for name, values in columns.items():
        getattr(measured, name)[at] = values
    return replace(found, reasons=tuple(reasons)), measured
