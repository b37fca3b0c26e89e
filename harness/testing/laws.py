"""The laws that hold for every guard: no looking ahead, no state, one threshold, plain data."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import PresetError
from harness.guards import Guard, built_in, fires, lent
from harness.preset import guard_data
from harness.presetfile import guard_from
from harness.scenario import Scenario
from harness.testing import _purity
from harness.testing._subject import Reading, Trace, ask, preset_of, scenarios_of, traced

#: Thresholds that are tried beside the guard's own and its readings.
_THRESHOLDS = (0, 0.5, 1, 3, 1000)


def check_laws(guard: Guard, scenarios: Iterable[Scenario] | None = None) -> None:
    """Check the laws that every guard obeys.

    - *prefix law*: the signals along a recording are the signal of each of its beginnings asked
      once, read from the file anew. Nothing looks ahead, nothing depends on when it was asked or
      on where objects lie in memory.
    - *purity*: a second question and a copy of the guard get the same answer; neither guard,
      history nor any class attribute or global of the guard changes; no clock, chance, file or
      process is asked.
    - *threshold*: the threshold does not move the signal, and a stricter one never fires later.
    - *declarations*: signals lie within ``bounds``; nothing fires before ``earliest``, nor is it
      silent at ``latest``.
    - *plain data*: the guard survives a preset file.

    Args:
        guard: The guard, with the settings to check.
        scenarios: What it is asked about; left out: the hand-written scenarios that come with
            the harness, and ``made_scenarios()``.

    Raises:
        AssertionError: A law is broken; names guard, scenario, law, iteration, and both answers.
        HarnessError: No scenario.
    """
    name = guard.kind()
    _plain_data(name, guard)
    found = scenarios_of(scenarios)
    preset = preset_of(guard)
    traces = [traced(scenario, preset) for scenario in found]
    before = (hash(guard), repr(guard), _purity.state(guard))
    for trace in traces:
        where = f"{name} on scenario {trace.scenario.id}: "
        again = traced(trace.scenario, preset)
        untouched = _panel(again)
        _prefixes(where, guard, trace, again)
        if _questions(where, guard, trace) != untouched:
            raise AssertionError(
                f"{where}purity: after its questions the harness's guards measure something else"
            )
        _thresholds(where, guard, trace)
    _unchanged(name, guard, before)
    used = _purity.doors_used(guard, lambda: [trace.readings(guard) for trace in traces])
    if used:
        raise AssertionError(
            f"{name}: purity: the signal asks {', '.join(sorted(used))}; it may read only the "
            "history"
        )


def _prefixes(where: str, guard: Guard, trace: Trace, again: Trace) -> None:
    """Each beginning of the recording, the longest first, against the signals along it."""
    along = trace.readings(guard)
    for length in range(len(again.iterations), 0, -1):
        history = again.start()
        for iteration in again.iterations[:length]:
            history.append(iteration)
        once, expected = ask(guard, history), along[length - 1]
        if once.told != expected.told:
            raise AssertionError(
                f"{where}prefix law: the signal in iteration {length} is {expected} along the "
                f"recording, and {once} where it is asked once"
            )


def _questions(where: str, guard: Guard, trace: Trace) -> list[object]:
    """Asking again, asking a copy; then what the harness's guards say about the same history."""
    history, twin = trace.start(), replace(guard)
    for number, iteration in enumerate(trace.iterations, 1):
        history.append(iteration)
        before = _purity.facts(history)
        first = ask(guard, history)
        for words, other in (("asked again", ask(guard, history)), ("a copy", ask(twin, history))):
            if other.told != first.told:
                raise AssertionError(
                    f"{where}purity: the signal in iteration {number} is {first}, {words} {other}"
                )
        changed = [key for key, value in _purity.facts(history).items() if value != before[key]]
        if changed:
            raise AssertionError(
                f"{where}purity: the question in iteration {number} changed history.{changed[0]}"
            )
    return [ask(observer, history).told for observer in _observers()]


def _panel(trace: Trace) -> list[object]:
    """What the harness's own guards say at the end of iterations nobody has asked about."""
    history = trace.start()
    for iteration in trace.iterations:
        history.append(iteration)
    return [ask(observer, history).told for observer in _observers()]


@cache
def _observers() -> tuple[Guard, ...]:
    plain = (cls for cls in built_in().values() if "guards" not in cls.__dataclass_fields__)
    return tuple(cls(threshold=1) for cls in plain)


