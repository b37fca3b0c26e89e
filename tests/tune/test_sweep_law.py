"""The threshold law: what the sweep says of a cell is what running the loop would have said."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from harness.loop import run_episode
from harness.preset import Preset
from harness.store.database import Store
from harness.tune.shapes import pauses
from harness.tune.sweep import exits, why_replayed, why_unobserved
from harness.turns import Tape
from tests.tune.making import Made, candidate, cell, random_run, told

SEEDS = 40
SHARDS = 4
#: Drawn for each seed; a few of them cannot be swept.
PRESETS = 55
GROUPS = ("success", "paused", "limit", "stuck", "undecided")


def documented(tape: Tape, preset: Preset, base: Preset) -> str | None:
    """Why a cell may be left to a replay."""
    applied, observed = (p.with_limits(tape.scenario.limits) for p in (preset, base))
    guards = applied.guards.values()
    judged = base.mechanisms.judge is not None
    if tape.scenario.phases and (judged or any(g.exit_reason.group == "success" for g in guards)):
        return "phases"
    if why_unobserved(applied, observed):
        return "a limit needs a guard that was not observed"
    later = tape.trunk[1:]
    waits = any(pauses(name, guard) for name, guard in applied.guards.items())
    if waits and any(turn.user is not None for turn in later):
        return "answered pause"
    on = base.mechanisms
    if on.triage and on.judge and any("judge" in turn.roles for turn in tape.trunk):
        return "judge read beside triage"
    return None


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_sweep_is_the_loop(tmp_path, shard):
    """At least 2,000 pairs of a corpus and a preset over all shards, every cell of each."""
    store = Store(tmp_path / "law.duckdb")
    store.create()
    counts: Counter[str] = Counter()
    for seed in range(shard, SEEDS, SHARDS):
        compare(random_run(store, seed), Random(-seed - 1), counts)  # noqa: S311
    assert counts["pairs"] * SHARDS >= 2000
    assert counts["swept"] > 4 * counts["replayed"] > 0
    assert counts["by a guard"] > counts["swept"] / 3
    assert min(counts[group] for group in GROUPS) > 0


def compare(made: Made, rng: Random, counts: Counter[str]):
    """Every cell of random presets over a corpus."""
    corpus, base = made.corpus, made.base
    drawn = [candidate(rng, base, corpus, number) for number in range(PRESETS)]
    presets = [preset for preset in drawn if why_replayed(preset, base) is None]
    found = exits(corpus, presets)
    counts["pairs"] += len(presets)
    for row, preset in enumerate(presets):
        for column, scenario in enumerate(corpus.scenarios):
            tape = made.tapes[scenario]
            if found.swept[row, column]:
                expected = told(run_episode(tape, preset))
                assert expected == cell(corpus, found, row, column), (preset, scenario)
                counts.update(["swept", expected["reason"].group])
                counts["by a guard"] += expected["guard"] is not None
            else:
                assert documented(tape, preset, base), (preset, scenario)
                counts["replayed"] += 1
