"""Judging recordings: several at a time, in their order, each written once it is whole."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HarnessError
from harness.files import find, load
from harness.redact import Redactor
from harness.rejudge.figures import Figures
from harness.rejudge.output import Output, alone
from harness.rejudge.spots import Choice, Judge, Judgement, Spot, Unreachable, judged
from harness.scenario import Scenario

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Result:
    """What judging came to.

    Attributes:
        total: Iterations that were to be judged; ``done`` of them are settled.
        kept: Recordings that were finished before.
        errors: What a user's function raised, one line an iteration.
        unreachable: Why the judge could not be asked any more.
        figures: Over everything that stands in the file.
    """

    total: int = 0
    done: int = 0
    kept: int = 0
    errors: list[str] = field(default_factory=list)
    unreachable: str | None = None
    complete: bool = False
    figures: Figures = field(default_factory=Figures)


@dataclass(slots=True)
class _Recording:
    """One recording at work; ``kept``: as it was finished before, but for what failed."""

    scenario: Scenario
    kept: Scenario | None
    spots: list[Spot]
    made: dict[Spot, Future[Judgement | None]]


def planned(
    paths: Iterable[str | Path], judge: Judge, choice: Choice, output: Output | None = None
) -> Iterable[tuple[Scenario, list[Spot]]]:
    """Each recording with its iterations that are still to be judged.

    Args:
        paths: Scenario files or folders.
        judge: Says what a step lacks.
        choice: Which iterations.
        output: What is finished or noted there is left out, but for what failed.

    Raises:
        ScenarioError: A file that cannot be used.
    """
    for scenario in load(paths):
        spots = list(choice.spots(scenario, judge))
        if output is not None and output.finished(scenario) is not None:
            spots = [spot for spot in spots if output.failed(judge.key(spot))]
        elif output is not None:
            spots = [spot for spot in spots if output.known(judge.key(spot)) is None]
        yield scenario, spots


def rejudge(
    paths: Iterable[str | Path],
    path: Path,
    judge: Judge,
    *,
    choice: Choice | None = None,
    parallel: int = 1,
    resume: bool = False,
    force: bool = False,
    on_progress: Progress | None = None,
) -> Result:
    """Judge recordings and write them, in their order, into one file.

    Args:
        paths: Scenario files or folders; all are read once before the first is judged.
        path: The ``.jsonl`` file to write.
        judge: A ``ModelJudge``, a ``FunctionJudge``, or any other.
        choice: Which iterations; left out: all that lack what the judge gives.
        parallel: How many are judged at a time.
        resume: Go on with what is there; nothing that was judged is judged again, what failed is.
        force: Write over what is there.
        on_progress: Called with iterations done and in all.

    Raises:
        HarnessError: A file that cannot be used, read or written, or that somebody else writes.
    """
    given = list(paths)
    choice = choice or Choice()
    if path.resolve() in {file.resolve() for file in find(given)}:
        raise HarnessError(f"rejudge: {path} is read and cannot be written; name another file")
    with alone(path):
        output = Output(path, judge.about, resume=resume, force=force)
        result = Result()
        for _, spots in planned(given, judge, choice):
            result.total += len(spots)
        output.begin()
        _judge(given, output, judge, choice, parallel, result, on_progress)
    return result


def _judge(
    given: list[str | Path],
    output: Output,
    judge: Judge,
    choice: Choice,
    parallel: int,
    result: Result,
    on_progress: Progress | None,
) -> None:
    """Judge what is left, in the order of the files, and write it."""
    pool = ThreadPoolExecutor(parallel, thread_name_prefix="judge")
    work = _Work(output, judge, result, pool, on_progress)
    try:
        for scenario in load(given):
            if work.broken:
                break
            work.take(scenario, list(choice.spots(scenario, judge)))
            while work.waiting > 4 * parallel:
                work.finish()
        while work.recordings:
            work.finish()
        result.complete = not work.broken
    finally:
        pool.shutdown(cancel_futures=True)
        output.close(complete=result.complete)


class _Work:
    """Recordings in their order, with judgements that are being made."""

    def __init__(
        self,
        output: Output,
        judge: Judge,
        result: Result,
        pool: ThreadPoolExecutor,
        on_progress: Progress | None,
    ) -> None:
        self._output, self._judge, self._result, self._pool = output, judge, result, pool
        self._on_progress = on_progress
        # A judge repeats what it saw, or what a server says of its key.
        self._redactor = Redactor()
        self._redactor.learn(os.environ)
        self.recordings: deque[_Recording] = deque()
        #: No further judgement is asked for.
        self._stopped = False
        #: A judgement is missing: nothing behind it is written, so that the order stays.
        self.broken = False

    @property
    def waiting(self) -> int:
        return sum(len(each.made) for each in self.recordings)

    def take(self, scenario: Scenario, spots: list[Spot]) -> None:
        """Have a recording judged, where it is not finished or failed."""
        kept = self._output.finished(scenario)
        wanted = spots if kept is None else self._unsettled(spots)
        made = {spot: self._pool.submit(self._one, spot) for spot in wanted}
        self.recordings.append(_Recording(scenario, kept, spots, made))

    def _unsettled(self, spots: list[Spot]) -> list[Spot]:
        """What a user's function came to nothing at; keys take their time."""
        output = self._output
        return [s for s in spots if output.unsettled(self._judge.key(s))] if output.failures else []

    def _one(self, spot: Spot) -> Judgement | None:
        """One judgement, in a thread of the pool; kept as soon as it is made."""
        key = self._judge.key(spot)
        known = self._output.reuse(key)
        if known is not None:
            return known
        made = None
        try:
            if not self._stopped:
                made = self._judge.judge(spot)
        finally:
            self._stopped = self._stopped or made is None
        if made is not None:
            error = None if made.error is None else self._redactor.text(made.error)
            made = Judgement(self._redactor.value(made.keys), error)
            self._output.note(key, made, spot.scenario.id)
        return made

    def finish(self) -> None:
        """Wait for the first recording, and write it."""
        first = self.recordings.popleft()
        self._advance(len(first.spots) - len(first.made))
        if first.kept is not None and not first.made:
            self._result.kept += 1
            self._result.figures.add(first.kept, first.spots)
            return
        found: dict[Spot, Judgement] = {}
        for spot, future in first.made.items():
            judgement = self._outcome(future)
            if judgement is None:
                self.broken = True
                continue
            found[spot] = judgement
            self._advance(1)
            if judgement.error is not None:
                self._result.errors.append(judgement.error)
        if not self.broken:
            data = judged(first.kept or first.scenario, found)
            self._output.write(data)
            self._result.figures.add(Scenario.model_validate(data), first.spots)

    def _outcome(self, future: Future[Judgement | None]) -> Judgement | None:
        try:
            return future.result()
        except Unreachable as error:
            words = self._redactor.text(str(error))
            self._result.unreachable = self._result.unreachable or words
            return None

    def _advance(self, number: int) -> None:
        self._result.done += number
        if self._on_progress is not None:
            self._on_progress(self._result.done, self._result.total)
