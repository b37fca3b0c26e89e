"""A guard as the steps it takes: what it does, at which threshold, at which firing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.guards import ENDING, Guard
from harness.guards.all_of import AllOf
from harness.guards.any_of import AnyOf

#: Actions that leave a mark only.
QUIET = frozenset({"observe"})


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a guard.

    Attributes:
        action: What is done.
        guard: The guard with the threshold at which the step is due.
        firing: The firing that takes it; 1 unless the ladder is a list.
        label: How it is written in the preset; empty where there is only one.
    """

    action: str
    guard: Guard
    firing: int = 1
    label: str = ""

    @property
    def ends(self) -> bool:
        """Whether it ends the loop, for good or until somebody answers."""
        return self.action in ENDING

    def earliest(self) -> float:
        """The first iteration in which it could be taken; a guard fires once in each."""
        return self.guard.earliest() + self.firing - 1

    def latest(self) -> float:
        """The iteration by which it has been taken in every loop."""
        return self.guard.latest() + self.firing - 1


def steps(guard: Guard) -> list[Step]:
    """All steps in the order in which they come due."""
    action = guard.action
    if isinstance(action, str):
        return [Step(action, guard)]
    if not isinstance(action, Mapping):
        return [Step(a, guard, n, f"step {n} ({a})") for n, a in enumerate(action, 1)]
    return [
        Step(step, guard if guard.comparison == "<" else _at(guard, level), 1, f"{step} at {text}")
        for level, text, step in levels(guard)
    ]


def levels(guard: Guard) -> list[tuple[float, str, str]]:
    """A ladder by level: the level as a number and as written, and its action."""
    action = guard.action
    if not isinstance(action, Mapping):
        return []
    return sorted((float(text), text, step) for text, step in action.items())


def _at(guard: Guard, level: float) -> Guard:
    return replace(guard, threshold=max(guard.threshold, level))


def acting(guard: Guard) -> list[Step]:
    """The steps that do something."""
    return [step for step in steps(guard) if step.action not in QUIET]


def final(guard: Guard) -> Step | None:
    """The step that ends the loop for good, if nothing that a person can answer comes before it."""
    ladder, by_level = steps(guard), levels(guard)
    if by_level and guard.comparison == "<":
        return None  # a lower signal is the worse one, and takes the lower level
    for place, step in enumerate(ladder):
        # A signal that leaps takes the highest level that is due.
        later = ladder[place:] if by_level else [step]
        if all(one.action == "stop" for one in later):
            return step
        if step.ends:
            return None
    return None


def covers(one: Guard, other: Guard) -> bool:
    """Whether ``one`` has fired by the time ``other`` fires, in any loop."""
    if isinstance(other, AllOf | AnyOf):
        if not 0 < other.threshold <= 1:
            return False
        some = all if isinstance(other, AnyOf) else any
        return some(covers(one, part) for part in other.guards)
    if isinstance(one, AnyOf):
        return one.threshold <= 1 and any(covers(part, other) for part in one.guards)
    return not isinstance(one, AllOf) and one.covers(other)
