"""A guarded loop, one iteration at a time: the same object guards a replay and a live loop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from harness.decide import decide
from harness.errors import HarnessError
from harness.evaluate import (
    ContinuityStage,
    GateStage,
    IssuesStage,
    JudgeStage,
    MeasureStage,
    TriageStage,
    declares_end,
)
from harness.exits import ExitReason
from harness.gates import PhaseGate, ScriptedWorkspace, Workspace
from harness.history import History
from harness.judge import Scale
from harness.lessons import FeedbackLog
from harness.llm import LLM
from harness.monitor import Monitor
from harness.preset import Preset
from harness.roles.perception import Perceived, PerceptionStage
from harness.roles.reflection import ReflectionStage
from harness.roles.spin_layers import SpinStage
from harness.roles.verification import VerificationStage
from harness.stages import Now, Stage, Ties
from harness.task import Task
from harness.trace import Iteration, Turn
from harness.verdicts import Condition, Decision
from harness.workorder import Orders, work_order


@dataclass(slots=True)
class Course:
    """What a loop has gathered so far; one entry an iteration."""

    iterations: list[Iteration] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    elapsed: list[int | None] = field(default_factory=list)
    best: list[float | None] = field(default_factory=list)


class Session:
    """Guards one loop.

    Args:
        task: Goal, phases, limits and tools.
        preset: What guards it; the task's own limits are applied here.
        llm: Answers the roles: a recording, a script, or a model.
        nonce: Tells this episode's prompt sections from anything an agent could write.
        observe: Only record; nothing ends the loop.
        has_tools: Whether the agent has tools; ``None`` where nobody said.
        workspace: Where gates look for files; left out: what the turns say was written.
        memo: Signals already worked out for these turns, shared by replays of one recording.
    """

    def __init__(
        self,
        task: Task,
        preset: Preset,
        llm: LLM,
        *,
        nonce: str,
        observe: bool = False,
        has_tools: bool | None = None,
        workspace: Workspace | None = None,
        memo: dict[tuple[object, ...], float] | None = None,
    ) -> None:
        self.task = task
        self.preset = preset.with_limits(task.limits)
        self.observe = observe or self.preset.observe
        self.history = History(direction=task.direction, has_tools=has_tools, memo=memo)
        self.monitor = Monitor(self.preset.guards, task.direction)
        self.gate = PhaseGate(task.phases, workspace or ScriptedWorkspace())
        self.course = Course()
        self.lessons = FeedbackLog(self.preset.mechanisms.feedback_log)
        self.orders = Orders()
        self.prompt_assumed = False
        self._ties = Ties(
            llm=llm,
            history=self.history,
            goal=task.goal,
            nonce=nonce,
            models=self.preset.models,
            capabilities=tuple(task.capabilities),
            init_perception=task.init.perception if task.init else None,
        )
        self._before, self._after = self._stages()

    def _stages(self) -> tuple[list[Stage], list[Stage]]:
        """The mechanisms that are on, in order: before the triage's hit counts, and after."""
        on, ties = self.preset.mechanisms, self._ties
        before: list[Stage] = []
        if on.continuity is not None:
            before.append(ContinuityStage(on.continuity))
        before.append(MeasureStage())
        if on.triage:
            before.append(TriageStage(ties))
        after: list[Stage] = []
        if on.spin_layers is not None:
            after.append(SpinStage(on.spin_layers))
        if on.reflection is not None:
            after.append(ReflectionStage(on.reflection))
        if on.judge is not None:
            low, high = self.task.score_scale or (0.0, 1.0)
            after.append(JudgeStage(on.judge, self.gate, Scale(low, high), self.lessons))
        if on.structured_issues:
            after.append(IssuesStage(self._quality(), lower=self.task.direction == "lower"))
        if on.gates or on.judge is not None:
            after.append(GateStage(self.gate))
        if on.verification is not None:
            waiting = {name for name, tool in (self.task.tools or {}).items() if tool.waits}
            after.append(VerificationStage(on.verification, waiting))
        if on.perception is not None:
            after.append(PerceptionStage(on.perception, ties))
        return before, after

    @property
    def perception(self) -> Perceived | None:
        """What perception knows; ``None`` where it is off."""
        found = [stage.state for stage in self._after if isinstance(stage, PerceptionStage)]
        return found[0] if found else None

    @property
    def spin_warnings(self) -> int:
        """Warnings of the spin layers so far."""
        return sum(stage.warnings for stage in self._after if isinstance(stage, SpinStage))

    def _quality(self) -> float | None:
        found = [g.threshold for g in self.preset.guards.values() if g.kind() == "quality"]
        return found[0] if found else None

    def work_order(self, message: str | None = None) -> str | None:
        """The text ahead of the actor's next input; ``None`` where the preset has none.

        Args:
            message: What a person has just said.
        """
        if not self.preset.mechanisms.work_order:
            return None
        limits = [g.threshold for g in self.preset.guards.values() if g.kind() == "max_iterations"]
        self.orders.message = message
        return work_order(
            self.orders,
            iteration=self.history.length + 1,
            limit=int(min(limits)) if limits else None,
            goal=self.task.goal,
            phase=self.gate.phase,
            open_checks=self.gate.look().missing if self.gate.has_phases else (),
            lessons=self.lessons.entries,
        )

    def step(self, turn: Turn, *, last: bool = False, answered: bool = False) -> Decision:
        """Take in what an iteration brought, and decide what the loop does next.

        Args:
            turn: The reply, its calls, what was measured and said.
            last: The agent stopped by itself with this turn.
            answered: A person answers right after it, so that a pause does not end the loop.
        """
        if turn.user is not None and self.course.decisions and self.course.decisions[-1].exit:
            # Only observed: what would have paused has just been answered.
            self.answered()
        order = self.work_order(turn.user)
        now = Now(self.history.length + 1, turn, self._ties, Orders(tried=self.orders.tried),
                  last=last, replies=[turn.reply])  # fmt: skip
        self.gate.observe(turn)
        handler = turn.handler or {}
        now.force_perception = handler.get("perception")
        marker = self.task.completion_marker
        marked = marker is not None and declares_end(marker, turn.reply.text)
        now.own_end = last or marked or bool(handler.get("exit"))
        for stage in self._before:
            stage.run(now)
        for stage in self._after:
            if not now.triaged or isinstance(stage, GateStage):
                stage.run(now)
            elif self.observe and isinstance(stage, JudgeStage):
                now.note("judge", "observed", "triage", "parsed although triage had decided")
                stage.run(now)
            else:
                now.note(stage.name, "skip", "triage", "code alone had decided")
        if (marked or handler.get("exit")) and not now.answered_end and not now.triaged:
            reason = ExitReason.AGENT_FINISHED
            now.conditions.append(Condition("agent_finished", "agent", reason, "stop"))
        return self._conclude(now, order, answered)

    def _conclude(self, now: Now, order: str | None, answered: bool) -> Decision:
        turn = now.turn
        roles = now.replies[1:]
        ms = turn.ms
        if ms is not None and roles:
            times = [reply.ms for reply in roles]
            ms = None if None in times else ms + sum(t for t in times if t is not None)
        iteration = Iteration(
            number=now.number,
            turn=turn,
            evaluation=now.evaluation,
            replies=tuple(now.replies),
            ms=ms,
            phase=self.gate.phase,
            events=tuple(now.events),
            checks=tuple(now.checks),
            work_order=order,
            overlap=now.overlap,
        )
        self.history.append(iteration)
        conditions = self._vetoed(now.conditions + self.monitor.measure(self.history))
        decision = decide(conditions, observe=self.observe, answered=answered)
        self._remember(iteration, decision, now)
        return decision

    def _vetoed(self, conditions: list[Condition]) -> list[Condition]:
        """No success reason holds while a check of any phase is open."""
        if not self.gate.has_phases:
            return conditions
        successes = [
            c
            for c in conditions
            if c.state == "true" and c.reason.group == "success" and c.kind != "phase_done"
        ]
        if not successes or not self.gate.open_checks():
            return conditions
        return [replace(c, state="vetoed") if c in successes else c for c in conditions]

    def resume(self) -> None:
        """A person answered the pause that ended the loop: it goes on, its cause starts anew.

        Raises:
            HarnessError: The loop has not ended, or not on a pause.
        """
        last = self.course.decisions[-1] if self.course.decisions else None
        if last is None or not last.ends:
            raise HarnessError("resume: the loop is not paused")
        if not self.answered():
            raise HarnessError(f"resume: the loop ended for good, with {last.exit}")

    def answered(self) -> bool:
        """Take each pause of the last decision as answered; False if something else ended it."""
        last = self.course.decisions[-1]
        decision = decide(last.conditions, observe=self.observe, answered=True)
        if decision.ends:
            return False
        self.course.decisions[-1] = decision
        for condition in decision.conditions:
            if condition.state == "answered":
                self.monitor.resume(condition.name)
        return True

    def _remember(self, iteration: Iteration, decision: Decision, now: Now) -> None:
        history, course = self.history, self.course
        course.iterations.append(iteration)
        course.decisions.append(decision)
        course.elapsed.append(history.elapsed_ms if history.elapsed_known else None)
        course.best.append(history.best_score)
        for condition in decision.conditions:
            if condition.state == "answered":
                self.monitor.resume(condition.name)
            elif condition.state != "true":
                continue
            elif condition.kind == "phase_done":
                self.gate.advance()
            elif condition.action == "nudge":
                words = condition.reason.value.replace("_", " ")
                now.orders.sections.append(f"Warning ({condition.name}): {words}. Do otherwise.")
        if iteration.work_order is not None or now.orders.sections:
            self.prompt_assumed = True
        turn = iteration.turn
        for text in (turn.plan, turn.feedback):
            if text is not None:
                # One list for the whole loop: it only grows.
                now.orders.tried.append(text.text)
        self.orders = now.orders
