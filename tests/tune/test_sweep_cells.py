"""Cells whose answer is known, and cells that a sweep leaves open."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import inf

import numpy as np
import pytest

from harness.guards import guard_class
from harness.guards.all_of import AllOf
from harness.guards.quality import Quality
from harness.mechanisms import Judge, Mechanisms
from harness.preset import Preset
from harness.store.database import Store
from harness.tune.corpus import read
from harness.tune.sweep import exits, why_replayed
from tests.examples import scenario, scored, step
from tests.stored import refusal
from tests.tune.making import observe


def g(kind, **settings):
    return guard_class(kind)(**settings)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One for all: making a store takes longer than most tests here."""
    made = Store(tmp_path_factory.mktemp("cells") / "one.duckdb")
    made.create()
    return made


RUNS = count()


def corpus_of(store, guards, steps, mechanisms=None, **head):
    base = Preset(name="base", guards=guards, observe=True, mechanisms=mechanisms or Mechanisms())
    return base, observe(store, f"run-{next(RUNS)}", [scenario(steps, **head)], base).corpus


def ends(corpus, *presets):
    """Iteration and guard (or reason) of each preset in the only episode; ``?`` if left open."""
    found = exits(corpus, list(presets))
    cells = []
    for row in range(len(presets)):
        by = int(found.by[row, 0])
        reason, guard = found.reasons[by] if by >= 0 else (corpus.end[0], "")
        open_ = not found.swept[row, 0]
        cells.append("?" if open_ else f"{found.iteration[row, 0]} {guard or reason.value}")
    return cells


