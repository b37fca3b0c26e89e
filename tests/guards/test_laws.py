"""Laws that every guard of the catalogue obeys, without being asked."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.decide import rank
from harness.guards import ACTIONS, catalogue, fires
from harness.preset import guard_data, load_preset
from tests.examples import Case, empty_history, iterations, preset, run, signals, step
from tests.traces import THRESHOLDS, any_guard, guards, scenario_fields, traces

KINDS = list(catalogue())
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
#: Few examples a guard, because there are many guards; the alphabets are tiny.
few = settings(max_examples=20)
many = settings(max_examples=150)
#: Guards that can measure a step of which nothing is known: they count, or read the bare reply.
ALWAYS_KNOWN = {"max_iterations", "max_rounds", "text_loop", "tool_budget"}


def told(measured):
    """Signals that compare: NaN equals nothing, its name does."""
    return ["unknown" if signal != signal else signal for signal in measured]


def fresh_signal(guard, prefix, head):
    """The signal of a history that has seen only ``prefix`` and is asked once."""
    history = empty_history(**head)
    for iteration in prefix:
        history.append(iteration)
    return guard.signal(history)


@EVERY_KIND
@few
@given(data=st.data(), steps=traces(), head=scenario_fields())
def test_nothing_looks_ahead(kind, data, steps, head):
    """The prefix law; it also compares what a history keeps up to date with a late question."""
    guard = data.draw(guards(kind))
    made = iterations(steps, **head)
    expected = [fresh_signal(guard, made[:n], head) for n in range(1, len(made) + 1)]
    assert told(expected) == told(signals(guard, steps, **head))


@EVERY_KIND
@few
@given(data=st.data(), steps=traces(), head=scenario_fields())
def test_a_question_changes_nothing(kind, data, steps, head):
    """Purity: asked twice, after any other guard, the answer and the guard are the same."""
    guard, other = data.draw(guards(kind)), data.draw(any_guard())
    before = (hash(guard), repr(guard))
    history = empty_history(**head)
    for iteration in iterations(steps, **head):
        history.append(iteration)
        first = guard.signal(history), guard.known(history)
        other.signal(history)
        second = guard.signal(history), guard.known(history)
        assert told(first) == told(second)
    assert before == (hash(guard), repr(guard))


@EVERY_KIND
@few
@given(
    data=st.data(),
    steps=traces(),
    head=scenario_fields(),
    bounds=st.tuples(THRESHOLDS, THRESHOLDS),
)
def test_a_stricter_threshold_never_fires_later(kind, data, steps, head, bounds):
    guard = data.draw(guards(kind))
    compares = guard.compares(head["direction"])
    strict, loose = sorted(bounds, reverse=compares != ">=")

    def first(threshold):
        measured = signals(replace(guard, threshold=threshold), steps, **head)
        hits = (n for n, s in enumerate(measured) if fires(s, compares, threshold))
        return next(hits, math.inf)

    assert first(strict) <= first(loose)


@EVERY_KIND
@few
@given(data=st.data(), steps=traces(), head=scenario_fields())
def test_the_threshold_does_not_move_the_signal(kind, data, steps, head):
    """Otherwise no threshold could be judged from stored signals."""
    guard = data.draw(guards(kind))
    moved = replace(guard, threshold=data.draw(THRESHOLDS))
    assert told(signals(guard, steps, **head)) == told(signals(moved, steps, **head))


@EVERY_KIND
@few
@given(data=st.data())
def test_missing_data_is_unknown_and_never_zero(kind, data):
    parts = {"guards": (catalogue()["quality"](),)} if kind in ("any_of", "all_of") else {}
    guard = replace(data.draw(guards(kind)), **parts)
    history = empty_history()
    history.append(iterations([step()])[0])
    signal = guard.signal(history)
    assert (kind in ALWAYS_KNOWN) == (signal == signal and guard.known(history))


@EVERY_KIND
@few
@given(data=st.data(), steps=traces(max_size=14), head=scenario_fields())
def test_it_keeps_what_it_declares(kind, data, steps, head):
    """No signal leaves its bounds; nothing fires before ``earliest`` or sleeps from ``latest``."""
    guard = data.draw(guards(kind))
    low, high = guard.bounds()
    compares = guard.compares(head["direction"])
    for number, signal in enumerate(signals(guard, steps, **head), 1):
        fired = fires(signal, compares, guard.threshold)
        assert signal != signal or low <= signal <= high
        assert not fired or (guard.can_fire() and number >= guard.earliest())
        assert fired or number < guard.latest()


@EVERY_KIND
@few
@given(data=st.data(), steps=traces(), head=scenario_fields())
def test_a_setting_that_is_not_read_does_nothing(kind, data, steps, head):
    guard, other = data.draw(guards(kind)), data.draw(guards(kind))
    changed = replace(guard, **{name: getattr(other, name) for name in guard.unread()})
    assert told(signals(guard, steps, **head)) == told(signals(changed, steps, **head))


@pytest.mark.parametrize("kind", [kind for kind, cls in catalogue().items() if cls.needs])
@few
@given(steps=traces(judged=False), head=scenario_fields())
def test_without_the_mechanism_that_it_needs_nothing_is_measured(kind, steps, head):
    guard = catalogue()[kind]()
    (series,) = run(steps, preset(it=guard), observe=True, **head).series
    assert set(told(series.signals)) == {"unknown"}


ON_FIRE = st.one_of(
    st.sampled_from(list(ACTIONS)),
    st.lists(st.sampled_from(list(ACTIONS)), min_size=1, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["1", "2", "4.5"]), st.sampled_from(list(ACTIONS)), min_size=1),
)


def toml(value) -> str:
    """A value as TOML, written by hand: an independent look at the format."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {toml(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


