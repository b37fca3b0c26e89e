"""Which episodes a preset is chosen on, and which ones it is judged on.

Episodes of one task are alike, and a copy of an episode is the episode: neither may stand on both
sides, or a preset would be judged on what it was chosen for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.errors import HarnessError
from harness.fingerprint import digest
from harness.tune.corpus import Corpus, Flags, Ints

#: Fewer tasks than this on either side say nothing.
LEAST_TASKS = 5
#: Splits are the same at each invocation.
SEED = 20_262


@dataclass(frozen=True)
class Units:
    """Episodes by what must not be taken apart.

    Attributes:
        unit: By episode: number of its unit, a task or several tasks that share a copy.
        copies: Episodes that are copies of an earlier one.
        across: Copies whose task has another name than the original's.
    """

    unit: Ints
    copies: Flags
    across: int

    @cached_property
    def count(self) -> int:
        """How many units there are."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def labels(self) -> list[str]:
        """A name for each episode's unit, by which intervals are clustered."""
        return [str(unit) for unit in self.unit]


def units(corpus: Corpus) -> Units:
    """Tasks, joined where an episode of one is a copy of an episode of another.

    A copy has the same content, or the same score, cost, tokens, time and signals at every
    iteration. Such readings only count where tokens, cost or time are known: without them, two
    short recordings can look alike by chance.
    """
    tasks = {task: number for number, task in enumerate(dict.fromkeys(corpus.tasks))}
    parent = list(range(len(tasks)))

    def root(task: int) -> int:
        while parent[task] != task:
            parent[task] = parent[parent[task]]
            task = parent[task]
        return task

    first: dict[str, int] = {}
    copies = np.zeros(len(corpus), dtype=bool)
    across = 0
    for episode, keys in enumerate(_fingerprints(corpus)):
        same = next((first[key] for key in keys if key in first), None)
        for key in keys:
            first.setdefault(key, episode)
        if same is not None:
            copies[episode] = True
            across += corpus.tasks[same] != corpus.tasks[episode]
            parent[root(tasks[corpus.tasks[episode]])] = root(tasks[corpus.tasks[same]])
    roots = [root(tasks[task]) for task in corpus.tasks]
    numbers = {found: number for number, found in enumerate(dict.fromkeys(roots))}
    unit = np.array([numbers[found] for found in roots], dtype=np.int64)
    return Units(unit, copies, across)


def _fingerprints(corpus: Corpus) -> list[tuple[str, ...]]:
    found = []
    columns = [corpus.score, corpus.cost, corpus.tokens, corpus.elapsed]
    columns += [readings.signals for _, readings in sorted(corpus.guards.items())]
    last = corpus.offsets[1:] - 1
    told = (corpus.tokens[last] > 0) | (corpus.cost[last] > 0) | (corpus.elapsed[last] > 0)
    for episode, content in enumerate(corpus.contents):
        inside = slice(corpus.offsets[episode], corpus.offsets[episode + 1])
        keys = [content]
        if told[episode]:
            keys.append(digest("copy", *(column[inside].tobytes().hex() for column in columns)))
        found.append(tuple(keys))
    return found


@dataclass(frozen=True)
class Split:
    """Two sides, by episode; nothing is on both."""

    train: Flags
    held_out: Flags


def splits(
    corpus: Corpus, by: Units, *, holdout: float, count: int, seed: int = SEED
) -> list[Split]:
    """Random splits by unit, each workload divided for itself so that both sides have its share.

    Args:
        corpus: Gives the workloads: the scenarios' ids without their last part.
        by: What stays together.
        holdout: Share of each workload's units that is held out.
        count: How many splits; the first is the one that the recommended preset comes from.
        seed: The same seed gives the same splits.

    Raises:
        HarnessError: Too few tasks to split.
    """
    first: dict[int, str] = {}
    for unit, scenario in zip(by.unit.tolist(), corpus.scenarios, strict=True):
        first.setdefault(unit, scenario.rpartition("/")[0])
    strata: dict[str, list[int]] = {}
    for unit, stratum in first.items():
        strata.setdefault(stratum, []).append(unit)
    held = round(by.count * holdout)
    if min(held, by.count - held) < LEAST_TASKS:
        raise HarnessError(
            f"tune: {by.count} different tasks cannot be split so that each side has "
            f"{LEAST_TASKS}; record more tasks, or change --holdout (now {holdout:g})"
        )
    rng = np.random.default_rng(seed)
    return [_split(by, list(strata.values()), holdout, rng) for _ in range(count)]


def _split(
    by: Units, strata: Sequence[list[int]], holdout: float, rng: np.random.Generator
) -> Split:
    """One split: systematic sampling of units in random order within and over the strata."""
    order = np.concatenate([rng.permutation(strata[at]) for at in rng.permutation(len(strata))])
    # Carrying the rest from stratum to stratum keeps the share over all of them to one unit.
    steps = np.floor(np.arange(len(order) + 1) * holdout + rng.random())
    out = np.zeros(by.count, dtype=bool)
    out[order[np.diff(steps) > 0]] = True
    held_out = out[by.unit]
    return Split(~held_out, held_out)
