"""Guarding a live loop: the objects that are tested in replay, around any while-loop.

::

    guard = LoopGuard("balanced", goal="Fix the failing test")
    while True:
        reply = agent.step(guard.work_order())
        decision = guard.observe(text=reply.text, calls=reply.calls, score=reply.score)
        if decision.ends:
            break
    print(guard.message)

What is observed is also recorded, so that the night's loop can be replayed in the morning with
the same decisions: ``recording()``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from harness import recorded
from harness.clock import Clock, RealClock
from harness.episode import Episode
from harness.errors import HarnessError
from harness.fingerprint import digest
from harness.gates import Workspace
from harness.hooks import After, Hooks
from harness.live_budget import Refusal, refusal
from harness.live_roles import Answering
from harness.live_state import Said, checked_state
from harness.live_time import Stopwatch
from harness.llm import LLM
from harness.loop import episode_of, pair_key
from harness.preset import Preset, load_preset
from harness.scenario import SCHEMA, Scenario
from harness.session import Session
from harness.trace import Turn
from harness.turns import turn_from
from harness.verdicts import Decision


class LoopGuard:
    """Guards one live loop.

    Args:
        preset: Name, ``.toml`` file or a loaded preset.
        goal: What the loop works on.
        task: Further keys of a scenario: ``limits``, ``phases``, ``tools``, ``direction``,
            ``score_scale``, ``completion_marker``, ``capabilities``.
        llm: Answers judge, verifier and the other roles where ``observe`` is handed no answer;
            left out: they abstain.
        shadow: A second preset that only observes the same traffic, to compare two versions; it
            makes no model calls of its own.
        workspace: Where gates look for files; left out: what ``writes`` says.
        clock: Tells time where the caller does not; left out: the machine's.
        hooks: Where the application takes part. As a context manager the guard calls
            ``finalise`` however the loop ends.
        name: Id of the recording, ``family/name``.

    Attributes:
        watch: ``watch.waited()`` where a wait ends: the time since then is idle, no reply took it.
        said: What adapters have yet to record; saved with the loop.

    Raises:
        HarnessError: An unknown preset, or a task that breaks a rule of the format.
    """

    def __init__(
        self,
        preset: str | Preset = "balanced",
        *,
        goal: str,
        task: Mapping[str, Any] | None = None,
        llm: LLM | None = None,
        shadow: str | Preset | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
        hooks: Hooks | None = None,
        name: str = "live/loop",
    ) -> None:
        self._preset = load_preset(preset) if isinstance(preset, str) else preset
        self._hooks = hooks or Hooks()
        head = {"schema": SCHEMA, "id": name, "goal": goal, **(task or {})}
        self._head = recorded.checked_head(head)
        reset = self._hooks.init(Scenario.model_validate({**self._head, "steps": [{}]}))
        if reset is not None:
            self._head["init"] = {"perception": reset}
        self._roles = Answering(llm)
        self._llm = llm
        self.watch = Stopwatch(clock or RealClock())
        self.said = Said()
        self._steps: list[dict[str, Any]] = []
        self._writes: list[str] | None = None
        self._answer: str | None = None
        self._stopped = False
        self._task = Scenario.model_validate({**self._head, "steps": [{}]})
        self.session = self._session(self._preset, self._roles, workspace)
        self._echo = Answering()
        self.shadow: Session | None = None
        if shadow is not None:
            seen = load_preset(shadow) if isinstance(shadow, str) else shadow
            self.shadow = self._session(seen.observed(), self._echo, workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.session.course.iterations:
            self._hooks.finalise(self.episode())

    def _session(self, preset: Preset, llm: LLM, workspace: Workspace | None) -> Session:
        tools = self._task.tools
        return Session(
            self._task, preset, llm, nonce=digest("nonce", self._task.id, preset.hash),
            has_tools=None if tools is None else bool(tools), workspace=workspace,
        )  # fmt: skip

    @property
    def decision(self) -> Decision | None:
        """The last decision."""
        decisions = self.session.course.decisions
        return decisions[-1] if decisions else None

    @property
    def message(self) -> str:
        """In words, how things stand or how the loop ended."""
        return self.episode().message

    @property
    def result(self) -> str | None:
        """What a caller may use: the best result, or nothing where a person has to look first.

        Raises:
            HarnessError: The loop ended on a limit and the preset says ``on_limit = "raise"``.
        """
        episode = self.episode()
        if episode.exit_group == "limit" and self._preset.on_limit == "raise":
            raise HarnessError(f"{self._task.id}: {episode.message}")
        return episode.result

    def work_order(self, message: str | None = None) -> str | None:
        """Text ahead of the actor's next input; ``None`` where the preset makes none.

        Args:
            message: What a person has just said.
        """
        return self.session.work_order(message)

    def allows(self, *, calls: int) -> Refusal | None:
        """Ask before a batch of tool calls runs; ``None`` means go ahead.

        Args:
            calls: How many calls the batch has; it runs whole or not at all.
        """
        return refusal(self.session, calls)

    def observe(
        self,
        *,
        text: str = "",
        calls: Sequence[Mapping[str, Any]] = (),
        model: str | None = None,
        usage: Mapping[str, int] | None = None,
        finish_reason: str | None = None,
        ms: int | Literal["unknown"] | None = None,
        request_hash: str | None = None,
        error: str | None = None,
        last: bool = False,
        **step: Any,
    ) -> Decision:
        """Take in one iteration and get a decision with its reason.

        Args:
            text: The agent's reply.
            calls: Its tool calls as in a scenario: ``tool, args, result, ok, exit_code, ms``.
            model: Model of the reply, for its price.
            usage: ``input`` (uncached), ``cache_read``, ``cache_write``, ``output``, ``reasoning``.
            finish_reason: As the provider gives it.
            ms: How long the reply took; left out: the time since the last observation, calls
                included. Idle time (``watch.waited``, ``resume``, ``idle_ms``) is apart, always.
                ``"unknown"``: nobody can tell, and guards of time abstain.
            request_hash: Hash of the request that was answered, to be kept in the recording.
            error: The provider call failed with this.
            last: The agent stopped by itself with this turn.
            step: Further keys of a step: ``user, nudge, interrupted, output, plan, score,
                feedback, writes, confirms, handler, idle_ms, loop``; ``judge`` and ``roles`` are
                answers, and no model is asked for them. Where files are tracked, the first step
                says so with ``writes=[]``.

        Raises:
            HarnessError: The loop has ended, or a value breaks a rule of the format.
        """
        before = self.decision
        if before is not None and before.ends:
            raise HarnessError(
                f"{self._task.id}: ended with {before.exit}; a paused loop goes on with resume()"
            )
        ms, timed, idle = self.watch.timed(ms, calls, step.get("idle_ms"))
        reply = recorded.known(
            text=text, model=model, usage=usage, finish_reason=finish_reason,
            request_hash=request_hash, error=error, ms=None if ms == "unknown" else ms,
        )  # fmt: skip
        data = {"reply": reply, "calls": timed, **idle, **step}
        if self._answer is not None and data.get("user") is None:
            data["user"] = self._answer
        decision, self._answer = self._take(data, last=last), None
        return decision

    async def aobserve(self, **iteration: Any) -> Decision:
        """``observe`` for asyncio: roles are asked in a thread, the event loop goes on."""
        return await asyncio.to_thread(lambda: self.observe(**iteration))

    def resume(self, message: str | None = None) -> None:
        """Go on after a pause: counts go on, its cause starts anew; recorded as answered.

        Args:
            message: What the person said: ``user`` of the next ``observe``, unless that names one.

        Raises:
            HarnessError: The loop is not paused.
        """
        self.session.resume()
        self.session.orders.message = message
        self._answer = message or ""
        self.watch.waited()

    def recording(self) -> dict[str, Any]:
        """The loop so far as a scenario: replayed under the same preset it decides the same."""
        decisions, observe = self.session.course.decisions, self.session.observe
        head = recorded.stopped(self._head) if self._stopped else self._head
        return recorded.assembled(head, self._steps, decisions, observe=observe)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, elsewhere; plain JSON."""
        state = {"preset": self._preset.source, "recording": self.recording()}
        beside = {"answer": self._answer, "said": self.said.saved(), **self.watch.saved()}
        return state | {key: value for key, value in beside.items() if value is not None}

    @classmethod
    def restore(cls, state: Mapping[str, Any], **options: Any) -> LoopGuard:
        """A loop as it was when ``state`` was saved; nothing is asked again.

        Args:
            state: What ``state`` returned.
            options: As for the constructor: ``llm``, ``workspace``, ``clock``, ``shadow``, and
                ``preset`` where it was made in Python and has no name or file to load it from.

        Raises:
            HarnessError: The state breaks a rule; names the key.
        """
        found = checked_state(state)
        guard = cls(**found.arguments(options.pop("preset", None)), **options)
        guard._roles.current = None

        def take(step: dict[str, Any], stopped: bool) -> Decision:
            if guard.decision is not None and guard.decision.ends:
                guard.session.resume()
            return guard._take(step, last=stopped)

        recorded.walk(found.recording, take)
        guard._roles.current = guard._llm
        if found.answer is not None:
            guard.resume(found.answer)
        guard.said = found.said
        guard.watch.idle_ms, guard.watch.worked_ms = found.idle_ms, found.worked_ms
        return guard

    def episode(self) -> Episode:
        """The typed trace of the loop so far, as a replay would give it."""
        task, key = self._task, pair_key(self._task, self._preset, self.session.observe, 0)
        if self._stopped:
            task = task.model_copy(update={"recorded": recorded.OWN_STOP})
        return episode_of(self.session, task, self._preset, key, 0)

    def _take(self, data: dict[str, Any], *, last: bool = False) -> Decision:
        number = len(self._steps) + 1
        turn = self._turn(number, data)
        if wanted := self._hooks.handler(turn):
            data = {**data, "handler": {**data.get("handler", {}), **wanted}}
            turn = self._turn(number, data)
        self._roles.hear(turn.roles)
        decision = self.session.step(turn, last=last)
        new = recorded.added(turn.roles, self.session.course.iterations[-1].replies[1:])
        self._steps.append(recorded.with_roles(data, new))
        self._stopped = last and not decision.ends
        if self.shadow is not None:
            turn = self._turn(number, self._steps[-1])
            self._echo.hear(turn.roles)
            self.shadow.step(turn, last=last)
        self._hooks.after(After.of(self.session, number, decision))
        return decision

    def _turn(self, number: int, data: dict[str, Any]) -> Turn:
        spec = recorded.checked_step(self._task.id, number, data)
        # Cumulative, as in a scenario: a step that does not mention it changed nothing.
        self._writes = self._writes if spec.writes is None else spec.writes
        return turn_from(spec, self._task, writes=self._writes, wait_ms=self._preset.wait_ms)
