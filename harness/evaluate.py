"""The stages that evaluate a turn: continuity, triage, judge with gates, the agent's own end."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from harness.continuity import judge_continuity, request_text
from harness.exits import ExitReason
from harness.gates import PhaseGate
from harness.judge import ParseFailure, Scale, parse, prompt
from harness.lessons import Entry, FeedbackLog
from harness.mechanisms import Continuity, Judge
from harness.stages import Now, Stage, Ties
from harness.trace import Evaluation
from harness.triage import triage
from harness.verdicts import Condition


class ContinuityStage(Stage):
    """Decides whether a person's message goes on with the goal."""

    name = "continuity"

    def __init__(self, settings: Continuity) -> None:
        self._settings = settings

    def run(self, now: Now) -> None:
        message = now.turn.user
        if message is None:
            return
        goal = now.ties.goal
        answer = judge_continuity(
            message,
            goal,
            interrupted=now.turn.interrupted,
            settings=self._settings,
            ask=lambda: now.ask("continuity", request_text(message, goal), "fast", temperature=0),
        )
        now.overlap = answer.overlap
        now.note(self.name, answer.verdict, f"rule {answer.rule}", answer.reason)
        if answer.verdict == "same":
            return
        new = answer.verdict == "new"
        reason = ExitReason.GOAL_CHANGED if new else ExitReason.GOAL_AMBIGUOUS
        now.conditions.append(Condition(reason.value, self.name, reason, "pause"))


class TriageStage(Stage):
    """Classes of the agent's own words that code alone can tell; a hit skips the model roles."""

    name = "triage"

    def __init__(self, ties: Ties) -> None:
        self._history = ties.history

    def run(self, now: Now) -> None:
        hits = triage(now.turn, outage_nearby=self._history.outage_nearby)
        for hit in hits:
            now.note(self.name, "hit", hit.kind, hit.sentence)
            reason = ExitReason(hit.kind)
            now.conditions.append(Condition(hit.kind, self.name, reason, "pause"))
        now.triaged = bool(hits)


class MeasureStage(Stage):
    """Takes in the score that was measured outside; it wins over a judge's."""

    name = "score"

    def run(self, now: Now) -> None:
        if now.turn.score is not None:
            now.evaluation = Evaluation(score=now.turn.score, score_source="measured")


class JudgeStage(Stage):
    """Asks the judge and reads its reply strictly; code then has the last word on "done"."""

    name = "judge"

    def __init__(self, settings: Judge, gate: PhaseGate, scale: Scale, log: FeedbackLog) -> None:
        self._settings = settings
        self._gate = gate
        self._scale = scale
        self._prompt = prompt(scale)
        self._log = log

    def run(self, now: Now) -> None:
        settings = self._settings
        reply = now.call(
            "judge", self._prompt, settings.model, temperature=settings.temperature,
            max_tokens=settings.max_output_tokens,
        )  # fmt: skip
        if reply is None:
            now.note(self.name, "abstain", "turn", "no recorded reply")
            return
        if reply.error is not None:
            now.note(self.name, "error", "turn", reply.error)
            now.evaluation = _with_measured(now, Evaluation(failed=True))
            return
        try:
            verdict = parse(reply.text, has_phases=self._gate.has_phases, scale=self._scale)
        except ParseFailure as failure:
            now.note(self.name, "parse_failure", "turn", str(failure))
            now.evaluation = _with_measured(now, Evaluation(parsed=False))
            return
        now.note(self.name, "run", "turn", verdict.reason, "done" if verdict.done else "not done")
        if verdict.claimed:
            now.note(self.name, "vetoed", "no evidence", "a claim of completion without evidence")
        now.evaluation = _with_measured(now, verdict)
        now.answered_end = True
        self._learn(now, verdict)
        if now.triaged:
            return
        if verdict.next_action == "pause":
            _add(now, "evaluator_pause", ExitReason.EVALUATOR_PAUSE, "pause")
        if verdict.failure_type in ("blocked", "awaiting_user", "infrastructure"):
            _add(now, verdict.failure_type, ExitReason(verdict.failure_type), "pause")

    def _learn(self, now: Now, verdict: Evaluation) -> None:
        if verdict.lesson is not None:
            entry = Entry(now.number, verdict.reason, verdict.progress, verdict.lesson)
            self._log.record(entry)


def _with_measured(now: Now, verdict: Evaluation) -> Evaluation:
    if now.turn.score is None:
        return verdict
    return replace(verdict, score=now.turn.score, score_source="measured")


