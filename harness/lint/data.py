"""Rules that rest on data: what guards measure in the first iteration of scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from harness.guards import Guard
from harness.lint.finding import Finding
from harness.lint.measured import is_budget
from harness.lint.steps import Step
from harness.lint.subject import Subject

#: So many scenarios at least have to agree before a guard that is no budget is called too eager.
ENOUGH = 3


def budget_below_one_call(subject: Subject) -> Iterator[Finding]:
    """A budget that the first iteration of every scenario reaches, so that no second one starts.

    Rests on the scenarios (the bundled ones, or ``--scenarios``) that record what the budget
    counts.
    """
    for name, guard, step, measured in _eager(subject):
        if is_budget(guard):
            yield subject.guard(
                "budget-below-one-call", "warning", name,
                f"{name} {guard.shown(step.guard.threshold)} is reached in the first iteration of "
                f"all {measured} scenarios that measure it",
            )  # fmt: skip


def fires_at_once(subject: Subject) -> Iterator[Finding]:
    """A guard, not a budget, that fires in the first iteration of every scenario that measures it.

    Only with ``--scenarios``, and three of them at least: others' scores say nothing about yours.
    """
    for name, guard, step, measured in _eager(subject):
        if not is_budget(guard) and measured >= ENOUGH:
            yield subject.guard(
                "fires-at-once", "warning", name,
                f"{name} {guard.comparison} {guard.shown(step.guard.threshold)} fires in the first "
                f"iteration of all {measured} scenarios that measure it",
            )  # fmt: skip


def _eager(subject: Subject) -> Iterator[tuple[str, Guard, Step, int]]:
    """Guards whose first step is due in every scenario, with the number of scenarios."""
    if subject.preset.observe:
        return
    for name, guard, does in subject.steps():
        step = does[0]
        low = step.guard.bounds()[0]
        # What always fires is no matter of data; a sum of nothing has not been counted.
        known = [
            one
            for one in subject.measured
            if name in one.signals and (not is_budget(guard) or one.signals[name] > 0)
        ]
        structural = isfinite(guard.latest()) or hasattr(guard, "guards") or (
            not is_budget(guard) and step.guard.threshold <= low)  # fmt: skip
        if known and not structural and all(one.fires(name, step.guard) for one in known):
            yield name, guard, step, len(known)
