"""A run: scenarios under presets, episodes into the store, by one process or several."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from harness import __version__
from harness.errors import HarnessError, ScenarioError, StoreError
from harness.files import Raw, find, parse, read_raw
from harness.ids import episode_id
from harness.loop import pair_key, run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.store.database import Store, to_arrow
from harness.store.rows import Rows
from harness.telemetry import OtlpSink, Projector, otlp_wanted
from harness.turns import Tape, prepare

if TYPE_CHECKING:
    import pyarrow as pa

#: Iterations in one batch: one transaction, and what a killed process can lose.
BATCH_ITERATIONS = 10_000
_CHUNK_SCENARIOS = 100
_CHUNK_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """What every chunk of a run has in common; handed to each worker once.

    Attributes:
        done: Pair keys that the store already holds of this run.
        start_ns: When the run began; virtual times count from here.
        otlp: Whether spans also go to the OTLP endpoint.
    """

    run_id: str
    presets: tuple[Preset, ...]
    observe: bool
    repetitions: int
    start_ns: int
    done: frozenset[str] = frozenset()
    otlp: bool = False


@dataclass(slots=True)
class Batch:
    """Episodes ready to be written, or the error that ended the chunk after them."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    scenarios: list[tuple[str, str]] = field(default_factory=list)
    episodes: int = 0
    skipped: int = 0
    spans_lost: int = 0
    error: HarnessError | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        episodes: Episodes stored by this invocation; ``skipped`` were there already.
        spans_lost: Spans that the OTLP backend did not take; ``None`` where none were sent.
    """

    run_id: str
    scenarios: int
    episodes: int
    skipped: int
    spans_lost: int | None


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
    run_id = run_id or new_run_id()
    store.create()
    options = {
        "paths": [str(Path(path).resolve()) for path in given],
        "presets": [preset.source for preset in chosen],
        "observe": observe,
        "repetitions": repetitions,
    }
    start_ms, done = _begin(store, run_id, options, resume)
    job = Job(run_id, chosen, observe, repetitions, start_ms * 1_000_000, done, otlp_wanted())
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
    store.execute("UPDATE runs SET state = 'complete' WHERE run_id = ?", [run_id])
    return result


def _begin(
    store: Store, run_id: str, options: dict[str, object], resume: bool
) -> tuple[int, frozenset[str]]:
    """Register the run, or find what it already holds: its start and its pair keys."""
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
        store.execute(
            "INSERT INTO runs VALUES (?, ?, ?, 'running', ?)",
            [run_id, now, __version__, json.dumps(options)],
        )
        return now, frozenset()
    store.execute("UPDATE runs SET state = 'running' WHERE run_id = ?", [run_id])
    keys = store.rows("SELECT pair_key FROM episodes WHERE run_id = ?", [run_id])
    return int(found[0]["created_ms"]), frozenset(row["pair_key"] for row in keys)


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
    for batch in _batches(job, _chunks(read_raw(files)), workers):
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
        if batch.error is not None:
            raise _with_advice(batch.error, episodes, job.run_id)
        if on_progress is not None:
            on_progress(len(seen), total)
    return RunResult(job.run_id, len(seen), episodes, skipped, lost if job.otlp else None)


def _with_advice(error: HarnessError, episodes: int, run_id: str) -> HarnessError:
    """The error, and how to go on where something is stored already."""
    if not episodes:
        return error
    return type(error)(
        f"{error} [{episodes} episodes are stored; once mended, go on with: --resume {run_id}]"
    )


def _chunks(raws: Iterable[Raw]) -> Iterator[list[Raw]]:
    chunk: list[Raw] = []
    scenarios = characters = 0
    for raw in raws:
        chunk.append(raw)
        scenarios += raw.size
        characters += len(raw.text)
        if scenarios >= _CHUNK_SCENARIOS or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, scenarios, characters = [], 0, 0
    if chunk:
        yield chunk


def _batches(job: Job, chunks: Iterator[list[Raw]], workers: int) -> Iterator[Batch]:
    """Batches in the order of the chunks, whoever replayed them; at most a few wait."""
    if workers == 1:
        worker = Worker(job)
        try:
            for chunk in chunks:
                yield from worker.replay(chunk)
            yield worker.flush()
        finally:
            worker.close()
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (job,)) as pool:
        waiting: list[Future[list[Batch]]] = []
        try:
            for chunk in chunks:
                with _interrupts_held():
                    waiting.append(pool.submit(_replay_chunk, chunk))
                if len(waiting) > 2 * workers:
                    yield from waiting.pop(0).result()
            while waiting:
                yield from waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while workers start; here it is only late, not lost.

    Workers inherit the blocked signal and end with this process. A thread of some library may
    still take the signal for it, so a handler notes that it came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


#: In a worker process: the job that it was started with, then the worker that carries it out.
_OF_THIS_PROCESS: list[Job | Worker] = []


def _start(job: Job) -> None:
    _OF_THIS_PROCESS[:] = [job]


def _replay_chunk(chunk: list[Raw]) -> list[Batch]:
    """One chunk in a worker process."""
    worker = _OF_THIS_PROCESS[0]
    if isinstance(worker, Job):
        worker = _OF_THIS_PROCESS[0] = Worker(worker)
    return [*worker.replay(chunk), worker.flush()]


class Worker:
    """Replays chunks of scenarios and gathers their rows.

    Args:
        job: What the chunks have in common.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._projector = Projector(__version__)
        self._sink = OtlpSink() if job.otlp else None
        self._rows = Rows()
        self._batch = Batch()

    def replay(self, chunk: list[Raw]) -> Iterator[Batch]:
        """Batches of one chunk; an error ends it after what was replayed before."""
        try:
            for raw in chunk:
                for scenario in parse(raw):
                    self._batch.scenarios.append((scenario.id, f"{raw.path}:{raw.line}"))
                    self._episodes(scenario)
                    if self._rows.iterations >= BATCH_ITERATIONS:
                        yield self._take()
        except HarnessError as error:
            batch = self._take()
            batch.error = error
            yield batch
            return
        yield self._take()

    def flush(self) -> Batch:
        """The last batch of a chunk: nothing but the count of lost spans."""
        batch = self._take()
        if self._sink is not None:
            batch.spans_lost = self._sink.flush()
        return batch

    def close(self) -> None:
        """Send what is on its way to the OTLP endpoint, and let go of it."""
        if self._sink is not None:
            self._sink.close()

    def _episodes(self, scenario: Scenario) -> None:
        job = self._job
        tapes: dict[int, Tape] = {}
        known = False
        for preset in job.presets:
            for repetition in range(job.repetitions):
                key = pair_key(scenario, preset, job.observe, repetition)
                if key in job.done:
                    self._batch.skipped += 1
                    continue
                tape = tapes.get(preset.wait_ms)
                if tape is None:
                    tape = tapes[preset.wait_ms] = prepare(scenario, wait_ms=preset.wait_ms)
                if not known:
                    self._rows.add_scenario(scenario)
                    known = True
                episode = run_episode(tape, preset, observe=job.observe, repetition=repetition)
                identity = episode_id(job.run_id, episode.pair_key)
                traced = self._projector.project(episode, identity, job.start_ns)
                self._rows.add_episode(job.run_id, identity, episode, traced)
                if self._sink is not None:
                    self._sink.send(traced)
                self._batch.episodes += 1

    def _take(self) -> Batch:
        batch, self._batch = self._batch, Batch()
        if batch.episodes:
            for preset in self._job.presets:
                self._rows.add_preset(preset)
            batch.tables = to_arrow(self._rows)
        self._rows = Rows()
        return batch
