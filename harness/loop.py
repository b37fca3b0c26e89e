"""The loop: one iteration after another through the guards, until something decides."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from harness import ending
from harness.decide import decide
from harness.fingerprint import digest
from harness.history import History
from harness.llm import RecordedLLM, Request
from harness.monitor import Monitor
from harness.preset import Preset
from harness.scenario import Scenario
from harness.trace import Decision, Episode, Evaluation, Iteration, Turn
from harness.turns import Tape

_log = logging.getLogger("harness")
#: Actions that put something into the loop which the recording may lack.
_INTERVENING = frozenset({"switch_strategy", "delegate", "nudge"})


@dataclass(slots=True)
class _Course:
    """What the loop has gathered so far."""

    iterations: list[Iteration] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    elapsed: list[int | None] = field(default_factory=list)
    best: list[float | None] = field(default_factory=list)
    diverged_at: int | None = None


def run_episode(
    tape: Tape, preset: Preset, *, observe: bool = False, repetition: int = 0
) -> Episode:
    """Replay one scenario under one preset.

    Args:
        tape: The scenario, made ready by ``harness.turns.prepare``.
        preset: A resolved preset; the scenario's own limits are applied here.
        observe: Only record: every guard measures, nothing ends the loop but the recording.
        repetition: Number of this repetition of the same work.

    Returns:
        The typed trace of the episode. Nothing is stored and nothing is sent.
    """
    scenario = tape.scenario
    active = preset.with_limits(scenario.limits)
    observe = observe or active.observe
    llm = RecordedLLM(tape)
    history = History(direction=scenario.direction, has_tools=tape.has_tools)
    monitor = Monitor(active.guards, scenario.direction)
    course = _Course()
    turn = llm.turn(1)
    while turn is not None:
        number = len(course.iterations) + 1
        iteration = _iterate(number, turn, llm)
        history.append(iteration)
        conditions = monitor.measure(history)
        following = llm.turn(number + 1)
        answered = following is not None and following.user is not None
        decision = decide(conditions, observe=observe, answered=answered)
        course.iterations.append(iteration)
        course.decisions.append(decision)
        course.elapsed.append(history.elapsed_ms if history.elapsed_known else None)
        course.best.append(history.best_score)
        if decision.ends:
            break
        if decision.conditions and not observe:
            following = _intervene(decision, number, llm, monitor, course, following)
        turn = following
    return _episode(tape, preset, active, observe, repetition, llm, history, monitor, course)


def _iterate(number: int, turn: Turn, llm: RecordedLLM) -> Iteration:
    reply = llm.ask(Request("actor", number))
    return Iteration(number, turn, _evaluate(turn), (reply,), turn.ms)


def pair_key(scenario: Scenario, preset: Preset, observe: bool, repetition: int) -> str:
    """Hash of scenario content, resolved preset and repetition: equal work in two runs."""
    mode = "observe" if observe or preset.observe else "act"
    return digest("pair", scenario.content_hash, preset.hash, mode, str(repetition))


_UNSCORED = Evaluation()


def _evaluate(turn: Turn) -> Evaluation:
    """A score measured outside; nobody else is asked yet."""
    if turn.score is None:
        return _UNSCORED
    return Evaluation(score=turn.score, score_source="measured")


def _intervene(
    decision: Decision,
    number: int,
    llm: RecordedLLM,
    monitor: Monitor,
    course: _Course,
    following: Turn | None,
) -> Turn | None:
    """Carry out what does not end the episode; the replay may leave its recording here."""
    for condition in decision.conditions:
        if condition.state == "answered":
            monitor.resume(condition.name)
        elif (
            condition.action == "nudge"
            and condition.state == "true"
            and following is not None
            and following.nudge is None
        ):
            course.diverged_at = course.diverged_at or number
    winner = decision.winner
    if winner is None or winner.action not in ("switch_strategy", "delegate"):
        return following
    if llm.switch(winner.action, number):
        return llm.turn(number + 1)
    course.diverged_at = course.diverged_at or number
    return following


def _episode(
    tape: Tape,
    preset: Preset,
    active: Preset,
    observe: bool,
    repetition: int,
    llm: RecordedLLM,
    history: History,
    monitor: Monitor,
    course: _Course,
) -> Episode:
    scenario = tape.scenario
    end = ending.settle(
        scenario,
        active,
        course.iterations,
        course.decisions[-1] if course.decisions else None,
        history,
        course.diverged_at,
    )
    episode = Episode(
        scenario=scenario.id,
        family=scenario.family,
        preset=preset.name,
        goal=scenario.goal,
        direction=scenario.direction,
        content_hash=scenario.content_hash,
        preset_hash=preset.hash,
        pair_key=pair_key(scenario, preset, observe, repetition),
        repetition=repetition,
        observe=observe,
        iterations=tuple(course.iterations),
        decisions=tuple(course.decisions),
        series=monitor.series(),
        elapsed=tuple(course.elapsed),
        best=tuple(course.best),
        status=end.status,
        exit_reason=end.reason,
        exit_guard=end.guard,
        exit_reason_source=end.source,
        message=end.message,
        best_iteration=history.best_iteration,
        needs_human=end.needs_human,
        replay=end.replay,
        diverged_at=course.diverged_at,
        unrecorded_calls=llm.unrecorded,
        drifted_calls=llm.drifted,
        outcome=scenario.recorded.outcome,
    )
    if episode.exit_group in ("limit", "stuck", "paused"):
        _log.warning("%s under %s: %s", episode.scenario, episode.preset, episode.message)
    return episode