@EVERY_KIND
@few
@given(data=st.data(), on_fire=ON_FIRE, threshold=st.one_of(THRESHOLDS, st.just(math.inf)))
def test_a_guard_survives_its_preset_file(kind, data, on_fire, threshold, tmp_path_factory):
    guard = replace(data.draw(guards(kind)), threshold=threshold, on_fire=on_fire)
    written = guard_data(guard)
    parts = {f"part_{n}": part for n, part in enumerate(written.get("guards", []))}
    if parts:
        written = written | {"guards": list(parts)}
    lines = [f"{name} = {toml(table)}" for name, table in ({"it": written} | parts).items()]
    path = tmp_path_factory.mktemp("preset") / "mine.toml"
    path.write_text("\n".join(['schema = "harness/preset@1"', "[guards]", *lines]), "utf-8")
    loaded = load_preset(str(path)).guards["it"]
    assert guard_data(guard) == guard_data(loaded)
    assert hash(loaded) == hash(load_preset(str(path)).guards["it"])


def enforced(series, at):
    """The guard that ends the loop after iteration ``at + 1``, by the order of the chain."""
    ending = [
        (rank(one.kind), place, one.guard)
        for place, one in enumerate(series)
        if one.fired[at] and one.on_fire in ("stop", "pause")
    ]
    return min(ending)[2] if ending else None


@many
@given(data=st.data(), steps=traces(users=False, judged=False), head=scenario_fields())
def test_stored_signals_tell_where_a_passive_preset_ends(data, steps, head):
    """The threshold law: observe once, then judge any thresholds without running again."""
    drawn = data.draw(st.lists(st.sampled_from(KINDS).flatmap(guards), min_size=1, max_size=6))
    named = {f"guard_{n}": guard for n, guard in enumerate(drawn)}
    probe = run(steps, preset(observe=True, **named), **head)
    for one in probe.series:
        seen = sorted({signal for signal in one.signals if signal == signal})
        threshold = st.one_of(THRESHOLDS, st.sampled_from(seen)) if seen else THRESHOLDS
        action = st.sampled_from(["stop", "stop", "pause", "observe"])
        named[one.guard] = replace(
            named[one.guard], threshold=data.draw(threshold), on_fire=data.draw(action)
        )
    acted = run(steps, preset(**named), **head)
    observed = run(steps, preset(**named), observe=True, **head)

    found = ((at, enforced(observed.series, at)) for at in range(len(steps)))
    at, winner = next(((at, name) for at, name in found if name), (len(steps) - 1, None))
    reason = named[winner].exit_reason if winner else observed.exit_reason

    assert (at + 1, reason, winner) == (acted.exit_iteration, acted.exit_reason, acted.exit_guard)
    assert observed.best[at] == acted.best_score
    assert observed.elapsed[: at + 1] == acted.elapsed
    for expected, measured in zip(observed.series, acted.series, strict=True):
        assert told(expected.signals[: at + 1]) == told(measured.signals)
        assert expected.fired[: at + 1] == measured.fired
        assert expected.unknown[: at + 1] == measured.unknown


OPENINGS = {
    "stop": "Stops when ",
    "pause": "Pauses when ",
    "switch_strategy": "Switches ",
    "observe": "Records ",
}


@EVERY_KIND
def test_the_docstring_is_the_manual_page(kind):
    cls = catalogue()[kind]
    action = cls.default_on_fire
    if not isinstance(action, str):
        action = next(iter(action.values() if isinstance(action, dict) else action))
    summary = cls.__doc__.split("\n\n")[0]
    assert summary.startswith(OPENINGS[action])
    assert summary.endswith(".")
    assert cls.measures
    assert cls.reason is not None


@EVERY_KIND
def test_it_has_examples_that_fire_and_examples_that_hold(kind):
    module = import_module(f"tests.guards.test_{kind}")
    assert module.FIRES
    assert module.HOLDS
    assert not set(module.FIRES) & set(module.HOLDS)
    examples: list[Case] = [*module.FIRES.values(), *module.HOLDS.values()]
    assert {kind} == {case.guard.kind() for case in examples}
    assert all(case.at is not None for case in module.FIRES.values())
    assert all(case.at is None for case in module.HOLDS.values())
