"""Totals and step functions say what the cells say."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest

from harness.guards import guard_class
from harness.preset import Preset
from harness.store.database import Store
from harness.tune.shapes import varied
from harness.tune.steps import steps
from harness.tune.sums import Sums, sums, sums_of
from harness.tune.sweep import exits, exits_of, why_replayed
from harness.tune.value import measure
from tests.examples import scenario, scored, step
from tests.stored import refusal
from tests.tune.making import candidate, observe, random_run


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "sums.duckdb")
    made.create()
    return made


def summed(corpus, found):
    """The totals, by way of every cell."""
    value, known = measure(corpus, found), found.swept
    at = corpus.offsets[:-1][None, :] + found.iteration - 1
    censored = np.array([label == "censored" for label in corpus.replay])
    cells = {
        "cells": known,
        "iterations": found.iteration,
        "cost": value.cost,
        "role_cost": value.role_cost,
        "tokens": value.tokens,
        "lost": np.nan_to_num(value.lost),
        "early": value.early,
        "false_stops": value.false_stop,
        "unscored": np.isnan(value.lost),
        "censored": ~value.early & censored[None, :],
        "success_low": value.success_low,
        "success_high": value.success_high,
        "unpriced": ~corpus.cost_known[at],
    }
    return {name: np.where(known, cell, 0).sum(axis=1).tolist() for name, cell in cells.items()}


def as_table(totals, names=None):
    chosen = names or [one.name for one in fields(totals)]
    return {name: np.round(getattr(totals, name), 9).tolist() for name in chosen}


@pytest.mark.parametrize("seed", range(100, 106))
def test_totals_are_those_of_the_cells(store, seed):
    made = random_run(store, seed, episodes=12)
    rng = Random(seed)  # noqa: S311
    drawn = [candidate(rng, made.base, made.corpus, number) for number in range(40)]
    presets = [preset for preset in drawn if why_replayed(preset, made.base) is None]
    expected = summed(made.corpus, exits(made.corpus, presets))
    expected["lost"] = np.round(expected["lost"], 9).tolist()
    for workers in (1, 2):
        assert expected == as_table(sums(made.corpus, presets, workers=workers))


def test_many_copies_in_parts_are_many_times_the_totals(store):
    """Parts, their order and the number of threads change nothing."""
    made = random_run(store, 7, episodes=12)
    rng = Random(7)  # noqa: S311
    presets = [candidate(rng, made.base, made.corpus, number) for number in range(30)]
    copies = 150
    order = np.repeat(np.arange(12), copies)
    Random(8).shuffle(order)  # noqa: S311
    many = made.corpus.only(order)
    one, all_ = sums(made.corpus, presets), sums(many, presets, workers=2)
    names = [one.name for one in fields(Sums) if one.name != "lost"]
    expected = {name: (getattr(one, name) * copies).tolist() for name in names}
    assert expected == as_table(all_, names)
    assert np.allclose(one.lost * copies, all_.lost)
    found, few = exits(many, presets, workers=2), exits(made.corpus, presets)
    assert (few.iteration[:, order] == found.iteration).all()
    assert (few.swept[:, order] == found.swept).all()
    assert few.reasons == found.reasons
    assert (few.by[:, order] == found.by).all()


def test_columns_of_thresholds_stand_for_presets(store):
    made = random_run(store, 3)
    guards = {name: replace(one, on_fire="stop") for name, one in made.base.guards.items()}
    base = Preset(guards=guards)
    columns = {name: np.array([0.5, 1.0, 2.0, np.inf]) for name in list(guards)[:2]}
    presets = [
        replace(base, guards=guards | {n: replace(guards[n], threshold=float(c[row]))
                                       for n, c in columns.items()})
        for row in range(4)
    ]  # fmt: skip
    shapes = varied(base, columns)
    expected, found = exits(made.corpus, presets), exits_of(made.corpus, shapes)
    assert expected.iteration.tolist() == found.iteration.tolist()
    assert expected.by.tolist() == found.by.tolist()
    assert as_table(sums(made.corpus, presets)) == as_table(sums_of(made.corpus, shapes))


REFUSED = {
    "preset own has no guard missing": {"missing": np.zeros(1)},
    "thresholds must be of one length, found [1, 2]": {"a": np.zeros(1), "b": np.zeros(2)},
}


@pytest.mark.parametrize("words", REFUSED)
def test_columns_that_fit_nothing(words):
    spin = guard_class("spin")()
    assert words in refusal(varied, Preset(guards={"a": spin, "b": spin}), REFUSED[words])


@pytest.mark.parametrize("seed", range(200, 212))
def test_every_step_is_what_a_sweep_says_there(store, seed):
    """And between two steps nothing changes."""
    made = random_run(store, seed, episodes=12)
    corpus = made.corpus
    corpus = corpus.only(np.nonzero(~corpus.answered & ~corpus.phased & (corpus.fork == 0))[0])
    names = list(made.base.guards)
    name = names[seed % len(names)]
    guard = made.base.guards[name]
    if any(limits.model_fields_set for limits in corpus.limits):
        # A limit may take the guard's place; then its threshold means nothing.
        free = [e for e, limits in enumerate(corpus.limits) if not limits.model_fields_set]
        corpus = corpus.only(np.array(free, dtype=np.int64))
    other = next(iter(n for n in made.base.guards if n != name))
    beside = Preset(guards={other: replace(made.base.guards[other], threshold=2, on_fire="stop")})
    for rest in (None, beside):
        found = steps(corpus, name, rest)
        between = (found.threshold[1:] + found.threshold[:-1]) / 2
        compares = guard.compares("higher") if not corpus.lower.any() else None
        presets = [
            Preset(guards={**(rest.guards if rest else {}),
                           name: replace(guard, threshold=float(t), on_fire="stop")})
            for t in found.threshold
        ]  # fmt: skip
        totals = sums(corpus, presets)
        names = ["iterations", "cost", "early", "false_stops", "lost"]
        assert as_table(totals, names) == as_table(found, names)
        if compares == ">=" and len(between):
            presets = [
                replace(preset, guards={**preset.guards, name: replace(
                    guard, threshold=float(t), on_fire="stop")})
                for preset, t in zip(presets[1:], between, strict=True)
            ]  # fmt: skip
            inside = as_table(sums(corpus, presets), names)
            assert inside == {n: values[1:] for n, values in as_table(found, names).items()}


def test_the_steps_of_one_guard(store):
    """Rounds of two episodes of three and two iterations, each costing the same."""
    priced = {"model": "gpt-4o-mini", "usage": {"input": 1}}
    rounds = guard_class("max_rounds")()
    base = Preset(name="base", guards={"max_rounds": rounds}, observe=True)
    long = [step(score=s, **priced) for s in (0.1, 0.5, 0.4)]
    made = observe(
        store,
        "run",
        [scenario(long, id="a/long"), scenario(long[:2], id="a/short")],
        base,
    )
    found = steps(made.corpus, "max_rounds")
    expected = {
        "threshold": [0, 1, 2],
        "ended": [2, 2, 1],
        "iterations": [2, 4, 5],
        "cost": [300_000, 600_000, 750_000],
        "cost_saved": [450_000, 150_000, 0],
        "lost": [0.8, 0, 0],
        "early": [2, 1, 0],
        "false_stops": [2, 0, 0],
    }
    assert expected == as_table(found, list(expected))
    assert found.episodes == 2


def test_steps_of_a_guard_that_nobody_observed(store):
    base = Preset(name="base", guards={"spin": guard_class("spin")()}, observe=True)
    made = observe(store, "run", [scenario(scored(0.1))], base)
    assert refusal(steps, made.corpus, "cycle") == "tune: guard: found 'cycle'; choose from: spin"
