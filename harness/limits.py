"""A task's own limits over the guards of a preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.guards import Guard, guard_class
from harness.mechanisms import Mechanisms
from harness.task import Limits

#: A task's limit: which guard, which of its parameters, in how many of the limit's units.
_LIMITS: dict[str, tuple[str, str, int]] = {
    "quality": ("quality", "threshold", 1),
    "stagnation_window": ("stagnation", "window", 1),
    "min_delta": ("stagnation", "threshold", 1),
    "patience": ("patience", "threshold", 1),
    "max_rounds": ("max_rounds", "threshold", 1),
    "max_iterations": ("max_iterations", "threshold", 1),
    "time_budget_s": ("time_budget", "threshold", 1000),
    "token_budget": ("token_budget", "threshold", 1),
    "cost_budget_usd": ("cost_budget", "threshold", 10**12),
    "tool_budget": ("tool_budget", "threshold", 1),
    "spin": ("spin", "threshold", 1),
    "oscillation": ("oscillation", "threshold", 1),
    "parse_failures": ("parse_failures", "threshold", 1),
}


def limited(
    given: Mapping[str, Guard], mechanisms: Mechanisms, limits: Limits
) -> tuple[dict[str, Guard], Mechanisms]:
    """Guards and mechanisms under the limits; see ``Preset.with_limits``."""
    guards = dict(given)
    for limit, (kind, parameter, factor) in _LIMITS.items():
        value = getattr(limits, limit)
        if value is None:
            continue
        names = [kind] if kind in guards else _of_kind(guards, kind)
        for name in names or [kind]:
            guard = guards.get(name)
            changed = {parameter: round(value * factor) if factor != 1 else value}
            if guard is None:
                guards[name] = guard_class(kind)(**changed, on_fire="stop")
            else:
                guards[name] = _hardened(replace(guard, **changed))
    if limits.patience is not None:
        for name in _of_kind(guards, "stagnation"):
            del guards[name]
    if limits.watchdog_s is not None and mechanisms.verification is not None:
        verification = mechanisms.verification.model_copy(update={"watchdog_s": limits.watchdog_s})
        mechanisms = mechanisms.model_copy(update={"verification": verification})
    return guards, mechanisms


def _of_kind(guards: Mapping[str, Guard], kind: str) -> list[str]:
    return [name for name, guard in guards.items() if guard.kind() == kind]


def _hardened(guard: Guard) -> Guard:
    """Without warnings: a limit of the task itself is meant."""
    soft = {"warn", "nudge", "observe"}
    action = guard.action
    if isinstance(action, str):
        return replace(guard, on_fire="stop") if action in soft else guard
    if isinstance(action, tuple):
        kept = tuple(step for step in action if step not in soft)
        return replace(guard, on_fire=kept or "stop")
    return replace(guard, on_fire={k: v for k, v in action.items() if v not in soft} or "stop")
