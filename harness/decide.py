"""The decision chain: one table, first match wins, all matches are kept (SPEC section 6).

A condition is placed by its kind: the guard that fired or the mechanism that found it. What only
records (a warning, an unknown, a veto) decides nothing. A person's answer takes pauses out of the
race, so that a limit reached beside an answered question still ends the loop. A user's own guard
stands behind the harness's own conditions with the same exit reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.exits import ExitReason
from harness.guards import ENDING
from harness.verdicts import Condition, Decision

CONTINUE = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One path: its number, its decision, and the kinds of condition on it, first one first."""

    path: int
    decision: str
    kinds: tuple[str, ...]


#: Where a decision is ``""`` it is named after the guard's action: stop, pause, delegate, ...
CHAIN: tuple[Row, ...] = (
    Row(0, "pause", ("goal_changed", "goal_ambiguous", "goal_overlap")),
    Row(1, "finalize", ("completed", "quality", "verified", "nothing_to_fix")),
    Row(2, "advance_phase", ("phase_done",)),
    Row(3, "pause_blocked", ("blocked", "unfixable")),
    Row(4, "pause_infrastructure", ("infrastructure", "transient_errors")),
    Row(5, "await_confirmation", ("awaiting_user",)),
    Row(6, "pause", ("evaluator_pause",)),
    Row(7, "pause", ("parse_failures", "evaluator_errors")),
    Row(
        8,
        "",
        (
            # limits
            "max_rounds", "max_iterations", "time_budget", "token_budget", "cost_budget",
            "tool_budget",
            # stuck guards
            "repeated_error", "repeated_failure", "spin", "spin_layers", "tool_spin", "cycle",
            "oscillation", "repetition", "recurrence", "text_loop", "stagnation",
            "patience", "regression", "monologue", "all_of", "any_of",
        ),
    ),
    Row(9, "", ("no_progress",)),
    Row(CONTINUE, "finalize", ("agent_finished",)),
)  # fmt: skip

_Rank = tuple[int, float, str]
_RANK: dict[str, _Rank] = {
    kind: (row.path, place, row.decision) for row in CHAIN for place, kind in enumerate(row.kinds)
}
#: The last kind with an exit reason, where that has another name than the reason.
_LAST = {
    ExitReason.QUALITY_REACHED: "quality",
    ExitReason.GOAL_CHANGED: "goal_changed",
    ExitReason.INFRASTRUCTURE: "transient_errors",
    ExitReason.EVALUATOR_UNPARSEABLE: "parse_failures",
    ExitReason.REPEATED_ERROR: "repeated_failure",
    ExitReason.SPIN: "tool_spin",
    ExitReason.REPETITION: "text_loop",
    ExitReason.STAGNATION: "patience",
    ExitReason.RECORDING_EXHAUSTED: "any_of",
    ExitReason.ERROR: "any_of",
}
#: Actions that change the course without ending the episode.
TURNING = frozenset({"advance_phase", "switch_strategy", "delegate"})
_DECIDING = ENDING | TURNING
_NOTHING = Decision(CONTINUE, "continue", None, (), None, False)


def decide(
    conditions: Sequence[Condition], *, observe: bool = False, answered: bool = False
) -> Decision:
    """Choose what to do after an iteration.

    Args:
        conditions: Everything that is true or unknown now, in any order.
        observe: Only record; the decision names what would have ended the loop.
        answered: The recording goes on with a person's message, which answers every pause;
            what would end the episode for good still does.

    Returns:
        The decision with all conditions; where it was only observed, ``exit`` is set and
        ``ends`` is not.
    """
    if not conditions:
        return _NOTHING
    kept = list(conditions)
    first: tuple[_Rank, Condition] | None = None
    answered_first: tuple[_Rank, Condition] | None = None
    for at, found in enumerate(conditions):
        if found.state != "true" or found.action not in _DECIDING:
            continue
        rank = _RANK.get(found.kind) or _behind(found.reason)
        if answered and found.action in ENDING and is_pause(found, rank[0]):
            kept[at] = condition = replace(found, state="answered")
            if answered_first is None or rank < answered_first[0]:
                answered_first = (rank, condition)
        elif first is None or rank < first[0]:
            first = (rank, found)
    chosen = first or answered_first
    if chosen is None:
        return Decision(CONTINUE, "continue", None, tuple(conditions), None, False)
    (path, _, name), winner = chosen
    ends = winner.action in ENDING and winner.state == "true"
    return Decision(
        path=path,
        name=name or winner.action,
        winner=winner,
        conditions=tuple(kept),
        exit=winner.reason if ends else None,
        ends=ends and not observe,
    )


def is_pause(condition: Condition, path: int) -> bool:
    """Whether the decision waits for someone outside rather than ending for good."""
    return path in (0, 3, 4, 5, 6, 7) or condition.action in ("pause", "escalate")


def _behind(reason: ExitReason) -> _Rank:
    """The place of a guard that the table does not know: behind the last one of its reason."""
    path, place, decision = _RANK[_LAST.get(reason, reason.value)]
    return path, place + 0.5, decision


def rank(kind: str, reason: ExitReason = ExitReason.ERROR) -> tuple[int, float]:
    """Path and place of a kind of condition, for tests and for sorting what is shown.

    Args:
        kind: A guard's kind, or what a mechanism found.
        reason: The exit reason, by which a user's own guard is placed.
    """
    path, place, _ = _RANK.get(kind) or _behind(reason)
    return path, place
