"""Rules on settings: what nothing reads, and what speaks against itself."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from harness.guards import Guard
from harness.lint.finding import Finding
from harness.lint.steps import acting
from harness.lint.subject import Subject
from harness.preset import bundled

#: Mechanisms that can pause or stop a loop without a success.
_ENDING = ("triage", "judge", "continuity", "spin_layers", "structured_issues")


def unread_setting(subject: Subject) -> Iterator[Finding]:
    """A setting that is written and that nothing reads.

    A model class that no mechanism asks; a guard whose mechanism is off; a guard's setting that
    means nothing beside the others; a feedback log that nobody fills or reads; ``on_limit`` and
    ``escalate_below`` where no ending could lead there; ``gates = false`` beside a judge.
    """
    yield from _models(subject)
    yield from _guards(subject)
    yield from _mechanisms(subject)
    yield from _settings(subject)


def _models(subject: Subject) -> Iterator[Finding]:
    on = subject.preset.mechanisms
    asking = (on.judge, on.perception, on.reflection, on.spin_layers, on.verification)
    asked = {one.model for one in asking if one is not None}
    if on.continuity is not None:
        asked.add("fast")
    for name in subject.preset.models:
        if name not in asked and subject.written.says("models", name) is not None:
            yield subject.found(
                "unread-setting", "warning",
                f"no mechanism that is on asks a model of the class {name}",
                "models", name,
            )  # fmt: skip


def _guards(subject: Subject) -> Iterator[Finding]:
    on = subject.preset.mechanisms
    for name, guard in subject.preset.guards.items():
        if guard.needs is not None and not getattr(on, guard.needs, None):
            yield subject.guard(
                "unread-setting", "note" if subject.inherited(name) else "warning", name,
                f"{name} is always unknown, because the mechanism {guard.needs} is off",
            )  # fmt: skip
        for setting in sorted(guard.unread()):
            if subject.written.says("guards", name, setting) is not None:
                yield subject.guard(
                    "unread-setting", "warning", name,
                    f"{name}: {setting} is not read where on is {getattr(guard, 'on', '')!r}",
                    setting,
                )  # fmt: skip


def _mechanisms(subject: Subject) -> Iterator[Finding]:
    on = subject.preset.mechanisms
    if on.judge is not None and subject.written.says("mechanisms", "gates") is False:
        yield subject.mechanism(
            "unread-setting", "warning", "gates",
            "gates = false does nothing beside a judge: its verdicts pass the gate",
        )  # fmt: skip
    if on.feedback_log:
        lacking = [what for what, there in (
            ("a judge to write lessons", on.judge), ("a work order to show them", on.work_order),
        ) if not there]  # fmt: skip
        if lacking:
            yield subject.mechanism(
                "unread-setting", "warning", "feedback_log",
                f"feedback_log needs {' and '.join(lacking)}",
            )  # fmt: skip


def _settings(subject: Subject) -> Iterator[Finding]:
    preset, says = subject.preset, subject.written.says
    groups = {
        guard.exit_reason.group
        for guard in preset.guards.values()
        if any(step.ends and isfinite(step.guard.threshold) for step in acting(guard))
    }
    ending = bool(groups - {"success"}) or any(getattr(preset.mechanisms, m) for m in _ENDING)
    cases = (
        ("on_limit", "limit" in groups, "no guard ends the loop on a limit"),
        ("escalate_below", ending, "nothing ends the loop but a success"),
    )
    for name, read, otherwise in cases:
        if says("settings", name) is not None and (preset.observe or not read):
            why = "the preset only observes" if preset.observe else otherwise
            yield subject.found(
                "unread-setting", "warning", f"{name} is never read, because {why}",
                "settings", name,
            )  # fmt: skip


def off_scale(subject: Subject) -> Iterator[Finding]:
    """A threshold above 1 on scores, which lie between 0 and 1.

    Rubrics and points are mapped to that by ``score_scale``; only scores recorded raw, without a
    scale, lie elsewhere.
    """
    for name, guard in subject.preset.guards.items():
        if guard.on_scores and guard.threshold > 1 and isfinite(guard.threshold):
            yield subject.guard(
                "off-scale", "warning", name,
                f"{name} {guard.comparison} {guard.shown(guard.threshold)}: scores lie between 0 "
                "and 1, a scenario's score_scale maps them there",
            )  # fmt: skip


def contradiction(subject: Subject) -> Iterator[Finding]:
    """Two settings of which one leaves no room for the other.

    Continuity's ``new_below`` above ``same_above``; perception's ``min_interval_s`` above
    ``max_interval_s``; a ``regression`` deeper than any fall that ``quality`` leaves possible.
    """
    on = subject.preset.mechanisms
    gap = on.continuity
    if gap is not None and gap.new_below > gap.same_above:
        yield subject.mechanism(
            "contradiction", "warning", "continuity",
            f"new_below {gap.new_below:g} lies above same_above {gap.same_above:g}: between them "
            "a message is taken as the same task, and never as a new one",
            "new_below",
        )  # fmt: skip
    pace = on.perception
    if pace is not None and pace.min_interval_s > pace.max_interval_s:
        yield subject.mechanism(
            "contradiction", "warning", "perception",
            f"min_interval_s {pace.min_interval_s:g} is never kept: an update comes in any case "
            f"after max_interval_s {pace.max_interval_s:g}",
            "min_interval_s",
        )  # fmt: skip
    yield from _too_deep(subject)


def _too_deep(subject: Subject) -> Iterator[Finding]:
    if subject.preset.observe:
        return
    enough = [
        guard.threshold
        for guard in subject.preset.guards.values()
        if guard.kind() == "quality" and _ends_at_once(guard)
    ]
    for name, guard, _ in subject.steps():
        if guard.kind() != "regression" or not enough or guard.threshold > 1:
            continue
        # Whichever direction is better, a score between 0 and 1 can fall no further than this.
        deepest = max(min(enough), 1 - min(enough))
        if guard.threshold >= deepest:
            yield subject.guard(
                "contradiction", "warning", name,
                f"{name} >= {guard.shown(guard.threshold)} is never reached: quality "
                f"{min(enough):g} ends the loop before a score could fall that far",
            )  # fmt: skip


def _ends_at_once(guard: Guard) -> bool:
    first = acting(guard)[:1]
    return bool(first) and first[0].action == "stop" and guard.earliest() == 1


def shadows_bundled(subject: Subject) -> Iterator[Finding]:
    """A file named as a bundled preset: in tables the two cannot be told apart."""
    preset = subject.preset
    if preset.source.endswith(".toml") and preset.name in bundled():
        yield subject.found(
            "shadows-bundled", "note",
            f"named {preset.name}, as a bundled preset is: in tables and expectations the two "
            "look alike",
        )  # fmt: skip
