"""The work of a run: chunks of scenarios to batches of rows, by one process or several."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Protocol

from harness import __version__
from harness.episode import Episode
from harness.errors import HarnessError
from harness.files import Raw, parse
from harness.ids import episode_id
from harness.loop import pair_key, run_episode
from harness.otlp import OtlpSink
from harness.preset import Preset
from harness.scenario import Scenario
from harness.store.rows import Rows
from harness.store.schema import to_arrow
from harness.telemetry import Projector
from harness.turns import Tape, prepare

if TYPE_CHECKING:
    import pyarrow as pa

#: Iterations in one batch: one transaction, and what a killed process can lose.
BATCH_ITERATIONS = 10_000
_CHUNK_SCENARIOS = 100
_CHUNK_CHARACTERS = 4_000_000


class GoOn(Protocol):
    """What is done with an episode whose recording ended or was left: ``harness.continuing``."""

    @property
    def model(self) -> str:
        """Name of the model that goes on."""
        ...

    def __call__(self, tape: Tape, preset: Preset, episode: Episode) -> Episode:
        """The episode as it ends with the live model."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What every chunk of a run has in common; handed to each worker once.

    Attributes:
        done: Pair keys that the store already holds of this run.
        start_ns: When the run began; virtual times count from here.
        otlp: Whether spans also go to the OTLP endpoint.
        go_on: Closes the loop with a live model; left out: nothing ever goes live.
    """

    run_id: str
    presets: tuple[Preset, ...]
    observe: bool
    repetitions: int
    start_ns: int
    done: frozenset[str] = frozenset()
    otlp: bool = False
    go_on: GoOn | None = None


@dataclass(slots=True)
class Batch:
    """Episodes ready to be written, or the error that ended the chunk after them."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    scenarios: list[tuple[str, str]] = field(default_factory=list)
    episodes: int = 0
    skipped: int = 0
    spans_lost: int = 0
    spans_cause: str | None = None
    error: HarnessError | None = None


def chunked(raws: Iterable[Raw]) -> Iterator[list[Raw]]:
    """Scenarios in parts that one worker takes at a time."""
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


def batches(job: Job, chunks: Iterator[list[Raw]], workers: int) -> Iterator[Batch]:
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


class Buffer:
    """Episodes as rows and spans, until they are taken to be written.

    Args:
        run_id: The run that they belong to.
        start_ns: When it began; virtual times count from here.
        otlp: Whether spans also go to the OTLP endpoint.
    """

    def __init__(self, run_id: str, start_ns: int, *, otlp: bool = False) -> None:
        self._run_id = run_id
        self._start_ns = start_ns
        self._projector = Projector(__version__)
        self._sink = OtlpSink() if otlp else None
        self._rows = Rows()
        self._known: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether it is time to write."""
        return self._rows.iterations >= BATCH_ITERATIONS

    def add(self, scenario: Scenario, preset: Preset, episode: Episode) -> str:
        """Take in one episode; the same one again changes nothing.

        Returns:
            Its id.
        """
        identity = episode_id(self._run_id, episode.pair_key)
        if identity in self._known:
            return identity
        self._known.add(identity)
        traced = self._projector.project(episode, identity, self._start_ns)
        if scenario.content_hash not in self._known:
            self._known.add(scenario.content_hash)
            self._rows.add_scenario(scenario)
        if preset.hash not in self._known:
            self._known.add(preset.hash)
            self._rows.add_preset(preset)
        self._rows.add_episode(self._run_id, identity, episode, traced)
        if self._sink is not None:
            self._sink.send(traced)
        return identity

    def take(self) -> dict[str, pa.Table]:
        """What has gathered, as tables; the buffer is empty afterwards."""
        rows, self._rows, self._known = self._rows, Rows(), set()
        return to_arrow(rows)

    def lost(self) -> int:
        """Spans that the OTLP backend did not take since the last question."""
        return 0 if self._sink is None else self._sink.flush()

    @property
    def cause(self) -> str | None:
        """Why the OTLP backend did not take the first spans that it refused."""
        return None if self._sink is None else self._sink.cause

    def close(self) -> None:
        """Send what is on its way to the OTLP endpoint, and let go of it."""
        if self._sink is not None:
            self._sink.close()


class Worker:
    """Replays chunks of scenarios and gathers their rows.

    Args:
        job: What the chunks have in common.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._buffer = Buffer(job.run_id, job.start_ns, otlp=job.otlp)
        self._batch = Batch()

    def replay(self, chunk: list[Raw]) -> Iterator[Batch]:
        """Batches of one chunk; an error ends it after what was replayed before."""
        try:
            for raw in chunk:
                for scenario in parse(raw):
                    self._batch.scenarios.append((scenario.id, f"{raw.path}:{raw.line}"))
                    self._episodes(scenario)
                    # What a live model made is not made again: it is written at once.
                    if self._buffer.full or self._job.go_on is not None:
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
        batch.spans_lost, batch.spans_cause = self._buffer.lost(), self._buffer.cause
        return batch

    def close(self) -> None:
        """Send what is on its way to the OTLP endpoint, and let go of it."""
        self._buffer.close()

    def _episodes(self, scenario: Scenario) -> None:
        job = self._job
        tapes: dict[int, Tape] = {}
        for preset in job.presets:
            for repetition in range(job.repetitions):
                key = pair_key(scenario, preset, job.observe, repetition)
                if key in job.done:
                    self._batch.skipped += 1
                    continue
                tape = tapes.get(preset.wait_ms)
                if tape is None:
                    tape = tapes[preset.wait_ms] = prepare(scenario, wait_ms=preset.wait_ms)
                episode = run_episode(tape, preset, observe=job.observe, repetition=repetition)
                if job.go_on is not None:
                    episode = job.go_on(tape, preset, episode)
                self._buffer.add(scenario, preset, episode)
                self._batch.episodes += 1

    def _take(self) -> Batch:
        batch, self._batch = self._batch, Batch()
        batch.tables = self._buffer.take()
        return batch
