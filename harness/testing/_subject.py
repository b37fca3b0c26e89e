"""What a check looks at: guards by name, scenarios, and iterations to measure."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from harness.errors import HarnessError
from harness.files import bundled_scenarios, find, load
from harness.guards import Guard
from harness.history import History
from harness.loop import run_episode
from harness.mechanisms import Continuity, Judge, Mechanisms
from harness.preset import Preset, load_preset
from harness.scenario import Scenario
from harness.testing.made import made_scenarios
from harness.trace import Direction, Iteration
from harness.turns import prepare

#: What a guard by itself is measured with: a judge's scores and a person's messages count.
_MEASURING = Mechanisms(judge=Judge(), continuity=Continuity())


@dataclass(frozen=True, slots=True)
class Reading:
    """A guard at one iteration: its signal, and whether that is exact."""

    signal: float
    known: bool

    def __str__(self) -> str:
        """As a failure names it."""
        if self.signal != self.signal:
            return "unknown"
        return f"{self.signal:.10g}" if self.known else f"at least {self.signal:.10g}"

    @property
    def told(self) -> tuple[object, bool]:
        """Compares: NaN equals nothing, its name does."""
        return "unknown" if self.signal != self.signal else self.signal, self.known


@dataclass(frozen=True, slots=True)
class Trace:
    """Iterations that guards can be asked about, with what a history starts from."""

    scenario: Scenario
    direction: Direction
    has_tools: bool | None
    iterations: tuple[Iteration, ...]

    def start(self) -> History:
        """A history in which nothing has happened yet."""
        return History(direction=self.direction, has_tools=self.has_tools)

    def readings(self, guard: Guard) -> list[Reading]:
        """What the guard says after each iteration."""
        history = self.start()
        found = []
        for iteration in self.iterations:
            history.append(iteration)
            found.append(ask(guard, history))
        return found


def ask(guard: Guard, history: History) -> Reading:
    """One question to a guard."""
    signal = guard.signal(history)
    return Reading(signal, guard.known(history) and signal == signal)


@cache
def bundled() -> tuple[Scenario, ...]:
    """The scenarios written by hand that come with the harness, generated families left out."""
    files = [path for path in find([bundled_scenarios()]) if path.parent.name != "generated"]
    return tuple(load(files))


@cache
def _default() -> tuple[Scenario, ...]:
    return (*bundled(), *made_scenarios())


def scenarios_of(scenarios: Iterable[Scenario] | None) -> Sequence[Scenario]:
    """The scenarios to check on; left out: the bundled ones and some made ones.

    Raises:
        HarnessError: There is none: a check of nothing must not pass.
    """
    found = _default() if scenarios is None else tuple(scenarios)
    if not found:
        raise HarnessError("check: needs at least one scenario")
    return found


def preset_of(subject: Guard | Preset | str) -> Preset:
    """The preset to check; a guard by itself is one with what measuring it needs.

    Raises:
        PresetError: A name that no preset has.
    """
    if isinstance(subject, Guard):
        kind = subject.kind()
        return Preset(name=f"only-{kind}", guards={kind: subject}, mechanisms=_MEASURING)
    return load_preset(subject) if isinstance(subject, str) else subject


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings in which replays say how they ended."""
    log = logging.getLogger("harness")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def guards_of(subject: Guard | Preset | str) -> Mapping[str, Guard]:
    """The guards to check, by name."""
    return preset_of(subject).guards


def traced(scenario: Scenario, preset: Preset) -> Trace:
    """The iterations that the preset's mechanisms make of a scenario's trunk."""
    tape = prepare(scenario, wait_ms=preset.wait_ms)
    with quiet():
        episode = run_episode(tape, replace(preset, guards={}), observe=True)
    return Trace(scenario, scenario.direction, tape.has_tools, episode.iterations)
