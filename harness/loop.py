"""The loop of a replay: one recorded turn after another through a session, until it decides."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from harness import ending
from harness.episode import Episode
from harness.fingerprint import digest
from harness.llm import RecordedLLM
from harness.preset import Preset
from harness.scenario import Scenario
from harness.session import Session
from harness.text import inert
from harness.trace import Turn
from harness.turns import Tape
from harness.verdicts import Decision

_log = logging.getLogger("harness")


@dataclass(slots=True)
class _Divergence:
    """From which iteration on the replay is no longer what was recorded."""

    at: int | None = None

    def begin(self, iteration: int) -> None:
        self.at = self.at or iteration


def pair_key(scenario: Scenario, preset: Preset, observe: bool, repetition: int) -> str:
    """Hash of scenario content, resolved preset and repetition: equal work in two runs."""
    mode = "observe" if observe or preset.observe else "act"
    return digest("pair", scenario.content_hash, preset.hash, mode, str(repetition))


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
    key = pair_key(scenario, preset, observe, repetition)
    llm = RecordedLLM(tape)
    session = Session(
        scenario, preset, llm, nonce=key, observe=observe, has_tools=tape.has_tools, memo=tape.memo
    )
    divergence = _Divergence()
    number, turn = 1, llm.turn(1)
    while turn is not None:
        following = llm.turn(number + 1)
        decision = session.step(
            turn,
            last=following is None and ending.own_finish(scenario, turn, tape.has_tools)[0],
            answered=following is not None and following.user is not None,
        )
        if decision.ends:
            break
        if decision.conditions and not session.observe:
            following = _intervene(decision, number, session, llm, divergence, following)
        number, turn = number + 1, following
    episode = episode_of(
        session,
        scenario,
        preset,
        key,
        repetition,
        diverged_at=divergence.at,
        unrecorded=llm.unrecorded,
        drifted=llm.drifted,
    )
    log_ending(episode)
    return episode


def log_ending(episode: Episode) -> None:
    """One warning for an episode that ended on a limit, stuck or paused."""
    if episode.exit_group in ("limit", "stuck", "paused"):
        _log.warning(
            "%s under %s: %s", inert(episode.scenario), episode.preset, inert(episode.message)
        )


def _intervene(
    decision: Decision,
    number: int,
    session: Session,
    llm: RecordedLLM,
    divergence: _Divergence,
    following: Turn | None,
) -> Turn | None:
    """Carry out what changes the course; the replay may leave its recording here."""
    nudged = any(c.action == "nudge" and c.state == "true" for c in decision.conditions)
    if nudged and following is not None and following.nudge is None:
        divergence.begin(number)
    winner = decision.winner
    if winner is None or winner.action not in ("switch_strategy", "delegate"):
        return following
    if llm.switch(winner.action, number):
        session.history.path += f"/{winner.action}@{number}"
        return llm.turn(number + 1)
    divergence.begin(number)
    return following


def episode_of(
    session: Session,
    scenario: Scenario,
    preset: Preset,
    key: str,
    repetition: int,
    *,
    diverged_at: int | None = None,
    unrecorded: int = 0,
    drifted: int = 0,
) -> Episode:
    """The typed trace of what a session has seen so far.

    Args:
        session: The guarded loop.
        scenario: What it worked on.
        preset: As loaded, before the task's limits.
        key: The pair key.
        repetition: Number of this repetition of the same work.
        diverged_at: Where a replay left its recording.
        unrecorded: Requests that nobody could answer.
        drifted: Requests that differ from the recorded ones.
    """
    course, history = session.course, session.history
    decision = course.decisions[-1] if course.decisions else None
    end = ending.settle(scenario, session.preset, course.iterations, decision, history, diverged_at)
    return Episode(
        scenario=scenario.id,
        family=scenario.family,
        preset=preset.name,
        goal=scenario.goal,
        direction=scenario.direction,
        content_hash=scenario.content_hash,
        preset_hash=preset.hash,
        pair_key=key,
        repetition=repetition,
        observe=session.observe,
        iterations=tuple(course.iterations),
        decisions=tuple(course.decisions),
        series=session.monitor.series(),
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
        diverged_at=diverged_at,
        unrecorded_calls=unrecorded,
        drifted_calls=drifted,
        outcome=scenario.recorded.outcome,
        prompt_assumed=session.prompt_assumed,
        summary=ending.summary(end, course.iterations, history, session.gate.open_checks()),
    )
