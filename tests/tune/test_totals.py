"""Totals against a plain loop over the episodes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from harness.guards.patience import Patience
from harness.guards.quality import Quality
from harness.preset import Preset
from harness.run import run
from harness.statistics import proportion_interval, ratio_interval
from harness.store.database import Store
from harness.tune import baselines
from harness.tune.corpus import Corpus, read
from harness.tune.ends import Evaluator
from harness.tune.totals import Sums, ended, false_interval, figures, losses, totals, unit_of
from harness.tune.value import at_iterations
from tests.tune.runs import SHAPES, loop, loops, observed

POLICIES = {
    f"quality {q:g}, patience {p}": {"quality": q, "patience": p}
    for q in (0.5, 0.85)
    for p in (1, 2, 3)
}


def preset(name: str, evaluator: Evaluator) -> Preset:
    chosen = POLICIES[name]
    guards = {
        "quality": Quality(threshold=chosen["quality"]),
        "patience": Patience(threshold=chosen["patience"]),
    }
    return Preset(name="p", guards=guards, mechanisms=evaluator.observed.mechanisms)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Corpus, Evaluator]:
    store = observed(tmp_path_factory.mktemp("totals"), loops(3))
    corpus = read(store, "seen")
    return store, corpus, Evaluator.of(store, corpus)


def by_hand(name: str, corpus: Corpus) -> dict[str, float]:
    """A plain loop over the recorded scores."""
    policy = POLICIES[name]
    sums = {"iterations": 0, "cost": 0, "false_stops": 0, "lost": 0.0, "best": 0.0}
    for at, scenario in enumerate(corpus.scenarios):
        kind, n = scenario.split("/")
        scores = SHAPES[kind]
        best, since, stop = -math.inf, 0, len(scores)
        for i, score in enumerate(scores, 1):
            best, since = (score, 0) if score > best else (best, since + 1)
            if best >= policy["quality"] or since >= policy["patience"]:
                stop = i
                break
        price = (1000 + 100 * list(SHAPES).index(kind) + int(n)) * 150_000 + 100 * 600_000
        sums["iterations"] += stop
        sums["cost"] += stop * price
        sums["false_stops"] += max(scores) > max(scores[:stop])
        sums["lost"] += max(scores) - max(scores[:stop])
        sums["best"] += max(scores[:stop])
        assert len(corpus) > at
    return sums


@pytest.mark.parametrize("name", POLICIES)
def test_figures_are_those_of_a_plain_loop(
    name: str, seen: tuple[Store, Corpus, Evaluator]
) -> None:
    _, corpus, evaluator = seen
    expected = by_hand(name, corpus)
    outcome = evaluator.outcome(preset(name, evaluator))
    row = figures(corpus, outcome, np.ones(len(corpus), dtype=bool), corpus.tasks)
    n = len(corpus)
    assert row["iterations"] == expected["iterations"]
    assert row["cost"] == row["effort"] == expected["cost"]
    assert row["false_stops"] == expected["false_stops"]
    assert row["lost"] == pytest.approx(expected["lost"] / n, abs=1e-12)
    assert row["best"] == pytest.approx(expected["best"] / n, abs=1e-12)
    assert row["cost"] + row["saved"] == int(corpus.cost[corpus.offsets[1:] - 1].sum())
    assert row["exact"] + row["censored"] + row["diverged"] == n == sum(row["reasons"].values())
    assert row["role_cost"] == 0


def test_figures_are_those_of_running_the_preset(
    seen: tuple[Store, Corpus, Evaluator], tmp_path: Path
) -> None:
    """Whatever is told of a preset is what its run shows."""
    _, corpus, evaluator = seen
    chosen = preset("quality 0.85, patience 2", evaluator)
    store = observed(tmp_path, loops(3))
    run([tmp_path / "seen.jsonl"], [chosen], store, run_id="real")
    (real,) = store.rows(
        "SELECT sum(exit_iteration) AS iterations, sum(cost_pico_usd) AS cost, "
        "avg(best_score) AS best FROM episodes WHERE run_id = 'real'"
    )
    everyone = np.ones(len(corpus), dtype=bool)
    row = figures(corpus, evaluator.outcome(chosen), everyone, corpus.tasks)
    assert (row["iterations"], row["cost"]) == (real["iterations"], real["cost"])
    assert row["best"] == pytest.approx(real["best"], abs=1e-12)


def test_groups_add_up_to_the_whole(seen: tuple[Store, Corpus, Evaluator]) -> None:
    _, corpus, evaluator = seen
    outcome = evaluator.outcome(preset("quality 0.85, patience 1", evaluator))
    whole = totals(corpus, [("one", outcome)]).iloc[0]
    parts = totals(corpus, [("one", outcome)], corpus.families)
    assert list(parts["group"]) == sorted(SHAPES)
    for what in ("episodes", "iterations", "cost", "tokens", "false_stops", "judged", "exact"):
        assert parts[what].sum() == whole[what]


def test_sums_are_the_figures_of_each_subset(seen: tuple[Store, Corpus, Evaluator]) -> None:
    _, corpus, evaluator = seen
    presets = [preset(name, evaluator) for name in POLICIES]
    subsets = np.column_stack([np.arange(len(corpus)) % 2 == side for side in (0, 1)])
    sums = Sums.empty(corpus, len(presets), subsets)
    for rows, found in evaluator.parts(presets):
        sums.fill(corpus, rows, found.measured, subsets, "cost")
    for at, one in enumerate(presets):
        for column in (0, 1):
            row = figures(corpus, evaluator.outcome(one), subsets[:, column], corpus.tasks)
            assert sums.effort[at, column] == row["cost"]
            assert sums.iterations[at, column] == row["iterations"]
            assert sums.false_stops[at, column] == row["false_stops"]
            assert sums.mean("lost", column)[at] == pytest.approx(row["lost"], abs=1e-12)


def test_baselines(seen: tuple[Store, Corpus, Evaluator]) -> None:
    _, corpus, _ = seen
    everyone = np.ones(len(corpus), dtype=bool)
    first = {kind: scores.index(max(scores)) + 1 for kind, scores in SHAPES.items()}
    assert baselines.oracle(corpus).tolist() == [first[f] for f in corpus.families]
    # After three steps only the late loops still gain.
    after = figures(corpus, ended(corpus, baselines.after(corpus, 3)), everyone, corpus.tasks)
    assert (after["false_stops"], after["iterations"]) == (3, 3 * len(corpus))
    end = figures(corpus, ended(corpus, baselines.to_the_end(corpus)), everyone, corpus.tasks)
    assert (end["false_stops"], end["saved"], end["censored"]) == (0, 0, len(corpus))
    counts, line = baselines.duration_line(corpus, everyone[:, None], "cost")
    assert [int(counts[baselines.best_count(line, 0, rate)]) for rate in (0, 0.25, 1)] == [4, 2, 1]


def test_stopping_blind_is_not_free(tmp_path: Path) -> None:
    store = observed(tmp_path, [loop("late/0", (None, 0.2, 0.9))])
    corpus = read(store, "seen")
    one = np.array([[1]], dtype=np.int32)
    assert losses(corpus, at_iterations(corpus, one)).tolist() == [[pytest.approx(0.7)]]


def test_unit_falls_back_where_prices_are_unknown(tmp_path: Path) -> None:
    store = observed(tmp_path, [loop("a/0", (0.1, 0.2), priced=False)])
    assert unit_of(read(store, "seen")) == "iterations"


def test_the_interval_is_exact_for_single_episodes_and_wide_for_few_tasks() -> None:
    hits = [True] * 3 + [False] * 17
    alone = [str(n) for n in range(20)]
    assert false_interval(hits, alone) == proportion_interval(3, 20)
    assert proportion_interval(3, 20) == pytest.approx((0.0321, 0.3789), abs=1e-4)
    # Twenty episodes of two tasks are not twenty observations.
    pairs = [str(n % 2) for n in range(20)]
    assert false_interval([False] * 20, pairs) == proportion_interval(0, 2)
    assert false_interval([], []) == (None, None)


def test_the_clustered_interval_holds_what_it_says() -> None:
    """Of intervals over 40 clusters that share their noise, nine in ten and more hold the truth."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        level = np.repeat(rng.normal(0, 1, 40), 5)
        values = (10 + level + rng.normal(0, 0.3, 200)).tolist()
        low, high = ratio_interval(values, [1.0] * 200, [str(n // 5) for n in range(200)])
        assert low is not None
        assert high is not None
        held += low <= 10 <= high
    assert held >= 52
    assert ratio_interval([1.0, 1.0], [1.0, 1.0], ["a", "b"]) == (None, None)
