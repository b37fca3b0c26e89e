"""A run: scenarios under presets, episodes into the store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness import __version__
from harness.errors import HarnessError, ScenarioError, StoreError
from harness.files import find, read_raw
from harness.otlp import otlp_wanted
from harness.preset import Preset
from harness.store.database import Store
from harness.worker import GoOn, Job, batches, chunked


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        episodes: Episodes stored by this invocation; ``skipped`` were there already.
        spans_lost: Spans that the OTLP backend did not take; ``None`` where none were sent.
        spans_cause: Why it did not take the first of them.
    """

    run_id: str
    scenarios: int
    episodes: int
    skipped: int
    spans_lost: int | None
    spans_cause: str | None = None


def new_run_id() -> str:
    """A run id that is new at each invocation and sorts by time."""
    now = time.time_ns()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now // 1_000_000_000))
    return f"{stamp}-{now % 1_000_000_000 // 1000:06d}"


def run(
    paths: Iterable[str | Path],
    presets: Iterable[Preset],
    store: Store,
    *,
    run_id: str | None = None,
    observe: bool = False,
    repetitions: int = 1,
    workers: int = 1,
    resume: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    go_on: GoOn | None = None,
) -> RunResult:
    """Replay scenarios under presets and store every episode.

    Args:
        paths: Scenario files or folders.
        presets: Resolved presets; each scenario is replayed under each.
        store: Where the episodes go.
        run_id: Name of the run; new at each invocation where left out.
        observe: Record only; every recording runs to its end.
        repetitions: How often each scenario is replayed under each preset.
        workers: Processes that replay; one process writes.
        resume: Go on with ``run_id``: what it holds is left out, what is stale rewritten.
        on_progress: Called with scenarios done and scenarios in all.
        go_on: Goes on live where a recording ends or is left (``harness.continuing``); left out:
            nothing ever goes live.

    Raises:
        HarnessError: Nothing to replay, a file that cannot be used (what was replayed before it
            stays stored), a run id in use, or a store that cannot be written.
    """
    if workers < 1 or repetitions < 1:
        raise HarnessError(
            f"run: workers and repetitions must be 1 or more, found {workers} and {repetitions}"
        )
    given = [str(path) for path in paths]
    files = find(given)
    total = sum(raw.size for raw in read_raw(files))
    if total == 0:
        raise ScenarioError(f"scenarios: none found in {', '.join(given) or 'nothing'}")
    chosen = tuple(presets)
    if not chosen:
        raise HarnessError("run: needs at least one preset")
    if go_on is not None:
        _may_go_on(chosen, observe=observe, workers=workers)
    run_id = run_id or new_run_id()
    store.create()
    options = {
        "paths": [str(Path(path).resolve()) for path in given],
        "presets": [preset.source for preset in chosen],
        "observe": observe,
        "repetitions": repetitions,
        **({} if go_on is None else {"continued_by": go_on.model}),
    }
    start_ms, done = begin(store, run_id, options, resume=resume)
    job = Job(
        run_id, chosen, observe, repetitions, start_ms * 1_000_000, done, otlp_wanted(), go_on
    )
    try:
        result = _carry_out(
            job, files, store, workers=workers, resume=resume, total=total, on_progress=on_progress
        )
    except StoreError:
        # Writing the state would fail as well, after as long a wait; the run can be resumed.
        raise
    except BaseException:
        with suppress(StoreError):
            store.execute("UPDATE runs SET state = 'failed' WHERE run_id = ?", [run_id])
        raise
    complete(store, run_id)
    return result


def _may_go_on(presets: tuple[Preset, ...], *, observe: bool, workers: int) -> None:
    """Refuse what a live model could not go on with.

    Raises:
        HarnessError: Nothing would end the loop, or several processes would share one budget.
    """
    watching = [preset.name for preset in presets if preset.observe]
    if observe or watching:
        raise HarnessError(
            f"run: --continue-live: {'--observe' if observe else watching[0]} only records, so "
            "that nothing would end the loop; choose presets that act"
        )
    if workers != 1:
        raise HarnessError(
            f"run: --continue-live: takes one process, which keeps the budget; found {workers}"
        )


def complete(store: Store, run_id: str) -> None:
    """Note that a run has everything it was meant to have."""
    store.execute("UPDATE runs SET state = 'complete' WHERE run_id = ?", [run_id])


def begin(
    store: Store, run_id: str, options: dict[str, object], *, resume: bool = False
) -> tuple[int, frozenset[str]]:
    """Register a run, or find what it already holds.

    Returns:
        When it began (ms since the epoch), and the pair keys of the episodes that are there.

    Raises:
        StoreError: The run exists and is not resumed, or it is resumed and does not exist.
    """
    found = store.rows("SELECT created_ms FROM runs WHERE run_id = ?", [run_id])
    if found and not resume:
        raise StoreError(
            f"store {store.path}: run {run_id!r} exists; go on with it: --resume {run_id}, or "
            "choose another name"
        )
    if not found:
        if resume:
            runs = [r["run_id"] for r in store.rows("SELECT run_id FROM runs ORDER BY created_ms")]
            raise StoreError(
                f"store {store.path}: no run {run_id!r} to resume; it has: "
                f"{', '.join(runs) or 'none'}"
            )
        now = time.time_ns() // 1_000_000
        register(store, run_id, now, options)
        return now, frozenset()
    store.execute("UPDATE runs SET state = 'running' WHERE run_id = ?", [run_id])
    keys = store.rows("SELECT pair_key FROM episodes WHERE run_id = ?", [run_id])
    return int(found[0]["created_ms"]), frozenset(row["pair_key"] for row in keys)


def register(store: Store, run_id: str, created_ms: int, options: dict[str, object]) -> None:
    """Note that a run has begun; one that is there stays as it is."""
    store.execute(
        "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, 'running', ?)",
        [run_id, created_ms, __version__, json.dumps(options)],
    )


def _carry_out(
    job: Job,
    files: list[Path],
    store: Store,
    *,
    workers: int,
    resume: bool,
    total: int,
    on_progress: Callable[[int, int], None] | None,
) -> RunResult:
    seen: dict[str, str] = {}
    episodes = skipped = lost = 0
    cause: str | None = None
    for batch in batches(job, chunked(read_raw(files)), workers):
        for scenario, where in batch.scenarios:
            if scenario in seen:
                raise _with_advice(
                    ScenarioError(f"{where}: id {scenario!r} is already used at {seen[scenario]}"),
                    episodes,
                    job.run_id,
                )
            seen[scenario] = where
        if batch.tables:
            store.write(batch.tables, replace=resume)
        episodes += batch.episodes
        skipped += batch.skipped
        lost += batch.spans_lost
        cause = cause or batch.spans_cause
        if batch.error is not None:
            raise _with_advice(batch.error, episodes, job.run_id)
        if on_progress is not None:
            on_progress(len(seen), total)
    return RunResult(job.run_id, len(seen), episodes, skipped, lost if job.otlp else None, cause)


def _with_advice(error: HarnessError, episodes: int, run_id: str) -> HarnessError:
    """The error, and how to go on where something is stored already."""
    if not episodes:
        return error
    return type(error)(
        f"{error} [{episodes} episodes are stored; once mended, go on with: --resume {run_id}]"
    )
