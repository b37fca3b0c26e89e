"""What a sweep costs, as ratios measured in one run: python -m tests.benchmarks.bench_tune

The floor is a plain Python loop over the same arrays that leaves each episode at its first
firing. The sampler drives that loop trial by trial, as an optimiser would, with next to no
overhead of its own. Nothing is told from one run to another: machines differ.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from harness.exits import ExitReason
from harness.guards import Guard, guard_class
from harness.preset import Preset
from harness.task import Limits
from harness.tune.corpus import Corpus
from harness.tune.firing import threads
from harness.tune.readings import Signals, structure
from harness.tune.shapes import varied
from harness.tune.sums import sums_of
from harness.tune.sweep import exits, exits_of, values_at

#: Guards in the order of the decision chain, with the thresholds that presets are drawn from.
#: Each fires in some episodes only, as guards do.
GUARDS: dict[str, tuple[Guard, float, float, bool]] = {
    "quality": (guard_class("quality")(), 0.97, 1.02, False),
    "max_rounds": (guard_class("max_rounds")(), 8, 25, True),
    "time_budget": (guard_class("time_budget")(), 5e4, 3e5, False),
    "cost_budget": (guard_class("cost_budget")(threshold=1), 5e8, 3e9, False),
    "spin": (guard_class("spin")(), 5, 9, True),
    "repetition": (guard_class("repetition")(on_fire="stop"), 0.99, 1.05, False),
    "stagnation": (guard_class("stagnation")(), -0.3, -0.15, False),
    "no_progress": (guard_class("no_progress")(on_fire="stop"), 7, 11, True),
}
BASE = Preset(guards={name: guard for name, (guard, *_) in GUARDS.items()})


def made(episodes: int, longest: int, seed: int = 1) -> Corpus:
    """A corpus of random readings; lengths are even between 1 and ``longest``."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, episodes)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    total = int(offsets[-1])
    within = np.arange(total) - np.repeat(offsets[:-1], lengths)

    def running(values: Any) -> Any:
        whole = np.concatenate([[0], np.cumsum(values)])
        return whole[1:] - np.repeat(whole[offsets[:-1]], lengths)

    cost, elapsed = (
        running(rng.integers(10**6, 10**8, total)),
        running(rng.integers(999, 9999, total)),
    )
    best = rng.random(total)
    signals = {
        "quality": best,
        "max_rounds": within.astype(float),
        "time_budget": elapsed.astype(float),
        "cost_budget": cost.astype(float),
        "spin": np.minimum(rng.geometric(0.5, total), 9).astype(float),
        "repetition": np.where(within < 1, np.nan, rng.random(total) ** 0.3),
        "stagnation": np.where(within < 2, np.nan, rng.normal(0.05, 0.1, total)),
        "no_progress": np.minimum(rng.geometric(0.5, total), 11).astype(float),
    }
    every, yes = np.ones(episodes, dtype=bool), np.ones(total, dtype=bool)
    zeros = np.zeros(total, dtype=np.int64)
    return Corpus(
        run_id="made", preset="made", preset_hash="", offsets=offsets, cost=cost, elapsed=elapsed,
        score=best, best=best, tokens=cost // 1000, cost_known=yes, tokens_known=yes,
        role_cost=cost // 10, role_tokens=zeros, lower=~every, phased=~every, answered=~every,
        answers=~yes, fixed_at=np.zeros(episodes, dtype=np.int64),
        fixed_rank=np.full(episodes, np.inf), fork=np.zeros(episodes, dtype=np.int64),
        scenarios=tuple(map(str, range(episodes))), families=("made",) * episodes,
        tasks=tuple(map(str, range(episodes))), tags=((),) * episodes, models=(None,) * episodes,
        contents=tuple(map(str, range(episodes))), outcome=(None,) * episodes,
        end=(ExitReason.RECORDING_EXHAUSTED,) * episodes, replay=("censored",) * episodes,
        recorded=({},) * episodes, limits=(Limits(),) * episodes,
        fixed_reason=(None,) * episodes,
        signals={structure(BASE.guards[n]): Signals(v, every) for n, v in signals.items()},
    )  # fmt: skip


def drawn(presets: int, seed: int = 2) -> dict[str, Any]:
    """Thresholds by guard."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, (_, low, high, whole) in GUARDS.items():
        values = rng.uniform(low, high, presets)
        found[name] = np.floor(values) if whole else values
    return found


Readings = list[tuple[list[tuple[list[float], str]], list[int], list[float]]]


def plain(corpus: Corpus) -> Readings:
    """The same arrays as lists: by episode the guards' signals, cost and best score."""
    found: Readings = []
    for begin, end in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        guards = []
        for guard in BASE.guards.values():
            signals = corpus.signals[structure(guard)].values[begin:end].tolist()
            guards.append((signals, guard.compares("higher")))
        found.append((guards, corpus.cost[begin:end].tolist(), corpus.best[begin:end].tolist()))
    return found


def loop(readings: Readings, thresholds: list[float]) -> list[tuple[int, int, int, float]]:
    """One preset over all episodes: where each ends, by which guard, at which cost and score."""
    cells = []
    for guards, cost, best in readings:
        at, by = len(cost) - 1, -1
        for now in range(len(cost)):
            for number, (signals, compares) in enumerate(guards):
                signal = signals[now]
                if (
                    signal >= thresholds[number]
                    if compares == ">="
                    else signal < thresholds[number]
                ):
                    at, by = now, number
                    break
            else:
                continue
            break
        cells.append((at + 1, by, cost[at], best[at]))
    return cells


