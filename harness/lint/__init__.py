"""Lint for presets: thresholds that never fire, never decide, or speak against each other.

Everything is judged on the resolved preset, inheritance applied; a task's own limits are the
task's business. Rules rest on what guards declare about their signal, which laws prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.lint.against import cut_off, dominated, many_rounds, no_hard_limit
from harness.lint.data import budget_below_one_call, fires_at_once
from harness.lint.finding import Finding, Rule, Severity
from harness.lint.measured import First
from harness.lint.reading import contradiction, off_scale, shadows_bundled, unread_setting
from harness.lint.single import always_fires, never_fires, step_never_taken, warn_after_stop
from harness.lint.subject import Subject
from harness.lint.written import Written
from harness.preset import Preset, load_preset

__all__ = ["RULES", "Finding", "Rule", "Severity", "lint", "lint_preset"]

RULES: tuple[Rule, ...] = (
    Rule("never-fires", ("error", "note"), never_fires),
    Rule("always-fires", ("error",), always_fires),
    Rule("cut-off", ("error", "warning", "note"), cut_off),
    Rule("dominated", ("warning", "note"), dominated),
    Rule("warn-after-stop", ("error",), warn_after_stop),
    Rule("step-never-taken", ("warning",), step_never_taken),
    Rule("no-hard-limit", ("error",), no_hard_limit),
    Rule("many-rounds", ("warning",), many_rounds),
    Rule("off-scale", ("warning",), off_scale),
    Rule("contradiction", ("warning",), contradiction),
    Rule("unread-setting", ("warning", "note"), unread_setting),
    Rule("budget-below-one-call", ("warning",), budget_below_one_call),
    Rule("fires-at-once", ("warning",), fires_at_once),
    Rule("shadows-bundled", ("note",), shadows_bundled),
)


def lint(name: str, measured: Sequence[First] = (), ignore: Iterable[str] = ()) -> list[Finding]:
    """Look at one preset.

    Args:
        name: Of a bundled preset, or a ``.toml`` file.
        measured: First iterations under it (``harness.lint.measured``); without them the rules
            that rest on data find nothing.
        ignore: Codes of rules to leave out.

    Returns:
        What was found, by line where it is known.

    Raises:
        PresetError: As ``load_preset``.
    """
    return lint_preset(load_preset(name), Written(name), measured, ignore)


def lint_preset(
    preset: Preset,
    written: Written | None = None,
    measured: Sequence[First] = (),
    ignore: Iterable[str] = (),
) -> list[Finding]:
    """As ``lint``, for a preset that is loaded already; without ``written`` no line is known."""
    subject = Subject(preset, written or Written(), measured)
    left_out = frozenset(ignore)
    found = [one for rule in RULES if rule.code not in left_out for one in rule.look(subject)]
    return sorted(found, key=lambda one: (one.file or "", one.line or 0))
