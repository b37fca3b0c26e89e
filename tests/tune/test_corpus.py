"""An observed run as arrays: what is in them, and what cannot be read."""

from __future__ import annotations

import numpy as np
import pytest

from harness.exits import ExitReason
from harness.guards import guard_class
from harness.mechanisms import Judge, Mechanisms
from harness.preset import Preset
from harness.store.database import Store
from harness.tune.corpus import read
from harness.tune.readings import structure
from tests.examples import call, scenario, step
from tests.stored import refusal
from tests.tune.making import observe, random_run

PRICED = {"model": "gpt-4o-mini", "usage": {"input": 100, "output": 10}}
VERDICT = {
    "text": '{"done": false, "reason": "x", "evidence": ["a"], "score": 0.9}',
    "model": "gpt-4o-mini",
    "usage": {"input": 10},
    "ms": 50,
}
STEPS = [
    step(call("read", ms=20), ms=900, score=0.5, judge=VERDICT, **PRICED),
    {**step(score=None), "user": "Go on."},
    step(ms=100, score=0.4, judge={"text": "?", "usage": {"input": 7}, "model": "none-such"},
         **PRICED),
]  # fmt: skip


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "corpus.duckdb")
    made.create()
    return made


BASE = Preset(
    name="base",
    guards={"quality": guard_class("quality")(), "spin": guard_class("spin")()},
    mechanisms=Mechanisms(judge=Judge()),
    observe=True,
)


def test_what_an_episode_took_is_known_as_far_as_it_was_recorded(store):
    one = scenario(STEPS, id="a/b", tags=["x"], recorded={"outcome": "success"})
    corpus = observe(store, "run", [one], BASE).corpus
    expected = {
        # A token of input costs 150,000 pico-USD, one of output 600,000.
        "cost": [22_500_000, 22_500_000, 43_500_000],
        "cost_known": [True, False, False],
        "role_cost": [1_500_000] * 3,
        "tokens": [120, 120, 237],
        "tokens_known": [True, False, False],
        "role_tokens": [10, 10, 17],
        "elapsed": [970, -1, -1],
        "score": [0.5, None, 0.4],
        "best": [0.5, 0.5, 0.5],
        "answers": [True, False, False],
        "offsets": [0, 3],
        "lower": [False],
        "answered": [True],
        "phased": [False],
        "fork": [0],
        "fixed_at": [0],
    }
    found = {name: getattr(corpus, name).tolist() for name in expected}
    found["score"] = [None if s != s else s for s in found["score"]]
    assert found == expected
    told = (corpus.scenarios, corpus.families, corpus.tags, corpus.outcome, corpus.end)
    assert told == (("a/b",), ("a",), (("x",),), ("success",), (ExitReason.AGENT_FINISHED,))


def test_readings_by_name_and_by_what_is_measured(store):
    corpus = observe(store, "run", [scenario(STEPS)], BASE).corpus
    quality = corpus.guards["quality"]
    assert quality.kind == "quality"
    signals = corpus.signals[structure(BASE.guards["quality"])]
    assert np.array_equal(quality.signals, signals.values, equal_nan=True)
    assert signals.values[~np.isnan(signals.values)].tolist() == [0.5, 0.4]
    assert signals.measured.all()


def test_where_a_mechanism_ends_the_loop(store):
    said = "I am blocked: I cannot continue without the password."
    base = Preset(name="base", mechanisms=Mechanisms(triage=True, judge=Judge()), observe=True)
    judged = {**step(text=said), "judge": VERDICT}
    corpus = observe(store, "run", [scenario([step(), judged, judged])], base).corpus
    assert corpus.fixed_at.tolist() == [2]
    assert corpus.fixed_reason == (ExitReason.BLOCKED,)
    assert corpus.fork.tolist() == [2]


def test_some_episodes_of_a_corpus(store):
    """Taken apart and put together again it is the same; any episode may come twice."""
    corpus = random_run(store, 5).corpus
    order = np.array([3, 0, 3])
    some = corpus.only(order)
    assert [corpus.scenarios[at] for at in order] == list(some.scenarios)
    for place, episode in enumerate(order):
        here = slice(some.offsets[place], some.offsets[place + 1])
        there = slice(corpus.offsets[episode], corpus.offsets[episode + 1])
        for name in ("cost", "tokens", "elapsed", "score", "best", "answers"):
            one, other = getattr(some, name)[here], getattr(corpus, name)[there]
            assert np.array_equal(one, other, equal_nan=one.dtype == np.float64)
        for key, signals in some.signals.items():
            known = corpus.signals[key]
            assert np.array_equal(signals.values[here], known.values[there], equal_nan=True)
            assert signals.measured[place] == known.measured[episode]
    again = corpus.only(np.arange(len(corpus)))
    assert np.array_equal(again.cost, corpus.cost)
    assert again.scenarios == corpus.scenarios


REFUSED = {
    "no run": ("nothing", None, "choose from: run"),
    "another preset": ("run", "other", "tune: run run: observed preset: found 'other'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read(store, name):
    run_id, preset, words = REFUSED[name]
    observe(store, "run", [scenario(STEPS)], BASE)
    assert words in refusal(read, store, run_id, preset)


def test_a_run_that_observed_several_presets(store):
    observe(store, "run", [scenario(STEPS)], BASE)
    store.execute("UPDATE episodes SET preset = 'more' WHERE repetition = 1")
    assert "choose one with --observed: base, more" in refusal(read, store, "run")
    assert len(read(store, "run", "base")) == 1


def test_a_run_that_observed_nothing(store):
    observe(store, "run", [scenario(STEPS)], BASE)
    store.execute("UPDATE episodes SET observe = false")
    assert "tune: run run observed nothing; make one with: harness run" in refusal(
        read, store, "run"
    )