def sampled(readings: Readings, trials: int, seed: int = 3) -> list[float]:
    """An optimiser's way: the next thresholds follow from the trials so far."""
    rng = random.Random(seed)  # noqa: S311
    names = list(GUARDS)
    history: list[tuple[float, list[float]]] = []
    for _ in range(trials):
        if len(history) < 10 or rng.random() < 0.2:
            wanted = [rng.uniform(*GUARDS[name][1:3]) for name in names]
        else:
            good = min(rng.sample(history, 5))[1]
            spans = [GUARDS[name][2] - GUARDS[name][1] for name in names]
            wanted = [
                value + rng.gauss(0, span / 10) for value, span in zip(good, spans, strict=True)
            ]
        cells = loop(readings, wanted)
        cost = sum(cell[2] for cell in cells) / len(cells)
        score = sum(cell[3] for cell in cells) / len(cells)
        history.append((cost / 1e9 - score, wanted))
    return min(history)[1]


def timed(work: Callable[[], Any], repeat: int = 1) -> tuple[float, float]:
    """Fastest and middle time of some repetitions (s)."""
    seconds = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), statistics.median(seconds)


def every_cell(options: argparse.Namespace) -> None:
    """Exit, reason, cost and best score of every cell, against the floor and the sampler."""
    corpus, thresholds = made(options.episodes, 20), drawn(options.presets)
    iterations = options.presets * int(corpus.offsets[-1])
    guards = BASE.guards
    presets = [
        Preset(
            guards={n: replace(g, threshold=float(thresholds[n][row])) for n, g in guards.items()}
        )
        for row in range(options.presets)
    ]
    readings = plain(corpus)
    columns = [list(map(float, row)) for row in zip(*thresholds.values(), strict=True)]

    def swept(workers: int | None, ready: bool = True) -> Any:
        if ready:
            found = exits_of(corpus, varied(BASE, thresholds), workers=workers)
        else:
            found = exits(corpus, presets, workers=workers)
        cost = values_at(corpus, found.iteration, corpus.cost, workers=workers)
        return found, cost, values_at(corpus, found.iteration, corpus.best, workers=workers)

    share = max(1, options.presets // options.share)
    first = swept(None)
    check(first, [loop(readings, row) for row in columns[:3]])
    floor, _ = timed(lambda: [loop(readings, row) for row in columns[:share]])
    sampler, _ = timed(lambda: sampled(readings, share))
    floor, sampler = (seconds * options.presets / share for seconds in (floor, sampler))
    print(f"{options.presets:,} presets x {options.episodes:,} episodes of 1 to 20 iterations, "
          f"{len(GUARDS)} guards: {iterations / 1e6:,.1f} million preset-iterations")  # fmt: skip
    print(f"  episodes end after {first[0].iteration.mean():.1f} iterations on average")
    print(f"  floor {floor:.2f} s, sampler {sampler:.2f} s ({share:,} presets, scaled)")
    for what, workers, ready in (
        ("columns of thresholds", None, True),
        ("columns of thresholds, one thread", 1, True),
        ("presets", None, False),
    ):
        best, middle = timed(lambda w=workers, r=ready: swept(w, r), options.rounds)
        print(
            f"  {what}: {best * 1e3:.1f} ms ({middle * 1e3:.1f} in the middle), "
            f"{iterations / best / 1e9:.2f} billion preset-iterations/s; "
            f"{floor / best:,.0f} times the floor (aim 60), "
            f"{sampler / best:,.0f} times the sampler (aim 1,000)"
        )
    best, _ = timed(lambda: exits_of(corpus, varied(BASE, thresholds)), options.rounds)
    print(f"  exits alone: {iterations / best / 1e9:.2f} billion preset-iterations/s (aim 1)")


def check(found: Any, expected: list[list[tuple[int, int, int, float]]]) -> None:
    """The floor and the sweep have to say the same."""
    ends, cost, best = found
    names = list(GUARDS)
    for row, cells in enumerate(expected):
        for column, (iteration, by, paid, score) in enumerate(cells):
            at = int(ends.by[row, column])
            guard = ends.reasons[at][1] if at >= 0 else None
            told = (int(ends.iteration[row, column]), guard, int(cost[row, column]))
            assert told == (iteration, names[by] if by >= 0 else None, paid), (row, column)
            assert math.isclose(score, best[row, column])


def totals(options: argparse.Namespace) -> None:
    """Totals by preset: ten times the episodes take ten times the time, and little memory."""
    thresholds = drawn(options.many)
    sizes = (options.large // 10, options.large)
    seconds = []
    for size in sizes:
        corpus = made(size, 20)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        took, _ = timed(lambda c=corpus: sums_of(c, varied(BASE, thresholds)))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds.append(took)
        iterations = options.many * int(corpus.offsets[-1])
        print(
            f"totals of {options.many:,} presets x {size:,} episodes: {took:.1f} s, "
            f"{iterations / took / 1e9:.2f} billion preset-iterations/s; peak memory "
            f"{after / 2**20:.2f} GiB, {(after - before) / 2**20:.2f} of it for the totals (aim 2)"
        )
    print(f"10 times the episodes: {seconds[1] / seconds[0]:.1f} times the time; aim at most 10.5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", type=int, default=1_000)
    parser.add_argument("--episodes", type=int, default=1_000)
    parser.add_argument("--share", type=int, default=5, help="the floor runs one in so many")
    parser.add_argument("--rounds", type=int, default=15, help="times that a sweep is measured")
    parser.add_argument("--many", type=int, default=10_000, help="presets of the totals")
    parser.add_argument("--large", type=int, default=100_000, help="episodes of the totals")
    options = parser.parse_args()
    print(f"{threads()} processors")
    every_cell(options)
    totals(options)


if __name__ == "__main__":
    main()
