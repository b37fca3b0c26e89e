"""Why loops end: the exit reasons and their groups."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Group = Literal["success", "paused", "limit", "stuck", "undecided"]
Status = Literal["finished", "paused", "stopped", "undecided"]
#: Finish reasons with which a model stops by itself.
_OWN_STOP = frozenset({"stop", "end_turn", "stop_sequence"})


class ExitReason(StrEnum):
    """Why an episode ended. Its ``group`` matters as much: a limit never reads as a success."""

    QUALITY_REACHED = "quality_reached"
    COMPLETED = "completed"
    VERIFIED = "verified"
    NOTHING_TO_FIX = "nothing_to_fix"
    BLOCKED = "blocked"
    AWAITING_USER = "awaiting_user"
    INFRASTRUCTURE = "infrastructure"
    EVALUATOR_PAUSE = "evaluator_pause"
    EVALUATOR_UNPARSEABLE = "evaluator_unparseable"
    GOAL_CHANGED = "goal_changed"
    GOAL_AMBIGUOUS = "goal_ambiguous"
    UNFIXABLE = "unfixable"
    MAX_ROUNDS = "max_rounds"
    MAX_ITERATIONS = "max_iterations"
    TIME_BUDGET = "time_budget"
    TOKEN_BUDGET = "token_budget"
    COST_BUDGET = "cost_budget"
    TOOL_BUDGET = "tool_budget"
    STAGNATION = "stagnation"
    OSCILLATION = "oscillation"
    REPETITION = "repetition"
    SPIN = "spin"
    CYCLE = "cycle"
    REPEATED_ERROR = "repeated_error"
    MONOLOGUE = "monologue"
    NO_PROGRESS = "no_progress"
    REGRESSION = "regression"
    RECORDING_EXHAUSTED = "recording_exhausted"
    AGENT_FINISHED = "agent_finished"
    ERROR = "error"

    @property
    def group(self) -> Group:
        """The group of SPEC's table: success, paused, limit, stuck or undecided."""
        return _GROUP[self]


_MEMBERS: dict[Group, str] = {
    "success": "quality_reached completed verified nothing_to_fix",
    "paused": "blocked awaiting_user infrastructure evaluator_pause evaluator_unparseable"
    " goal_changed goal_ambiguous unfixable",
    "limit": "max_rounds max_iterations time_budget token_budget cost_budget tool_budget",
    "stuck": "stagnation oscillation repetition spin cycle repeated_error monologue no_progress"
    " regression",
    "undecided": "recording_exhausted agent_finished error",
}
_GROUP: dict[ExitReason, Group] = {
    ExitReason(name): group for group, names in _MEMBERS.items() for name in names.split()
}


def own_stop(finish_reason: str | None) -> bool:
    """Whether a model stopped by itself, or nobody said why it stopped.

    Args:
        finish_reason: As recorded; what stands behind a colon (``stop: refusal``) tells more of it.
    """
    return finish_reason is None or finish_reason.partition(":")[0] in _OWN_STOP
