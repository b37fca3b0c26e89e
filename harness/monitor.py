"""The guards of one preset over one episode: measures, records, and says what fired.

The same object watches a replay and a live loop. It keeps every signal at every iteration and
the little state that ``on_fire`` needs (which step of a ladder comes next); the guards keep none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from harness.guards import Guard, fires
from harness.history import History
from harness.preset import guard_data
from harness.trace import Comparison, Condition, Direction, Series


class _Watch:
    """One guard with its readings and its place on the ladder."""

    __slots__ = (
        "action", "comparison", "condition", "done", "firings", "fired", "guard", "levels",
        "name", "partial", "resumed", "signal", "signals", "threshold", "uncertain", "unknown",
    )  # fmt: skip

    def __init__(self, name: str, guard: Guard, direction: Direction) -> None:
        self.name = name
        self.guard = guard
        self.threshold = guard.threshold
        self.comparison: Comparison = guard.compares(direction)
        self.signal: Callable[[History], float] = guard.signal
        self.partial = type(guard).known is not Guard.known
        self.signals: list[float] = []
        self.fired: list[int] = []
        self.uncertain: list[int] = []
        self.firings = 0
        self.resumed: float | None = None
        self.done: set[float] = set()
        action = guard.action
        self.levels: list[tuple[float, str]] = (
            sorted((float(level), step) for level, step in action.items())
            if isinstance(action, Mapping)
            else []
        )
        self.condition = {
            step: Condition(guard.kind(), name, guard.exit_reason, step)
            for step in (*_steps(guard), "observe")
        }
        self.unknown = Condition(guard.kind(), name, guard.exit_reason, "observe", "unknown")

    def next_action(self, signal: float) -> str:
        """What a firing does now; every step of a ladder by level is taken once."""
        if self.resumed:
            if signal - self.resumed < self.threshold and signal >= self.resumed:
                return "observe"
            self.resumed: float | None = None
        if self.levels:
            due = [(at, step) for at, step in self.levels if signal >= at and at not in self.done]
            if not due:
                return "observe"
            self.done.update(at for at, _ in due)
            return due[-1][1]
        self.firings += 1
        steps = _steps(self.guard)
        return steps[min(self.firings, len(steps)) - 1]


    def _same_cause(self, signal: float, resumed: float) -> bool:
        """Whether this firing only goes on with the one that a person has answered.

        A count has to grow by another threshold, a gain has to have recovered in between.
        """
        if self.comparison == ">=":
            return resumed <= signal < resumed + self.threshold
        return len(self.fired) > 1 and self.fired[-2] == self.fired[-1] - 1


def _steps(guard: Guard) -> tuple[str, ...]:
    action = guard.action
    if isinstance(action, str):
        return (action,)
    return tuple(action.values()) if isinstance(action, Mapping) else action


class Monitor:
    """Measures a set of guards after each iteration.

    Args:
        guards: By name, as a preset holds them.
        direction: Of the scores, which decides how ``quality`` compares.
    """

    def __init__(self, guards: Mapping[str, Guard], direction: Direction = "higher") -> None:
        self._watches = [_Watch(name, guard, direction) for name, guard in guards.items()]
        self._by_name = {watch.name: watch for watch in self._watches}
        self._length = 0

    def measure(self, history: History) -> list[Condition]:
        """Measure the newest iteration; what fired or could not be judged, in preset order."""
        self._length = length = history.length
        conditions = []
        for watch in self._watches:
            signal = watch.signal(history)
            watch.signals.append(signal)
            comparison = watch.comparison
            if comparison == ">=":
                hit = signal >= watch.threshold
            else:
                hit = fires(signal, comparison, watch.threshold)
            if hit:
                watch.fired.append(length)
                conditions.append(watch.condition[watch.next_action(signal)])
            elif signal != signal:
                conditions.append(watch.unknown)
            elif watch.partial and not watch.guard.known(history):
                watch.uncertain.append(length)
                conditions.append(watch.unknown)
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
        fired = [False] * self._length
        for iteration in watch.fired:
            fired[iteration - 1] = True
        unknown = [signal != signal for signal in watch.signals]
        for iteration in watch.uncertain:
            unknown[iteration - 1] = True
        kind, settings, on_fire = _described(watch.guard)
        return Series(
            guard=watch.name,
            kind=kind,
            settings=settings,
            threshold=watch.threshold,
            comparison=watch.comparison,
            on_fire=on_fire,
            signals=tuple(watch.signals),
            fired=tuple(fired),
            unknown=tuple(unknown),
        )


#: Descriptions of guards already seen; a run has few presets and many episodes.
_DESCRIPTIONS: dict[int, tuple[Guard, tuple[str, str, str]]] = {}


def _described(guard: Guard) -> tuple[str, str, str]:
    found = _DESCRIPTIONS.get(id(guard))
    if found is not None and found[0] is guard:
        return found[1]
    data = guard_data(guard)
    data.pop("threshold")
    on_fire = data.pop("on_fire")
    words = (
        data.pop("kind"),
        json.dumps(data, sort_keys=True),
        on_fire if isinstance(on_fire, str) else json.dumps(on_fire),
    )
    if len(_DESCRIPTIONS) > 4096:
        _DESCRIPTIONS.clear()
    _DESCRIPTIONS[id(guard)] = (guard, words)
    return words
