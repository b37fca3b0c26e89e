"""What lint calls dominated never decides: over random traces, for every pair it can be said of."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.guards import catalogue, fires
from harness.lint import lint_preset
from harness.lint.steps import covers
from tests.examples import call, preset, run, signals, step
from tests.traces import guards, scenario_fields, traces

PLAIN = [kind for kind, cls in catalogue().items() if "guards" not in cls.__dataclass_fields__]
SMALL = st.sampled_from([0, 0.02, 0.1, 0.5, 1, 2, 3, 4])
pairs = settings(max_examples=20, suppress_health_check=[HealthCheck.filter_too_much])
#: Few steps that differ in little, so that runs, swings and cycles under one identity come often.
ALIKE = [
    step(call("read", {"path": "a"}, "text"), score=0.5, output="Draft one."),
    step(call("read", {"path": "b"}, "text"), score=0.6, output="Draft two."),
    step(call("read", {"path": "a"}, "other text"), score=0.7),
    step(call("run", {"cmd": "make"}, "pid 7: failed", exit_code=2), text="Hm."),
]
loops = st.one_of(traces(max_size=12), st.lists(st.sampled_from(ALIKE), min_size=2, max_size=12))


def first(guard, steps, head):
    """The first iteration in which a guard fires; infinite: in none."""
    compares = guard.compares(head["direction"])
    hits = (
        number
        for number, signal in enumerate(signals(guard, steps, **head), 1)
        if fires(signal, compares, guard.threshold)
    )
    return next(hits, math.inf)


def check(data, one, other, steps, head):
    """Draw a threshold that ``other`` reaches in this loop, so that something is at stake."""
    seen = sorted({signal for signal in signals(other, steps, **head) if signal == signal})
    above = [signal + 0.01 if other.comparison == "<" else signal for signal in seen]
    at = data.draw(st.one_of(SMALL, st.sampled_from(above)) if above else SMALL)
    one, other = replace(one, threshold=at), replace(other, threshold=at)
    assume(covers(one, other))
    assert first(one, steps, head) <= first(other, steps, head)


@pytest.mark.parametrize("kind", PLAIN)
@pairs
@given(data=st.data(), steps=loops, head=scenario_fields())
def test_what_is_covered_never_fires_first(kind, data, steps, head):
    one, drawn = data.draw(guards(kind)), data.draw(guards(kind))
    changed = data.draw(st.sets(st.sampled_from(list(one.settings()) or [""]), max_size=2))
    try:
        other = replace(one, **{name: getattr(drawn, name) for name in changed - {""}})
    except ValueError:
        assume(False)
    check(data, one, other, steps, head)


@pytest.mark.parametrize("kind", PLAIN)
@settings(max_examples=10, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), steps=loops, head=scenario_fields(), strict=SMALL, loose=SMALL)
def test_a_wider_threshold_never_fires_later(kind, data, steps, head, strict, loose):
    guard = data.draw(guards(kind))
    one, other = replace(guard, threshold=strict), replace(guard, threshold=loose)
    assume(covers(one, other))
    assert first(one, steps, head) <= first(other, steps, head)


@pairs
@given(data=st.data(), steps=loops, head=scenario_fields())
def test_patience_never_fires_before_stagnation_against_the_best(data, steps, head):
    one = data.draw(guards("stagnation", st.sampled_from([0.001, 0.02, 0.5])))
    one = replace(one, against="best", counts="gain")
    other = data.draw(guards("patience", st.sampled_from([1, 2, 3])))
    assume(covers(one, other))
    assert first(one, steps, head) <= first(other, steps, head)


@pytest.mark.parametrize("kind", ["all_of", "any_of"])
@pairs
@given(data=st.data(), steps=loops, head=scenario_fields())
def test_a_combination_is_covered_by_its_parts(kind, data, steps, head):
    other = replace(data.draw(guards(kind)), threshold=1)
    one = data.draw(st.sampled_from(other.guards))
    assume(covers(one, other))
    assert first(one, steps, head) <= first(other, steps, head)


ACTIONS = st.sampled_from(
    ["stop", "stop", "pause", "warn", ("warn", "stop"), {"2": "warn", "3": "stop"}]
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), steps=traces(users=False, judged=False), head=scenario_fields())
def test_a_guard_that_lint_calls_dominated_or_cut_off_never_ends_a_loop(data, steps, head):
    kinds = st.sampled_from(["max_rounds", "max_iterations", *PLAIN])
    drawn = data.draw(st.lists(kinds.flatmap(lambda k: guards(k, SMALL)), min_size=1, max_size=3))
    drawn.append(replace(drawn[0], threshold=data.draw(SMALL)))
    named = {
        f"guard_{n}": replace(guard, on_fire=data.draw(ACTIONS)) for n, guard in enumerate(drawn)
    }
    under = preset(**named)
    dead = {
        found.key.split(".")[1]
        for found in lint_preset(under)
        if found.code in ("dominated", "cut-off", "never-fires")
        and not found.key.endswith(".on_fire")
    }
    assume(dead)
    assert run(steps, under, **head).exit_guard not in dead
