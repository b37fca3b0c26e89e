"""How an episode ended: status, reason and its source, message, replay label, needs a human."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.decide import is_pause
from harness.exits import ExitReason, Status, own_stop
from harness.guards import Guard
from harness.history import History
from harness.preset import Preset
from harness.scenario import Scenario
from harness.trace import Iteration, Replay, Turn
from harness.verdicts import Condition, Decision


@dataclass(frozen=True, slots=True)
class Ending:
    """What ``settle`` found; the fields are those of ``Episode``."""

    status: Status
    reason: ExitReason
    guard: str | None
    source: Literal["explicit", "inferred", "unknown"]
    message: str
    needs_human: bool
    replay: Replay


def settle(
    scenario: Scenario,
    preset: Preset,
    iterations: Sequence[Iteration],
    decision: Decision | None,
    history: History,
    diverged_at: int | None,
) -> Ending:
    """Work out how an episode ended from its last decision, or from how the recording ended."""
    length = len(iterations)
    diverged = diverged_at is not None and diverged_at < length
    if decision is not None and decision.ends and decision.winner is not None:
        winner = decision.winner
        reason = winner.reason
        pauses = is_pause(winner, decision.path)
        group = reason.group
        status: Status = "paused" if pauses else "stopped"
        if group in ("success", "undecided"):
            # The agent's own word is neither a success nor a stop.
            status = "finished" if group == "success" else "undecided"
        weak = group not in ("success", "undecided") and _weak(history, preset.escalate_below)
        return Ending(
            status=status,
            reason=reason,
            guard=winner.name,
            source="explicit",
            message=_message(reason, winner, length, preset, history),
            needs_human=weak or winner.action == "escalate",
            replay="diverged" if diverged else "exact",
        )
    last = iterations[-1].turn if iterations else None
    finished, source = own_finish(scenario, last, history.has_tools)
    reason = ExitReason.AGENT_FINISHED if finished else ExitReason.RECORDING_EXHAUSTED
    label: Replay = "diverged" if diverged else "exact" if finished else "censored"
    return Ending("undecided", reason, None, source, _end_message(scenario, finished, length),
                  False, label)  # fmt: skip


def own_finish(
    scenario: Scenario, turn: Turn | None, has_tools: bool | None
) -> tuple[bool, Literal["explicit", "inferred", "unknown"]]:
    """Whether the recorded agent ended by itself, and how that is known.

    Args:
        scenario: May say how the run ended, in ``recorded``.
        turn: The last one.
        has_tools: Whether the agent has tools; ``None`` where nobody said.
    """
    recorded = scenario.recorded
    told = recorded.exit_reason is not None or recorded.exit_reason_source == "unknown"
    if told and turn is not None and turn.source[0] == "":
        return recorded.exit_reason is ExitReason.AGENT_FINISHED, recorded.exit_reason_source
    if turn is not None and stops_by_itself(turn, has_tools):
        return True, "inferred"
    return False, "unknown"


def stops_by_itself(turn: Turn, has_tools: bool | None) -> bool:
    """Whether an agent that has tools ended its turn by itself, without a call."""
    if turn.calls or turn.reply.error or not has_tools:
        return False
    return own_stop(turn.reply.finish_reason)


def summary(
    end: Ending, iterations: Sequence[Iteration], history: History, missing: Sequence[str]
) -> str:
    """What is written however an episode ends: cause, best result, open checks, lessons."""
    parts = [f"{end.status}: {end.message}."]
    if history.best_iteration is not None:
        parts.append(f"Best score {history.best_score:g} in iteration {history.best_iteration}.")
    if missing:
        parts.append(f"Still open: {'; '.join(missing)}.")
    lessons = [it.evaluation.lesson for it in iterations if it.evaluation.lesson]
    if lessons:
        words = "; ".join(lesson.avoid or lesson.mistake or "" for lesson in lessons[-3:])
        parts.append(f"Lessons: {words}.")
    return " ".join(parts)


def _weak(history: History, escalate_below: float) -> bool:
    """Whether the best result is too poor, or too unknown, to hand on unseen."""
    best = history.best_score
    if best is None:
        return True
    return best > 1 - escalate_below if history.direction == "lower" else best < escalate_below


def _message(
    reason: ExitReason, winner: Condition, length: int, preset: Preset, history: History
) -> str:
    unit = "iteration" if length == 1 else "iterations"
    if reason is ExitReason.MAX_ITERATIONS:
        return f"loop engine iteration budget reached after {length} {unit}"
    if reason is ExitReason.QUALITY_REACHED and history.scores:
        return f"quality threshold reached with score {history.scores[-1]:g} after {length} {unit}"
    found = preset.guards.get(winner.name)
    if found is None:
        return f"{reason.value.replace('_', ' ')} after {length} {unit}"
    sign = found.compares(history.direction)
    signal = found.signal(history)
    limit = _level(found, winner.action, signal)
    return (
        f"{reason.value.replace('_', ' ')} after {length} {unit}: guard {winner.name}, "
        f"{found.measures} is {found.shown(signal)} ({sign} {found.shown(limit)})"
    )


def _level(guard: Guard, action: str, signal: float) -> float:
    """The level of a ladder that took this action; the threshold where there is no such ladder."""
    if not isinstance(guard.action, Mapping):
        return guard.threshold
    reached = [float(level) for level, step in guard.action.items() if step == action]
    return max((level for level in reached if level <= signal), default=guard.threshold)


def _end_message(scenario: Scenario, finished: bool, length: int) -> str:
    unit = "iteration" if length == 1 else "iterations"
    if finished:
        return f"the agent stopped by itself after {length} {unit}; nothing verified its result"
    recorded = scenario.recorded.exit_reason
    cause = f"; the real run ended on {recorded.value}" if recorded else ""
    return f"the recording ends after {length} {unit} with nothing decided{cause}"