def _add(now: Now, kind: str, reason: ExitReason, action: str) -> None:
    now.conditions.append(Condition(kind, kind, reason, action))


class IssuesStage(Stage):
    """A further round is worth it only for a serious issue that can be fixed."""

    name = "structured_issues"

    def __init__(self, quality: float | None, *, lower: bool) -> None:
        self._quality = quality
        self._lower = lower

    def run(self, now: Now) -> None:
        if now.turn.feedback_empty:
            now.note(self.name, "nothing_to_fix", "feedback", "feedback came back empty")
            _add(now, "nothing_to_fix", ExitReason.NOTHING_TO_FIX, "stop")
            return
        issues = now.evaluation.issues
        if not issues:
            return
        serious = [issue for issue in issues if issue.severity in ("serious", "critical")]
        if any(issue.fixable for issue in serious):
            now.note(self.name, "worth_it", "issues", f"{len(serious)} serious issues")
        elif serious:
            now.note(self.name, "unfixable", "issues", "the serious issues cannot be fixed")
            _add(now, "unfixable", ExitReason.UNFIXABLE, "pause")
        elif self._conflicts(now.evaluation.score):
            now.note(self.name, "conflict", "issues", "no serious issue, yet the score is too low")
        else:
            now.note(self.name, "nothing_to_fix", "issues", "no serious issue")
            _add(now, "nothing_to_fix", ExitReason.NOTHING_TO_FIX, "stop")

    def _conflicts(self, score: float | None) -> bool:
        if score is None or self._quality is None:
            return False
        return score > self._quality if self._lower else score < self._quality


class GateStage(Stage):
    """Code outranks the model: what is called done is done only where every check holds."""

    name = "gate"

    def __init__(self, gate: PhaseGate) -> None:
        self._gate = gate

    def run(self, now: Now) -> None:
        verdict = now.evaluation
        gate = self._gate
        # A judge that was asked has said what it thinks; the agent's word then counts no more.
        asked = verdict.parsed is not None or verdict.failed
        declared = now.own_end and gate.has_phases and not asked
        if now.triaged or not (verdict.done or verdict.phase_done or declared):
            return
        now.answered_end = now.answered_end or declared
        if not gate.has_phases:
            _add(now, "completed", ExitReason.COMPLETED, "stop")
            return
        found = gate.look()
        now.checks.extend(found.results)
        if found.missing:
            self._veto(now, found.missing)
        elif not gate.on_last:
            _add(now, "phase_done", ExitReason.COMPLETED, "advance_phase")
            now.note(self.name, "passed", gate.phase, "every check of the phase holds")
        else:
            everything = gate.look_at_all()
            now.checks.extend(everything.results)
            if everything.missing:
                self._veto(now, everything.missing)
            else:
                _add(now, "completed", ExitReason.COMPLETED, "stop")
                now.note(self.name, "passed", gate.phase, "every check of every phase holds")

    def _veto(self, now: Now, missing: tuple[str, ...]) -> None:
        now.note(self.name, "veto", self._gate.phase, "; ".join(missing))
        now.conditions.append(
            Condition("completed", self.name, ExitReason.COMPLETED, "stop", "vetoed")
        )


def declares_end(marker: str | dict[str, Any] | None, text: str) -> bool:
    """Whether a reply holds the completion marker: a text on its own, or a field of its JSON.

    Args:
        marker: A text, or fields with their values, at any depth, also inside JSON in strings.
        text: The agent's own reply.
    """
    if marker is None:
        return False
    if isinstance(marker, str):
        # On a line of its own, or as the last words after a full stop; not inside a sentence.
        own = rf"(?:^|[.!?。！？]\s*)[\s*_`<\[(]*{re.escape(marker)}[\s*_`>\])]*$"
        return re.search(own, text.strip(), re.MULTILINE) is not None
    try:
        return any(_holds(value, marker) for value in _objects(text))
    except RecursionError:  # nested deeper than any declaration
        return False


def _holds(value: Any, marker: dict[str, Any]) -> bool:
    if isinstance(value, dict):
        if all(key in value and value[key] == wanted and type(value[key]) is type(wanted)
               for key, wanted in marker.items()):  # fmt: skip
            return True
        return any(_holds(item, marker) for item in value.values())
    if isinstance(value, list):
        return any(_holds(item, marker) for item in value)
    if isinstance(value, str) and "{" in value:
        return any(_holds(item, marker) for item in _objects(value))
    return False


def _objects(text: str) -> list[Any]:
    """Every JSON object that stands in a text."""
    decoder = json.JSONDecoder()
    found, at = [], text.find("{")
    while at != -1:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found