def _unchanged(name: str, guard: Guard, before: tuple[int, str, dict[str, str]]) -> None:
    hashed, shown, state = before
    if (hashed, shown) != (hash(guard), repr(guard)):
        raise AssertionError(f"{name}: purity: questions changed {shown} to {guard!r}")
    after = _purity.state(guard)
    changed = [key for key, value in after.items() if key in state and state[key] != value]
    if changed:
        raise AssertionError(
            f"{name}: purity: questions changed {changed[0]} from {state[changed[0]]} to "
            f"{after[changed[0]]}; the next episode would inherit it"
        )


def _thresholds(where: str, guard: Guard, trace: Trace) -> None:
    direction = trace.scenario.direction
    readings = trace.readings(guard)
    seen = sorted({r.signal for r in readings if r.signal == r.signal})
    first: list[tuple[float, float]] = []
    for threshold in sorted({*_THRESHOLDS, guard.threshold, *seen[:1], *seen[-1:]}):
        try:
            moved = replace(guard, threshold=threshold)
        except ValueError:
            # A threshold that the guard refuses cannot be in a preset either.
            continue
        measured = trace.readings(moved)
        for number, (one, other) in enumerate(zip(readings, measured, strict=True), 1):
            if one.told != other.told:
                raise AssertionError(
                    f"{where}threshold: with {threshold:g} for {guard.threshold:g} the signal in "
                    f"iteration {number} is {other} for {one}; stored signals could not be judged"
                )
        fired = _first(moved, measured, direction)
        _declared(where, moved, measured, fired)
        first.append((threshold, fired))
    rising = guard.compares(direction) == ">="
    for (low, earlier), (high, later) in itertools.pairwise(first):
        if (earlier > later) if rising else (earlier < later):
            strict, loose = (low, high) if rising else (high, low)
            raise AssertionError(
                f"{where}threshold: it fires in iteration {max(earlier, later):g} at {strict:g}, "
                f"and already in {min(earlier, later):g} at the looser {loose:g}"
            )


def _declared(where: str, guard: Guard, readings: Sequence[Reading], fired: float) -> None:
    """What the guard says of itself, by which ``harness lint`` judges presets."""
    low, high = guard.bounds()
    for number, reading in enumerate(readings, 1):
        if reading.signal < low or reading.signal > high:
            raise AssertionError(
                f"{where}declarations: the signal in iteration {number} is {reading}, outside "
                f"bounds(), which is {low:g} to {high:g}"
            )
    if fired < guard.earliest():
        raise AssertionError(
            f"{where}declarations: at {guard.threshold:g} it fires in iteration {fired:g}, before "
            f"earliest(), which is {guard.earliest():g}"
        )
    if guard.latest() <= len(readings) and fired > guard.latest():
        raise AssertionError(
            f"{where}declarations: at {guard.threshold:g} it has not fired by iteration "
            f"{guard.latest():g}, which is latest()"
        )


def _first(guard: Guard, readings: Sequence[Reading], direction: Any) -> float:
    compares = guard.compares(direction)
    hits = (n for n, r in enumerate(readings, 1) if fires(r.signal, compares, guard.threshold))
    return next(hits, math.inf)


def _plain_data(name: str, guard: Guard) -> None:
    try:
        hash(guard)
    except TypeError as error:
        raise AssertionError(
            f"{name}: plain data: {error}; take tuples for lists in its settings"
        ) from None
    try:
        with lent(type(guard)):
            written = json.loads(json.dumps(guard_data(guard)))
            found = _read(name, written, guard)
    except (TypeError, PresetError) as error:
        raise AssertionError(f"{name}: plain data: {error}") from None
    if guard_data(found) != guard_data(guard):
        raise AssertionError(
            f"{name}: plain data: {guard!r} comes back from a preset file as {found!r}"
        )


def _read(name: str, data: dict[str, Any], guard: Guard) -> Guard:
    """A guard from its data, as a preset file would hold it: without nulls."""
    raw = {key: value for key, value in data.items() if value is not None}
    parts = getattr(guard, "guards", None)
    if parts is None:
        return guard_from(Path(name), name, raw)
    built = tuple(
        _read(part.kind(), written, part)
        for part, written in zip(parts, raw.pop("guards"), strict=True)
    )
    return guard_from(Path(name), name, raw, built)
