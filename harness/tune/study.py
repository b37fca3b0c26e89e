"""Choosing a preset and saying how much that is worth: the whole of ``harness tune``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from harness.errors import HarnessError, choices
from harness.store.database import Store
from harness.tune import baselines
from harness.tune.candidates import Candidates, candidates
from harness.tune.choose import Objective, best, front
from harness.tune.corpus import Corpus, Ints, read
from harness.tune.ends import Evaluator, Progress, told
from harness.tune.repeated import Columns, Picks, Repeated, repeated
from harness.tune.space import read_space
from harness.tune.split import Split, Units, splits, units
from harness.tune.totals import Sums, Unit, unit_of
from harness.tune.view import Pick, View

By = Literal["family", "workload", "model", "tags"]
BYS: tuple[By, ...] = ("family", "workload", "model", "tags")


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes:
        run: The observed run.
        observed: Which of its observed presets; may be left out where there is one.
        space: File of the space; ``None`` for the bundled one.
        objective: What is wanted.
        current: Preset to stand beside the chosen one: a name or a file.
        holdout: Share of the tasks that is held out.
        splits: How many random splits.
        by: A preset for each family, workload, model or set of tags, where there are enough tasks.
        max_censored: Warn where more than this share of the episodes is censored.
        unit: What saving is counted in: cost, tokens or iterations; the first that is known in
            all episodes where left out.
    """

    run: str
    observed: str | None = None
    space: Path | None = None
    objective: Objective = field(default_factory=Objective)
    current: str | None = None
    holdout: float = 0.5
    splits: int = 20
    by: By | None = None
    max_censored: float = 0.2
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in BYS:
            raise HarnessError(f"tune: --by: {choices(self.by, BYS)}")
        for name, found in (("holdout", self.holdout), ("max-censored", self.max_censored)):
            if not 0 < found < 1:
                raise HarnessError(f"tune: --{name}: must lie between 0 and 1, found {found:g}")
        if self.splits < 1:
            raise HarnessError(f"tune: --splits: must be 1 or more, found {self.splits}")


@dataclass(frozen=True)
class Study:
    """What was found.

    Attributes:
        request: What was asked.
        corpus: The episodes that count.
        left_out: Episodes that cannot be told under every candidate.
        unit: What effort is counted in.
        units: Tasks, and copies among the episodes.
        candidates: What was tried.
        sums: Of all candidates over all subsets; column 0 is all episodes.
        front: Candidates on the Pareto front of the first split's train side.
        split: The first split.
        common: The recommended preset.
        groups: One a group, where asked for.
        repeated: What choosing came to over all splits.
        by_group: The same with a preset a group; ``None`` where not asked for.
        notes: Whatever else a reader has to know, one line each.
    """

    request: Request
    corpus: Corpus
    left_out: int
    unit: Unit
    units: Units
    candidates: Candidates
    sums: Sums
    front: Ints
    split: Split
    common: Pick
    groups: tuple[Pick, ...]
    repeated: Repeated
    by_group: Repeated | None
    notes: tuple[str, ...]


def study(store: Store, request: Request, on_progress: Progress | None = None) -> Study:
    """Choose by one half of the tasks, judge on the other, again and again.

    Args:
        store: Where the run is.
        request: What is asked.
        on_progress: Called with presets done and presets in all.

    Raises:
        HarnessError: Nothing to read, to judge or to split, or no preset within the limits.
    """
    everything = read(store, request.run, request.observed)
    evaluator = Evaluator.of(store, everything)
    tried = candidates(read_space(request.space, everything, evaluator.observed))
    presets = tried.presets()
    evaluator = evaluator.prepared(presets, on_progress)
    everything = evaluator.corpus
    total = 2 * len(presets)
    told_all = told(evaluator, presets, lambda done, _: on_progress and on_progress(done, total))
    corpus = everything.only(np.flatnonzero(told_all))
    left_out = len(everything) - len(corpus)
    if not len(corpus):
        raise HarnessError(
            f"tune: run {request.run}: no episode can be told under every preset of "
            f"{tried.space.source}: they have phases, answered pauses or judges"
        )
    evaluator = replace(evaluator, corpus=corpus)
    unit = unit_of(corpus, request.unit)
    kept = units(corpus)
    divided = splits(corpus, kept, holdout=request.holdout, count=request.splits)
    groups = grouping(corpus, request.by)
    columns = Columns.of(divided, groups)
    sums = Sums.empty(corpus, len(presets), columns.subsets)
    request.objective.needs(unit, judged=int(sums.judged[0]), scored=int(sums.scored[0]))
    done = len(presets)
    for rows, found in evaluator.parts(presets):
        sums.fill(corpus, rows, found.measured, columns.subsets, unit)
        done += len(rows)
        if on_progress is not None:
            on_progress(done, total)
    simple = np.array([len(preset.guards) for preset in presets])

    def choose(column: int) -> int | None:
        return best(request.objective, sums, column, tried.neighbours, simple)

    line = baselines.duration_line(corpus, columns.subsets, unit)
    picks = Picks.of(choose, columns, sums, kept, request.objective.max_false_stop)
    if picks.common[0] is None:
        raise HarnessError(_nothing(request.objective, sums, columns.train(0)))
    minds = request.objective.minds_loss
    over = repeated(sums, line[1], columns, picks.common, minds_loss=minds)
    by_group = None
    if groups:
        by_group = repeated(sums, line[1], columns, picks.common, picks.groups, minds_loss=minds)
    first = divided[0]
    view = View(evaluator, tried, request.current, kept, line, columns, unit, minds)
    common = view.pick(picks.common[0], "", first)
    own = []
    for label, (row, *_) in picks.groups.items():
        why = picks.why.get(label)
        own.append(view.pick(picks.common[0] if row is None else row, label, first, why))
    train = columns.train(0)
    found_front = front(
        sums.effort[:, train],
        sums.mean("lost" if minds else "false_stops", train),
        sums.iterations[:, train],
    )
    return Study(
        request, corpus, left_out, unit, kept, tried, sums, found_front, first, common, tuple(own),
        over, by_group, tuple(view.notes),
    )  # fmt: skip


def grouping(corpus: Corpus, by: By | None) -> tuple[str, ...] | None:
    """By episode, the group that it belongs to; ``None`` where there are no groups.

    A workload is the scenario's id without its last part: ``bench/coding`` of ``bench/coding/7``.
    """
    if by is None:
        return None
    if by == "family":
        return corpus.families
    if by == "model":
        return tuple(model or "unknown" for model in corpus.models)
    if by == "tags":
        return tuple(" ".join(sorted(tags)) or "none" for tags in corpus.tags)
    return tuple(scenario.rpartition("/")[0] or scenario for scenario in corpus.scenarios)


def _nothing(objective: Objective, sums: Sums, column: int) -> str:
    """No preset keeps within the limits: by how much the best ones miss them."""
    parts = [f"least false-stop rate {np.nanmin(sums.mean('false_stops', column)):.3g}"]
    if sums.scored[column]:
        parts.append(f"least quality lost {np.nanmin(sums.mean('lost', column)):.3g}")
    return (
        f"tune: no preset of the space keeps within the limits ({objective.words}); on the train "
        f"side: {', '.join(parts)}; relax a limit or widen the space"
    )
