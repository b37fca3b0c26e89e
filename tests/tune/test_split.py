"""Splits never take a task apart, and copies are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.tune.corpus import Corpus, read
from harness.tune.split import splits, units
from tests.tune.runs import SHAPES, loop, loops, observed


def corpus(folder: Path, *scenarios: object) -> Corpus:
    return read(observed(folder, list(scenarios)), "seen")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Thirty tasks of two workloads, each tried one to four times."""
    made = [
        loop(f"{kind}/{task:02d}-{n}", SHAPES[kind], goal=f"Task {kind} {task}.", at=10 * task + n)
        for kind in ("quick", "late")
        for task in range(15)
        for n in range(1 + task % 4)
    ]
    return corpus(tmp_path_factory.mktemp("split"), *made)


@pytest.mark.parametrize("holdout", [0.3, 0.5, 0.65])
def test_a_task_is_on_one_side_only(repeated: Corpus, holdout: float) -> None:
    kept = units(repeated)
    found = splits(repeated, kept, holdout=holdout, count=25)
    tasks = np.array(repeated.tasks)
    families = np.array(repeated.families)
    for split in found:
        assert (split.train ^ split.held_out).all()
        assert not set(tasks[split.train]) & set(tasks[split.held_out])
        assert abs(len(set(tasks[split.held_out])) - 30 * holdout) <= 1
        for family in ("quick", "late"):
            # Each workload has its share, to one task for the rest that is carried.
            held = len(set(tasks[split.held_out & (families == family)]))
            assert abs(held - 15 * holdout) <= 1
    assert len({split.held_out.tobytes() for split in found}) == 25


def test_splits_are_the_same_each_time(repeated: Corpus) -> None:
    one, again, other = (
        splits(repeated, units(repeated), holdout=0.5, count=3, seed=seed) for seed in (1, 1, 2)
    )
    assert [s.train.tolist() for s in one] == [s.train.tolist() for s in again]
    assert [s.train.tolist() for s in one] != [s.train.tolist() for s in other]


def test_every_task_is_held_out_as_often_as_any(repeated: Corpus) -> None:
    found = splits(repeated, units(repeated), holdout=0.5, count=400)
    often = np.mean([split.held_out for split in found], axis=0)
    assert often.min() > 0.38
    assert often.max() < 0.62


def test_scenarios_without_a_workload_are_split_at_random_too(tmp_path: Path) -> None:
    seen = corpus(tmp_path, *(loop(f"alone{n:02d}", SHAPES["late"], at=n) for n in range(12)))
    found = splits(seen, units(seen), holdout=0.5, count=20)
    assert len({split.held_out.tobytes() for split in found}) > 15


# Loops, and how many units, copies, and copies across tasks they are.
COPIES: dict[str, tuple[list[dict[str, object]], tuple[int, int, int]]] = {
    "different": ([{"at": 1}, {"at": 2}], (2, 0, 0)),
    "a copy under another name and goal": ([{"at": 1}, {"at": 1}], (1, 1, 1)),
    "a copy of the same task": ([{"at": 1, "goal": "G."}, {"at": 1, "goal": "G."}], (1, 1, 0)),
    "repetitions of a task": ([{"at": 1, "goal": "G."}, {"at": 2, "goal": "G."}], (1, 0, 0)),
    "three of one": ([{"at": 1}, {"at": 2}, {"at": 1}, {"at": 1}], (2, 2, 2)),
    "joined in a row": (
        [{"at": 1, "goal": "A."}, {"at": 2, "goal": "A."}, {"at": 2, "goal": "B."},
         {"at": 3, "goal": "B."}, {"at": 3, "goal": "C."}],
        (1, 2, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str, tmp_path: Path) -> None:
    cases, expected = COPIES[name]
    made = [loop(f"late/{n}", SHAPES["late"], **case) for n, case in enumerate(cases)]  # type: ignore[arg-type]
    found = units(corpus(tmp_path, *made))
    assert (found.count, int(found.copies.sum()), found.across) == expected


@pytest.mark.parametrize(("tasks", "holdout"), [(9, 0.5), (20, 0.1), (20, 0.9)])
def test_too_few_tasks(tasks: int, holdout: float, tmp_path: Path) -> None:
    seen = corpus(tmp_path, *(loop(f"late/{n}", SHAPES["late"], at=n) for n in range(tasks)))
    with pytest.raises(HarnessError, match=f"{tasks} different tasks cannot be split"):
        splits(seen, units(seen), holdout=holdout, count=1)


def test_all_loops_differ() -> None:
    assert len(loops()) == 12 * len(SHAPES)
