"""Objectives, the front and the choice: tables of policies with known figures."""

from __future__ import annotations

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.tune.choose import Objective, best, front
from harness.tune.totals import Sums

USD = 10**12
NONE = np.full((6, 1), -1)


def sums(effort: list[float], false: list[float], lost: list[float] | None = None) -> Sums:
    """Policies over one subset of 100 judged and scored episodes, by their means."""
    n = np.array([100.0])
    lost = lost or [0.0] * len(effort)
    columns = [np.array(values)[:, None] * 100 for values in (effort, effort, false, lost)]
    return Sums(n, n, n, *columns)


# Objective, policies as (effort, false stops, quality lost), and which is taken.
CHOICES: dict[str, tuple[Objective, list[tuple[float, float, float]], int | None]] = {
    "the cheapest within the limit": (
        Objective(max_false_stop=0.05), [(9, 0, 0), (5, 0.05, 0), (1, 0.06, 0)], 1,
    ),
    "nobody within the limit": (Objective(max_false_stop=0.01), [(9, 0.02, 0), (5, 0.5, 0)], None),
    "a limit on quality lost": (
        Objective(max_false_stop=None, max_lost=0.1), [(9, 0, 0), (5, 0.3, 0.1), (1, 0, 0.2)], 1,
    ),
    "both limits": (
        Objective(max_false_stop=0.1, max_lost=0.1), [(9, 0, 0), (5, 0.3, 0.1), (1, 0, 0.2)], 0,
    ),
    "best quality within a budget": (
        Objective("quality", None, budget=5), [(9 * USD, 0, 0), (5 * USD, 0, 0.1), (USD, 0, 0.3)],
        1,
    ),
    "quality, then the limit": (
        Objective("quality", 0.02, budget=9), [(9 * USD, 0.03, 0), (5 * USD, 0, 0.1)], 1,
    ),
    "utility weighs quality": (
        Objective("utility", None, value=100), [(9 * USD, 0, 0), (USD, 0, 0.1)], 0,
    ),
    "utility weighs cost": (
        Objective("utility", None, value=1), [(9 * USD, 0, 0), (USD, 0, 0.1)], 1,
    ),
    "utility weighs false stops": (
        Objective("utility", None, value=1, penalty=100), [(9 * USD, 0, 0), (USD, 0.1, 0.1)], 0,
    ),
    "equal: fewer guards": (Objective(), [(5, 0, 0), (5, 0, 0), (6, 0, 0)], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_choice(name: str) -> None:
    objective, policies, expected = CHOICES[name]
    effort, false, lost = (list(values) for values in zip(*policies, strict=True))
    simple = np.array([3, 1, 2][: len(policies)])
    found = best(objective, sums(effort, false, lost), 0, NONE[: len(policies)], simple)
    assert found == expected


# Policies on a line, each beside the next: effort, false stops, and which is taken at 5 %.
LINES: dict[str, tuple[list[float], list[float], int]] = {
    # The cheapest one has bad neighbours; in the middle of the plateau are good ones.
    "the middle of a plateau": (
        [9, 5.0, 9, 5.04, 5.05, 5.06], [0.2, 0.04, 0.2, 0.04, 0.04, 0.04], 4,
    ),
    "a spike is taken where nothing else is as good": (
        [9, 5.0, 9, 6, 6.1, 6.2], [0.2, 0.04, 0.2, 0.01, 0.01, 0.01], 1,
    ),
    "neighbours that do the same say nothing": (
        [5.0, 5.0, 9, 5.05, 5.06, 5.07], [0.04, 0.04, 0.2, 0.01, 0.01, 0.01], 4,
    ),
    "then fewer false stops beside it": (
        [5, 5.01, 5.02, 5.03, 5.04, 5.05], [0.05, 0.05, 0.04, 0.03, 0.02, 0.01], 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_neighbours_decide_among_equals(name: str) -> None:
    effort, false, expected = LINES[name]
    beside = np.array([[n - 1, n + 1 if n < 5 else -1] for n in range(6)])
    found = best(Objective(), sums(effort, false), 0, beside, np.zeros(6, dtype=np.int64))
    assert found == expected


@pytest.mark.parametrize("seed", range(20))
def test_nobody_on_the_front_is_dominated_and_nobody_else_is_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    effort = rng.integers(1, 12, 80).astype(float)
    harm, iterations = rng.integers(0, 9, 80) / 10, rng.integers(1, 4, 80).astype(float)
    rows = front(effort, harm, iterations).tolist()

    def beats(a: int, b: int) -> bool:
        """No worse in cost and harm, better in one, or equal in both with fewer iterations."""
        no_worse = effort[a] <= effort[b] and harm[a] <= harm[b]
        better = effort[a] < effort[b] or harm[a] < harm[b] or iterations[a] < iterations[b]
        return bool(no_worse and better)

    assert not [(a, b) for a in range(80) for b in rows if beats(a, b)]
    for other in set(range(80)) - set(rows):
        same = any(
            (effort[r], harm[r], iterations[r]) == (effort[other], harm[other], iterations[other])
            for r in rows
        )
        assert same or any(beats(r, other) for r in rows)
    assert effort[rows].tolist() == sorted(effort[rows])


# What is asked, and what the one line has to say.
REFUSED: dict[str, tuple[dict[str, object], list[str]]] = {
    "objective": ({"kind": "costs"}, ["--objective", "'cost'"]),
    "share": ({"max_false_stop": 1.5}, ["--max-false-stop", "1.5"]),
    "negative": ({"max_lost": -1.0}, ["--max-lost", "-1"]),
    "no budget": ({"kind": "quality"}, ["--budget"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    asked, said = REFUSED[name]
    with pytest.raises(HarnessError) as caught:
        Objective(**asked)  # type: ignore[arg-type]
    assert all(word in str(caught.value) for word in said)


@pytest.mark.parametrize(
    ("objective", "unit", "judged", "scored", "said"),
    [
        (Objective(), "cost", 0, 0, "no false stop can be told"),
        (Objective(max_lost=0.1), "cost", 5, 0, "no episode has scores"),
        (Objective(budget=1), "tokens", 5, 5, "--budget"),
        (Objective("utility", None), "iterations", 5, 5, "utility"),
    ],
)
def test_what_the_recordings_cannot_answer(
    objective: Objective, unit: str, judged: int, scored: int, said: str
) -> None:
    with pytest.raises(HarnessError, match=said):
        objective.needs(unit, judged=judged, scored=scored)  # type: ignore[arg-type]
