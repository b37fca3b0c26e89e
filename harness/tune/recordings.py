"""The recordings behind an observed run: read again, and replayed by one process or several."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.files import Raw, find, parse, read_raw
from harness.scenario import Scenario
from harness.store.database import Store
from harness.store.queries import query
from harness.tune.corpus import Corpus
from harness.worker import chunked

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Work:
    """What is done with each recording; handed to every worker once.

    Attributes:
        episodes: Number of the episode by the recording's content hash; others are passed over.
        do: Takes the settings, the episode's number and its recording; a function of a module.
        settings: The same for all recordings.
    """

    episodes: Mapping[str, int]
    do: Callable[[Any, int, Scenario], Any]
    settings: Any


def replayed(
    store: Store,
    corpus: Corpus,
    work: Work,
    *,
    workers: int = 1,
    on_progress: Progress | None = None,
) -> list[Any]:
    """What ``work`` makes of every recording that it names, in the order of the files.

    Args:
        store: Knows where the run's recordings are.
        corpus: What was observed.
        work: What is done, and with which recordings.
        workers: Processes.
        on_progress: Called with recordings done and recordings in all.

    Raises:
        HarnessError: Recordings are gone or have changed, or one cannot be used.
    """
    if workers < 1:
        raise HarnessError(f"tune: workers must be 1 or more, found {workers}")
    raws = read_raw(_files(store, corpus))
    found: dict[int, Any] = {}
    for part in _parts(work, chunked(raws), workers):
        found.update(part)
        if on_progress is not None:
            on_progress(len(found), len(work.episodes))
    missing = sorted(set(work.episodes.values()) - set(found))
    if missing:
        raise _gone(
            corpus,
            f"{len(missing)} of {len(work.episodes)} recordings are gone or have changed, among "
            f"them {corpus.scenarios[missing[0]]}",
        )
    return [found[episode] for episode in sorted(found)]


def _files(store: Store, corpus: Corpus) -> list[Path]:
    (row,) = store.rows(query("tune_recordings"), {"run": corpus.run_id})
    paths = json.loads(row["options"]).get("paths", [])
    if not paths:
        raise _gone(corpus, "no recordings are known")
    try:
        return find(paths)
    except HarnessError as error:
        raise _gone(corpus, str(error)) from None


def _gone(corpus: Corpus, why: str) -> HarnessError:
    return HarnessError(
        f"tune: run {corpus.run_id}: {why}; without them only passive presets over the observed "
        "guards can be judged (none that switch, nudge or delegate, or have other settings)"
    )


def _parts(
    work: Work, chunks: Iterator[list[Raw]], workers: int
) -> Iterator[list[tuple[int, Any]]]:
    if workers == 1:
        for chunk in chunks:
            yield _chunk(work, chunk)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _start, (work,)) as pool:
        waiting: list[Future[list[tuple[int, Any]]]] = []
        try:
            for chunk in chunks:
                waiting += [pool.submit(_in_worker, part) for part in _halved(chunk, workers)]
                while len(waiting) > 2 * workers:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


def _halved(chunk: list[Raw], workers: int) -> list[list[Raw]]:
    """A chunk for each worker: a replay under many presets takes long."""
    step = -(-len(chunk) // workers)
    return [chunk[at : at + step] for at in range(0, len(chunk), step)]


#: In a worker process: the work that it was started with.
_OF_THIS_PROCESS: list[Work] = []


def _start(work: Work) -> None:
    _OF_THIS_PROCESS[:] = [work]


def _in_worker(chunk: list[Raw]) -> list[tuple[int, Any]]:
    return _chunk(_OF_THIS_PROCESS[0], chunk)


def _chunk(work: Work, chunk: list[Raw]) -> list[tuple[int, Any]]:
    found = []
    for raw in chunk:
        for scenario in parse(raw):
            episode = work.episodes.get(scenario.content_hash)
            if episode is not None:
                found.append((episode, work.do(work.settings, episode, scenario)))
    return found
