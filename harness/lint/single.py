"""Rules on one guard by itself: can it fire, does it ever stay silent, is each step taken."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isinf

from harness.guards import Guard
from harness.lint.finding import Finding
from harness.lint.steps import levels, steps
from harness.lint.subject import Subject


def never_fires(subject: Subject) -> Iterator[Finding]:
    """A threshold that the signal cannot reach: a similarity above 1, ``<`` the lowest value.

    An infinite threshold outside observe mode is a note: the guard records only.
    """
    for name, guard in subject.preset.guards.items():
        if isinf(guard.threshold) and guard.comparison != "<":
            if not subject.preset.observe:
                yield subject.guard(
                    "never-fires", "note", name,
                    f"{name} only records: its threshold is infinite",
                )  # fmt: skip
        elif not guard.can_fire():
            yield subject.guard("never-fires", "error", name, _unreachable(name, guard))


def _unreachable(name: str, guard: Guard) -> str:
    low, high = guard.bounds()
    if hasattr(guard, "guards"):
        return f"{name} can never fire, because what it names cannot"
    end = f"is never below {guard.shown(low)}" if guard.comparison == "<" else (
        f"never exceeds {guard.shown(high)}")  # fmt: skip
    return (
        f"{name} fires at {guard.comparison} {guard.shown(guard.threshold)}, but with these "
        f"settings its signal {end} ({guard.measures})"
    )


def always_fires(subject: Subject) -> Iterator[Finding]:
    """A threshold at the bottom of the signal's range: it fires as soon as anything is measured.

    Zero is not off; ``NAME = false`` is. Limits are left out: ``max_rounds = 0`` has a meaning.
    """
    if subject.preset.observe:
        return
    for name, guard, does in subject.steps():
        first = does[0].guard
        limit = first.exit_reason.group == "limit"
        if limit or first.comparison == "<" or hasattr(first, "guards"):
            continue
        low = first.bounds()[0]
        if low > -inf and first.threshold <= low:
            yield subject.guard(
                "always-fires", "error", name,
                f"{name} fires at {guard.comparison} {guard.shown(first.threshold)}, and its "
                f"signal is always at least {guard.shown(low)}: it fires as soon as anything is "
                f"measured (to switch it off: {name} = false)",
            )  # fmt: skip


def warn_after_stop(subject: Subject) -> Iterator[Finding]:
    """A step of a ladder behind one that has stopped the loop for good."""
    if subject.preset.observe:
        return
    for name, guard in subject.preset.guards.items():
        ladder = steps(guard)
        stop = next((n for n, step in enumerate(ladder) if step.action == "stop"), len(ladder))
        for step in ladder[stop + 1 :]:
            if step.action == "stop" and not levels(guard):
                continue  # a list that ends in several stops says the same thing twice
            yield subject.guard(
                "warn-after-stop", "error", name,
                f"{name}: {step.label} is never taken, because {ladder[stop].label} has ended "
                "the loop by then",
                "on_fire",
            )  # fmt: skip


def step_never_taken(subject: Subject) -> Iterator[Finding]:
    """A step of a ladder by level that is never due.

    The threshold comes first: a level at or below it is skipped where a higher one is due at
    once. A level beyond what the signal reaches is never due.
    """
    for name, guard in subject.preset.guards.items():
        ladder = levels(guard)
        high = guard.bounds()[1]
        for place, (level, text, step) in enumerate(ladder):
            following = ladder[place + 1][0] if place + 1 < len(ladder) else inf
            why = ""
            if guard.comparison == "<":
                if level >= guard.threshold:
                    why = f"{name} fires only below {guard.shown(guard.threshold)}"
            elif level > high:
                why = f"the signal never exceeds {guard.shown(high)}"
            elif following <= max(level, guard.threshold):
                why = (
                    f"{name} fires from {guard.shown(guard.threshold)} on, where the step at "
                    f"{ladder[place + 1][1]} is due"
                )
            if why:
                yield subject.guard(
                    "step-never-taken", "warning", name,
                    f"{name}: {step} at {text} is never taken, because {why}",
                    "on_fire",
                )  # fmt: skip
