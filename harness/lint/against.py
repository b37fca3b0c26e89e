"""Rules on guards beside each other: what one of them leaves to the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from harness.decide import rank
from harness.guards import Guard
from harness.guards.any_of import AnyOf
from harness.lint.finding import Finding, Severity
from harness.lint.steps import Step, acting, covers, final
from harness.lint.subject import Subject


@dataclass(frozen=True, slots=True)
class _Limit:
    """A guard that has ended every loop after so many iterations."""

    name: str
    after: float
    final: bool


def no_hard_limit(subject: Subject) -> Iterator[Finding]:
    """No guard that ends a loop which neither succeeds nor gets stuck: it can run for ever."""
    if subject.preset.observe:
        return
    for guard in subject.preset.guards.values():
        ends = any(step.ends and isfinite(step.guard.threshold) for step in acting(guard))
        if ends and guard.exit_reason.group == "limit":
            return
    yield subject.found(
        "no-hard-limit", "error",
        "nothing ends a loop that goes on and on: add max_rounds, max_iterations or a budget",
        "guards",
    )  # fmt: skip


def many_rounds(subject: Subject) -> Iterator[Finding]:
    """More than 10 rounds: three to five are usual, and later ones seldom help."""
    if subject.preset.observe:
        return
    for name, guard, _ in subject.steps():
        if guard.kind() == "max_rounds" and guard.threshold > 10 and isfinite(guard.threshold):
            yield subject.guard(
                "many-rounds", "warning", name,
                f"{name} allows {guard.shown(guard.threshold)} revisions; 3 to 5 are usual, more "
                "than 10 seldom pay",
            )  # fmt: skip


def cut_off(subject: Subject) -> Iterator[Finding]:
    """A guard that cannot fire before the limit on iterations has ended the loop.

    It needs more iterations than the limit allows, or fires at the earliest in the very
    iteration in which the limit comes first. Of a ladder also a later step. Where the limit only
    pauses it is a warning, because a person may let the loop go on. What a file merely inherits
    from a bundled preset is one note, at the limit.
    """
    if subject.preset.observe:
        return
    limits = list(_limits(subject))
    unwritten: dict[_Limit, list[str]] = {}
    for name, guard, does in subject.steps():
        if isfinite(guard.latest()):
            continue  # one limit beside another: see `dominated`
        for step in does:
            limit = _first(limits, subject, name, step)
            if limit is None or not isfinite(step.earliest()):
                continue
            whole = step is does[0]
            if subject.inherited(name):
                what = name if whole else f"{name}: {step.label}"
                unwritten.setdefault(limit, []).append(f"{what} ({step.earliest():.0f})")
            else:
                yield _cut(subject, name, guard, step, limit, whole=whole)
            break
    for limit, names in unwritten.items():
        yield subject.guard(
            "cut-off", "note", limit.name,
            f"{_words(limit)}, before these inherited ones could fire: {', '.join(names)}",
        )  # fmt: skip
    layers = subject.preset.mechanisms.spin_layers
    if layers is not None:
        need = layers.run + layers.max_warnings - 1
        hit = [limit for limit in limits if limit.after <= need]
        if hit:
            yield subject.mechanism(
                "cut-off", "warning", "spin_layers",
                f"spin_layers needs {need} iterations to stop (run {layers.run}, max_warnings "
                f"{layers.max_warnings}), {_words(min(hit, key=lambda one: one.after))}",
            )  # fmt: skip


def _limits(subject: Subject) -> Iterator[_Limit]:
    for name, guard in subject.preset.guards.items():
        last = final(guard)
        first = last or next((step for step in acting(guard) if step.ends), None)
        if first is not None and isfinite(first.latest()):
            yield _Limit(name, first.latest(), final=last is not None)


def _first(limits: list[_Limit], subject: Subject, name: str, step: Step) -> _Limit | None:
    """The limit that ends every loop before the step can be taken; one that stops goes first."""
    need, guard = step.earliest(), step.guard
    hit = [
        limit
        for limit in limits
        if limit.name != name
        # Behind a pause that somebody answers, a further limit is a plan.
        and (limit.final or guard.exit_reason.group != "limit")
        and (limit.after < need or (limit.after == need and _outranks(subject, limit.name, name)))
    ]
    return min(hit, key=lambda limit: (not limit.final, limit.after), default=None)


def _outranks(subject: Subject, one: str, other: str) -> bool:
    """Whether ``one`` wins where both fire in the same iteration."""
    guards = subject.preset.guards
    order = list(guards)

    def place(name: str) -> tuple[tuple[int, float], int]:
        return rank(guards[name].kind(), guards[name].exit_reason), order.index(name)

    return place(one) < place(other)


def _cut(
    subject: Subject, name: str, guard: Guard, step: Step, limit: _Limit, *, whole: bool
) -> Finding:
    what = name if whole else f"{name}: {step.label}"
    if not whole and (guard.on_fire is None or not limit.final):
        severity: Severity = "note"  # nobody has written that it should
    else:
        severity = "error" if whole and limit.final else "warning"
    need = f"{what} needs {step.earliest():.0f} iterations{_because(step)}"
    return subject.guard("cut-off", severity, name, f"{need}, {_words(limit)}",
                         _late(step.guard) if whole else "on_fire")  # fmt: skip


def _words(limit: _Limit) -> str:
    does = "ends" if limit.final else "pauses"
    return f"{limit.name} {does} the loop after {limit.after:.0f}"


def _late(guard: Guard) -> str:
    """The setting that makes a guard late; empty where it is the threshold."""
    for name, value in guard.settings().items():
        if type(value) is int and value > 1:
            try:
                one: dict[str, Any] = {name: 1}
                sooner = replace(guard, **one).earliest()
            except ValueError:
                continue
            if sooner < guard.earliest():
                return name
    return ""


def _because(step: Step) -> str:
    name = _late(step.guard)
    return f" ({name} {getattr(step.guard, name)})" if name else ""


def dominated(subject: Subject) -> Iterator[Finding]:
    """A guard that never decides, because another one stops the loop no later and goes first.

    Only what is proved for every loop: the same guard with a lower threshold or wider settings,
    one limit on iterations behind another, patience behind stagnation against the best, a
    combination of guards that stop by themselves.
    """
    if subject.preset.observe:
        return
    for name, guard, does in subject.steps():
        for step in does:
            winner = _winner(subject, name, guard, step)
            if winner is None:
                continue
            severity: Severity = "note" if subject.inherited(name) else "warning"
            what = name if step is does[0] else f"{name}: {step.label}"
            own = subject.preset.guards[winner]
            yield subject.guard(
                "dominated", severity, name,
                f"{what} ({guard.comparison} {guard.shown(step.guard.threshold)}) never decides: "
                f"{winner} ({own.comparison} {own.shown(own.threshold)}) always stops no later",
                "" if step is does[0] else "on_fire",
            )  # fmt: skip
            break


def _winner(subject: Subject, name: str, guard: Guard, step: Step) -> str | None:
    """The guard that stops the loop whenever the step is due, or before, and goes first."""
    winners = [
        (other, last)
        for other, one in subject.preset.guards.items()
        if other != name
        and (last := final(one)) is not None
        and last.firing == 1
        and _outranks(subject, other, name)
    ]

    def winner(of: Step) -> str | None:
        return next((other for other, last in winners if _stops(last, of)), None)

    found = winner(step)
    if found is None and isinstance(guard, AnyOf) and 0 < guard.threshold <= 1:
        by_part = [winner(Step(step.action, part)) for part in guard.guards]
        return by_part[0] if all(by_part) else None
    return found


def _stops(last: Step, step: Step) -> bool:
    if isfinite(last.latest()) and isfinite(step.guard.latest()):
        return last.latest() <= step.earliest()
    return step.firing == 1 and covers(last.guard, step.guard)
