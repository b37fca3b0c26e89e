"""How runs of mini-swe-agent ended."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place, inferred

#: A first line of a command's output that submits the rest of it.
SUBMIT = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")


def ending(
    place: Place, about: dict[str, Any], status: str | None, steps: list[dict[str, Any]]
) -> dict[str, Any]:
    """What ``recorded`` says of how the run ended; marks a last call that submitted as good."""
    (call,) = steps[-1]["calls"]
    handed_in = "exit_code" not in call and "result" in call and submits(call)
    if status == "Submitted" or (status is None and handed_in):
        call["ok"] = call["ok"] or handed_in
        ending = {"exit_reason": "agent_finished"}
        return ending if status else inferred(ending)
    return limits_reached(place, about) if status == "LimitsExceeded" else {}


def submits(call: dict[str, Any]) -> bool:
    """Whether a call of bash hands in the work."""
    command = call["args"].get("command", "")
    return any(marker in command for marker in SUBMIT)


def limits_reached(place: Place, about: dict[str, Any]) -> dict[str, Any]:
    """What ``recorded`` says of a run that ended at a limit, by what it used of each."""
    stats = place.get_or_none(about, "model_stats", dict) or {}
    config = place.get_or_none(about, "config", dict) or {}
    limits = place.get_or_none(about, "limits", dict) or place.get_or_none(config, "agent", dict)
    reached: dict[str, Any] = {}
    for key, limit_key, used_key, reason in _LIMITS:
        limit, used = (limits or {}).get(limit_key), stats.get(used_key)
        if limit is None or used is None:
            continue
        # A limit of 0 is no limit.
        if 0 < place.number(limits, limit_key) <= place.number(stats, used_key):
            reached.setdefault("exit_reason", reason)
            reached.setdefault("limits", {})[key] = limit
    return reached


_LIMITS = (
    ("max_iterations", "step_limit", "api_calls", "max_iterations"),
    ("cost_budget_usd", "cost_limit", "instance_cost", "cost_budget"),
)
