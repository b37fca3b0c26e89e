"""Numbers and names as charts write them."""

from __future__ import annotations

#: Exit reasons that are too long for a cell.
SHORT = {
    "quality_reached": "quality", "nothing_to_fix": "no issue", "awaiting_user": "awaits user",
    "infrastructure": "infra", "evaluator_pause": "judge pause",
    "evaluator_unparseable": "unparsable", "goal_changed": "new goal",
    "goal_ambiguous": "which goal", "max_iterations": "max iter.", "max_rounds": "max rounds",
    "time_budget": "time", "token_budget": "tokens", "cost_budget": "cost", "tool_budget": "tools",
    "repeated_error": "rep. error", "no_progress": "no progress",
    "recording_exhausted": "rec. end", "agent_finished": "agent end",
}  # fmt: skip


def short(reason: str) -> str:
    """An exit reason for a small cell."""
    return SHORT.get(reason, reason)


def usd(value: float) -> str:
    """An amount with as many digits as it takes."""
    if value == 0 or value >= 0.1:
        return f"${value:,.2f}"
    return f"${value:.4f}" if value >= 0.0001 else f"${value:.2g}"


def number(value: float) -> str:
    """A number, short."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
