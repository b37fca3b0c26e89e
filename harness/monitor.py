"""The guards of one preset over one episode: measures, records, and says what fired.

The same object watches a replay and a live loop. It keeps every signal at every iteration and
the little state that ``on_fire`` needs (which step of a ladder comes next); the guards keep none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness.episode import Series
from harness.guards import Guard, fires
from harness.history import History
from harness.preset import guard_data
from harness.trace import Direction
from harness.verdicts import Comparison, Condition


@dataclass(frozen=True, slots=True)
class _Facts:
    """What does not change about one guard of a preset, worked out once for all episodes."""

    guard: Guard
    kind: str
    settings: str
    on_fire: str
    partial: bool
    steps: tuple[str, ...]
    levels: tuple[tuple[float, str], ...]
    conditions: Mapping[str, Condition]
    unknown: Condition


_KNOWN_FACTS: dict[tuple[int, str], _Facts] = {}


def _facts(name: str, guard: Guard) -> _Facts:
    key = (id(guard), name)
    found = _KNOWN_FACTS.get(key)
    if found is not None and found.guard is guard:
        return found
    if len(_KNOWN_FACTS) > 4096:
        _KNOWN_FACTS.clear()
    data = guard_data(guard)
    data.pop("threshold")
    kind, on_fire = data.pop("kind"), data.pop("on_fire")
    action = guard.action
    steps = (
        (action,) if isinstance(action, str)
        else tuple(action.values()) if isinstance(action, Mapping) else action
    )  # fmt: skip
    _KNOWN_FACTS[key] = facts = _Facts(
        guard=guard,
        kind=kind,
        settings=json.dumps(data, sort_keys=True),
        on_fire=on_fire if isinstance(on_fire, str) else json.dumps(on_fire),
        partial=type(guard).known is not Guard.known,
        steps=steps,
        levels=tuple(sorted((float(level), step) for level, step in action.items()))
        if isinstance(action, Mapping)
        else (),
        conditions={
            step: Condition(kind, name, guard.exit_reason, step) for step in (*steps, "observe")
        },
        unknown=Condition(kind, name, guard.exit_reason, "observe", "unknown"),
    )
    return facts


class _Watch:
    """One guard with its readings and its place on the ladder."""

    __slots__ = (
        "comparison", "done", "facts", "fired", "firings", "guard", "name", "partial", "resumed",
        "signals", "threshold", "uncertain", "unknown",
    )  # fmt: skip

    def __init__(self, name: str, guard: Guard, direction: Direction) -> None:
        self.name = name
        self.guard = guard
        self.facts = facts = _facts(name, guard)
        self.threshold = guard.threshold
        self.comparison: Comparison = guard.compares(direction)
        self.partial = facts.partial
        self.unknown = facts.unknown
        self.signals: list[float] = []
        self.fired: list[int] = []
        self.uncertain: list[int] = []
        self.firings = 0
        self.resumed: float | None = None
        self.done: set[float] = set()

    def hit(self, iteration: int, signal: float) -> Condition:
        """Note a firing; the condition says what is done about it now."""
        self.fired.append(iteration)
        return self.facts.conditions[self._next_action(signal)]

    def _next_action(self, signal: float) -> str:
        """What a firing does now; every step of a ladder by level is taken once."""
        if self.resumed is not None:
            if self._same_cause(signal, self.resumed):
                return "observe"
            self.resumed = None
        levels = self.facts.levels
        if levels:
            due = [(at, step) for at, step in levels if signal >= at and at not in self.done]
            if not due:
                return "observe"
            self.done.update(at for at, _ in due)
            return due[-1][1]
        self.firings += 1
        steps = self.facts.steps
        return steps[min(self.firings, len(steps)) - 1]

    def _same_cause(self, signal: float, resumed: float) -> bool:
        """Whether this firing only goes on with the one that a person has answered.

        It does until the guard has been silent in between or, where the signal is a count that
        never falls silent (iterations, tokens), has grown by another threshold.
        """
        unbroken = len(self.fired) > 1 and self.fired[-2] == self.fired[-1] - 1
        return unbroken and (self.comparison != ">=" or signal < resumed + self.threshold)


class Monitor:
    """Measures a set of guards after each iteration.

    Args:
        guards: By name, as a preset holds them.
        direction: Of the scores, which decides how ``quality`` compares.
    """

    def __init__(self, guards: Mapping[str, Guard], direction: Direction = "higher") -> None:
        self._watches = [_Watch(name, guard, direction) for name, guard in guards.items()]
        self._by_name = {watch.name: watch for watch in self._watches}
        # What the inner loop needs of each guard, looked up once.
        self._plan = [
            (w.guard.signal, w.signals.append, w.comparison == ">=", w.threshold, w)
            for w in self._watches
        ]

    def measure(self, history: History) -> list[Condition]:
        """Measure the newest iteration; what fired or could not be judged, in preset order."""
        conditions: list[Condition] = []
        add = conditions.append
        for signal, record, rising, threshold, watch in self._plan:
            value = signal(history)
            record(value)
            # The usual case first: measured, and not there yet.
            if rising and value < threshold:
                if watch.partial and not watch.guard.known(history):
                    watch.uncertain.append(history.length)
                    add(watch.unknown)
            elif value != value:
                add(watch.unknown)
            elif rising or fires(value, watch.comparison, threshold):
                add(watch.hit(history.length, value))
        return conditions

    def resume(self, name: str) -> None:
        """A pause by this guard was answered: counts go on, its cause starts anew."""
        watch = self._by_name.get(name)
        if watch is not None:
            watch.resumed = watch.signals[-1]

    def series(self) -> tuple[Series, ...]:
        """All readings so far, one series a guard."""
        return tuple(self._series(watch) for watch in self._watches)

    def _series(self, watch: _Watch) -> Series:
        facts = watch.facts
        return Series(
            watch.name,
            facts.kind,
            facts.settings,
            watch.threshold,
            watch.comparison,
            facts.on_fire,
            tuple(watch.signals),
            tuple(watch.fired),
            tuple(watch.uncertain),
        )