#: Threshold of ``quality`` over scores unknown, 0.5, 0.9, and where that ends the episode.
THRESHOLDS = {
    "the first known score is enough": (-inf, "2 quality"),
    "equal is reached": (0.5, "2 quality"),
    "just above": (np.nextafter(0.5, 1), "3 quality"),
    "the highest": (0.9, "3 quality"),
    "never": (np.nextafter(0.9, 1), "3 recording_exhausted"),
    "infinite": (inf, "3 recording_exhausted"),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_threshold_is_reached_or_not(store, name):
    threshold, expected = THRESHOLDS[name]
    _, corpus = corpus_of(store, {"quality": g("quality")}, scored(None, 0.5, 0.9))
    assert [expected] == ends(corpus, Preset(guards={"quality": Quality(threshold=threshold)}))


#: The same where scores fall (direction lower) over scores unknown, 0.5, 0.1.
LOWER = {
    "infinite": (inf, "2 quality"),
    "equal is reached": (0.5, "2 quality"),
    "just below": (np.nextafter(0.5, 0), "3 quality"),
    "never": (-inf, "3 recording_exhausted"),
}


@pytest.mark.parametrize("name", LOWER)
def test_a_threshold_where_lower_is_better(store, name):
    threshold, expected = LOWER[name]
    steps = scored(None, 0.5, 0.1)
    _, corpus = corpus_of(store, {"quality": g("quality")}, steps, direction="lower")
    assert [expected] == ends(corpus, Preset(guards={"quality": Quality(threshold=threshold)}))


#: ``stagnation`` fires below its threshold; improvements are unknown, 0.1, 0.
BELOW = {
    "equal is not below": (0.0, "3 recording_exhausted"),
    "just above": (np.nextafter(0.0, 1), "3 stagnation"),
    "all are below": (inf, "2 stagnation"),
    "nothing is below": (-inf, "3 recording_exhausted"),
}


@pytest.mark.parametrize("name", BELOW)
def test_a_guard_that_fires_below(store, name):
    threshold, expected = BELOW[name]
    guard = g("stagnation", window=1)
    _, corpus = corpus_of(store, {"stagnation": guard}, scored(0.4, 0.5, 0.5))
    wanted = Preset(guards={"stagnation": replace(guard, threshold=threshold)})
    assert [expected] == ends(corpus, wanted)


def test_of_guards_of_one_kind_the_first_of_the_preset_decides(store):
    one, two = g("spin", threshold=2, identity="action"), g("spin", threshold=2, on="text")
    _, corpus = corpus_of(store, {"one": one, "two": two}, [step({"tool": "a"}, text="x")] * 3)
    there, back = Preset(guards={"one": one, "two": two}), Preset(guards={"two": two, "one": one})
    assert ends(corpus, there, back, there) == ["2 one", "2 two", "2 one"]


def test_a_budget_of_unknown_parts_is_reached_by_what_is_known(store):
    steps = [step(ms=900), step(), step(ms=900)]
    _, corpus = corpus_of(store, {"time_budget": g("time_budget")}, steps)
    thresholds = (900, 901, 1800, 1801)
    presets = [Preset(guards={"time_budget": g("time_budget", threshold=t)}) for t in thresholds]
    expected = ["1 time_budget", "3 time_budget", "3 time_budget", "3 recording_exhausted"]
    assert expected == ends(corpus, *presets)
    assert corpus.elapsed.tolist() == [900, -1, -1]


LIMITS = {
    "sets the threshold": ({"max_rounds": 1}, {"max_rounds": 3}, "2 max_rounds"),
    "adds the guard": ({"max_rounds": 2}, {}, "3 max_rounds"),
    "makes a warning a stop": ({"max_rounds": 1}, {"max_rounds": "warn"}, "2 max_rounds"),
    "patience replaces stagnation": ({"patience": 2}, {"stagnation": 9}, "3 patience"),
    "a window of its own": (
        {"stagnation_window": 2, "min_delta": 0.5}, {"stagnation": 0.02}, "3 stagnation"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_task_s_own_limits(store, name):
    limits, wanted, expected = LIMITS[name]
    base = {"max_rounds": g("max_rounds"), "stagnation": g("stagnation", window=1)}
    if not wanted:
        base = {"stagnation": g("stagnation", window=1)}
    _, corpus = corpus_of(store, base, scored(0.5, 0.5, 0.5, 0.5), limits=limits)
    guards = {}
    for kind, threshold in wanted.items():
        warns = threshold == "warn"
        changed = {"on_fire": "warn"} if warns else {"threshold": threshold}
        guards[kind] = replace(base[kind], **changed)
    assert [expected] == ends(corpus, Preset(guards=guards))


def test_a_limit_that_adds_another_guard_than_was_observed_is_left_open(store):
    observed = {"wide": g("spin", on="text", threshold=3)}
    _, corpus = corpus_of(store, observed, [step(text="x")] * 3, limits={"spin": 2})
    assert ends(corpus, Preset(guards=observed), Preset(guards={})) == ["2 wide", "?"]


def test_readings_serve_a_guard_under_any_name(store):
    _, corpus = corpus_of(store, {"max_rounds": g("max_rounds")}, scored(0.1, 0.2, 0.3))
    assert ends(corpus, Preset(guards={"mine": g("max_rounds", threshold=1)})) == ["2 mine"]


def test_only_the_cells_that_end_by_an_answered_pause_are_left_open(store):
    steps = [step(score=0.1), {**step(score=0.2), "user": "Go on."}, step(score=0.3)]
    _, corpus = corpus_of(store, {"max_rounds": g("max_rounds")}, steps)

    def under(threshold, on_fire):
        return Preset(guards={"max_rounds": g("max_rounds", threshold=threshold, on_fire=on_fire)})

    presets = [under(t, on_fire) for on_fire in ("pause", "stop") for t in (0, 1)]
    assert ends(corpus, *presets) == ["?", "2 max_rounds", "1 max_rounds", "2 max_rounds"]


def test_cells_that_reach_a_judge_beside_triage_are_left_open(store):
    """Acting, nobody would have asked it, and its score would not have counted."""
    verdict = '{"done": false, "reason": "x", "evidence": ["a"], "score": 0.9}'
    said = "I am blocked: I cannot continue without the password."
    steps = [step(score=0.1), {**step(text=said), "judge": verdict}, step()]
    on = Mechanisms(triage=True, judge=Judge())
    _base, corpus = corpus_of(store, {"max_rounds": g("max_rounds")}, steps, mechanisms=on)
    early = Preset(guards={"max_rounds": g("max_rounds", threshold=0)})
    assert ends(corpus, early, Preset()) == ["1 max_rounds", "?"]


def test_a_mechanism_ends_episodes_whatever_the_thresholds_are(store):
    said = "I am blocked: I cannot continue without the password."
    on = Mechanisms(triage=True)
    steps = [step(), step(text=said), step()]
    _, corpus = corpus_of(store, {"max_rounds": g("max_rounds")}, steps, mechanisms=on)
    presets = [Preset(guards={"max_rounds": g("max_rounds", threshold=t)}) for t in (0, 1, 2)]
    silent = Preset(guards=presets[0].guards, observe=True)
    expected = ["1 max_rounds", "2 blocked", "2 blocked", "3 recording_exhausted"]
    assert expected == ends(corpus, *presets, silent)


PHASED = {
    "a limit": ({"max_rounds": g("max_rounds", threshold=2)}, "3 max_rounds"),
    "where a phase is done": ({"max_rounds": g("max_rounds", threshold=1)}, "?"),
    "a success, which a check may veto": ({"quality": g("quality", threshold=0.1)}, "?"),
    "before any success": (
        {"quality": g("quality", threshold=0.2), "max_rounds": g("max_rounds", threshold=0)},
        "1 max_rounds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PHASED)
def test_episodes_with_phases(store, name):
    """The first of two phases is done in iteration 2, which comes before a limit."""
    guards, expected = PHASED[name]
    said = '{"done": false, "phase_done": true, "reason": "x", "evidence": ["a"]}'
    steps = [step(score=0.1), step(score=0.2, judge=said), step(score=0.3)]
    phases = [{"id": "draft", "checks": []}, {"id": "end", "checks": []}]
    observed = {"max_rounds": g("max_rounds"), "quality": g("quality")}
    on = Mechanisms(judge=Judge(), gates=True)
    _, corpus = corpus_of(store, observed, steps, mechanisms=on, phases=phases)
    wanted = Preset(guards=guards)
    assert [expected] == ends(corpus, wanted)
    # Where nobody knows when phases are done, such episodes are left open altogether.
    assert ends(replace(corpus, advances=None), wanted) == ["?"]


def test_what_intervenes_is_left_open_also_without_asking(store):
    guard = g("max_rounds")
    _, corpus = corpus_of(store, {"max_rounds": guard}, scored(0.1, 0.2))
    actions = [("warn", "stop"), {"1": "stop"}, "nudge", "switch_strategy"]
    presets = [Preset(guards={"max_rounds": replace(guard, on_fire=a)}) for a in actions]
    assert ends(corpus, *presets) == ["?"] * 4


BASE = Preset(
    guards={
        "spin": g("spin"),
        "both": AllOf(guards=(g("quality", threshold=0.8), g("max_rounds", threshold=2))),
        "repetition": g("repetition"),
    }
)
WHY = {
    "the same": ({}, {}, None),
    "another threshold": ({"spin": g("spin", threshold=9, on_fire="pause")}, {}, None),
    "a ladder": ({"spin": g("spin", on_fire=("warn", "stop"))}, {},
                 "guard spin intervenes (on_fire)"),
    "no number": ({"spin": g("spin", threshold=float("nan"))}, {},
                  "guard spin: its threshold is no number"),
    "another identity": ({"spin": g("spin", identity="action")}, {},
                         "guard spin has other settings than observed"),
    "another part": (
        {"both": AllOf(guards=(g("quality", threshold=0.7), g("max_rounds", threshold=2)))}, {},
        "guard both has other settings than observed",
    ),
    "a part's action does nothing": (
        {"both": AllOf(guards=(g("quality", threshold=0.8, on_fire="observe"),
                               g("max_rounds", threshold=2)))}, {}, None,
    ),
    "a new guard": ({"cycle": g("cycle")}, {}, "guard cycle was not observed"),
    "a mechanism": ({}, {"mechanisms": Mechanisms(triage=True)},
                    "its mechanisms differ from those observed"),
    "waiting": ({}, {"wait_ms": 5}, "its settings differ from those observed"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHY)
def test_why_a_preset_cannot_be_swept(name):
    guards, more, expected = WHY[name]
    kept = {"spin": BASE.guards["spin"], "both": BASE.guards["both"]}
    assert expected == why_replayed(Preset(guards=kept | guards, **more), BASE)


def test_issues_read_the_quality_threshold():
    on = Mechanisms(structured_issues=True)
    base = Preset(guards={"quality": g("quality", threshold=0.8)}, mechanisms=on)
    other = replace(base, guards={"quality": g("quality", threshold=0.7)})
    assert why_replayed(base, base) is None
    assert why_replayed(other, base) == "structured issues read the quality threshold"


def test_a_preset_that_was_changed_within_a_run_is_refused(tmp_path):
    store = Store(tmp_path / "changed.duckdb")
    store.create()
    base = Preset(name="base", guards={"max_rounds": g("max_rounds")}, observe=True)
    other = replace(base, guards={"max_rounds": g("max_rounds", threshold=9)})
    observe(store, "run", [scenario(scored(0.1), id="a/a")], base)
    store.execute("UPDATE runs SET run_id = 'other'")
    store.execute("UPDATE episodes SET run_id = 'other'")
    observe(store, "run", [scenario(scored(0.1), id="a/b")], other)
    store.execute("UPDATE episodes SET run_id = 'run'")
    assert "changed while the run was made" in refusal(read, store, "run")
