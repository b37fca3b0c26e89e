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
from dataclasses import dataclass
from typing import Any, Self

from harness.clock import Clock, RealClock
from harness.episode import Episode
from harness.errors import HarnessError, ReplayMiss
from harness.fingerprint import digest
from harness.gates import Workspace
from harness.hooks import After, Hooks
from harness.llm import LLM, RecordedLLM, Request
from harness.loop import episode_of, pair_key
from harness.preset import Preset, load_preset
from harness.scenario import SCHEMA, Scenario, Step
from harness.session import Session
from harness.trace import Decision, Reply, Turn
from harness.turns import prepare, turn_from


@dataclass(frozen=True, slots=True)
class Refusal:
    """A batch of tool calls that must not run, because a budget would be exceeded."""

    guard: str
    asked: int
    left: int
    message: str


class _Roles:
    """Who answers the roles just now: a model, a recording while a state is restored, nobody."""

    def __init__(self, llm: LLM | None) -> None:
        self.current = llm

    @property
    def reads(self) -> bool:
        return self.current is not None and self.current.reads

    def knows(self, role: str, iteration: int, n: int) -> bool:
        return self.current is not None and self.current.knows(role, iteration, n)

    def ask(self, request: Request) -> Reply:
        if self.current is None:
            raise ReplayMiss(lambda: f"nobody answers role {request.role!r}")
        return self.current.ask(request)


class _Echo:
    """Answers a shadow session with what the active one was just told; asks nobody itself."""

    reads = False

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}

    def knows(self, role: str, iteration: int, n: int) -> bool:
        return n <= len(self.replies.get(role, ()))

    def ask(self, request: Request) -> Reply:
        return self.replies[request.role][request.n - 1]


class LoopGuard:
    """Guards one live loop.

    Args:
        preset: Name, ``.toml`` file or a loaded preset.
        goal: What the loop works on.
        task: Further keys of a scenario: ``limits``, ``phases``, ``tools``, ``direction``,
            ``score_scale``, ``completion_marker``, ``capabilities``.
        llm: Answers judge, verifier and the other roles; left out: they abstain.
        shadow: A second preset that only observes the same traffic, to compare two versions; it
            makes no model calls of its own.
        workspace: Where gates look for files; left out: what ``writes`` says.
        clock: Tells time where the caller does not; left out: the machine's.
        hooks: Where the application takes part. As a context manager the guard calls
            ``finalise`` however the loop ends.
        name: Id of the recording, ``family/name``.

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
        self._head = _head({"schema": SCHEMA, "id": name, "goal": goal, **(task or {})})
        reset = self._hooks.init(Scenario.model_validate({**self._head, "steps": [{}]}))
        if reset is not None:
            self._head["init"] = {"perception": reset}
        self._roles = _Roles(llm)
        self._llm = llm
        self._clock = clock or RealClock()
        self._last_ms = self._clock.now_ms()
        self._steps: list[dict[str, Any]] = []
        self._task = Scenario.model_validate({**self._head, "steps": [{}]})
        self.session = self._session(self._preset, self._roles, workspace)
        self._echo = _Echo()
        shadowed = load_preset(shadow) if isinstance(shadow, str) else shadow
        self.shadow = (
            None if shadowed is None
            else self._session(shadowed.observed(), self._echo, workspace)
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.session.course.iterations:
            self._hooks.finalise(self.episode())

    def _session(self, preset: Preset, llm: LLM, workspace: Workspace | None) -> Session:
        tools = self._task.tools
        return Session(
            self._task,
            preset,
            llm,
            nonce=digest("nonce", self._task.id, preset.hash),
            has_tools=None if tools is None else bool(tools),
            workspace=workspace,
        )

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
        for name, guard in self.session.preset.guards.items():
            left = guard.threshold - self.session.history.calls
            if guard.kind() == "tool_budget" and calls > left and not self.session.observe:
                words = f"refused: {calls} calls asked for, {left:g} left of {guard.threshold:g}"
                return Refusal(name, calls, int(left), words)
        return None

    def observe(
        self,
        *,
        text: str = "",
        calls: Sequence[Mapping[str, Any]] = (),
        model: str | None = None,
        usage: Mapping[str, int] | None = None,
        finish_reason: str | None = None,
        ms: int | None = None,
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
                included.
            error: The provider call failed with this.
            last: The agent stopped by itself with this turn.
            step: Further keys of a step: ``user, nudge, interrupted, output, plan, score,
                feedback, writes, confirms, handler, idle_ms, loop, judge, roles``.

        Raises:
            HarnessError: The loop has ended, or a value breaks a rule of the format.
        """
        before = self.decision
        if before is not None and before.ends:
            raise HarnessError(
                f"{self._task.id}: ended with {before.exit}; a paused loop goes on with resume()"
            )
        now_ms = self._clock.now_ms()
        timed = [dict(call) for call in calls]
        if ms is None:
            # One measured span holds the reply and its calls.
            ms = now_ms - self._last_ms
            for call in timed:
                call.setdefault("ms", 0)
        self._last_ms = now_ms
        reply = {
            "text": text, "model": model, "usage": usage, "finish_reason": finish_reason,
            "ms": ms, "error": error,
        }  # fmt: skip
        data = {"reply": {k: v for k, v in reply.items() if v is not None}, "calls": timed, **step}
        return self._take(data, last=last)

    async def aobserve(self, **iteration: Any) -> Decision:
        """``observe`` for asyncio: roles are asked in a thread, the event loop goes on."""
        return await asyncio.to_thread(lambda: self.observe(**iteration))

    def resume(self, message: str | None = None) -> None:
        """Go on after a pause: counts go on, the cause of the pause starts anew.

        Args:
            message: What the person said; hand it on as ``user`` of the next ``observe``.

        Raises:
            HarnessError: The loop is not paused.
        """
        self.session.resume()
        self.session.orders.message = message

    def recording(self) -> dict[str, Any]:
        """The loop so far as a scenario: replayed under the same preset it decides the same."""
        trunk: list[dict[str, Any]] = []
        branches: dict[str, list[list[dict[str, Any]]]] = {}
        target = trunk
        for step, decision in zip(self._steps, self.session.course.decisions, strict=True):
            target.append(step)
            if not self.session.observe and decision.name in ("switch_strategy", "delegate"):
                target = []
                branches.setdefault(decision.name, []).append(target)
        found = {**self._head, "steps": trunk}
        filled = {kind: [b for b in lists if b] for kind, lists in branches.items()}
        filled = {kind: lists for kind, lists in filled.items() if lists}
        return {**found, "branches": filled} if filled else found

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, elsewhere; plain JSON."""
        return {"preset": self._preset.source, "recording": self.recording()}

    @classmethod
    def restore(cls, state: Mapping[str, Any], **options: Any) -> LoopGuard:
        """A loop as it was when ``state`` was saved; nothing is asked again.

        Args:
            state: What ``state`` returned.
            options: As for the constructor: ``llm``, ``workspace``, ``clock``, ``shadow``, and
                ``preset`` where it was made in Python and has no name or file to load it from.
        """
        recording = dict(state["recording"])
        scenario = Scenario.model_validate(recording)
        head = {k: v for k, v in recording.items() if k not in ("steps", "branches")}
        task = {k: v for k, v in head.items() if k not in ("schema", "id", "goal")}
        preset = options.pop("preset", state["preset"])
        guard = cls(preset, goal=scenario.goal, task=task, name=scenario.id, **options)
        tape = RecordedLLM(prepare(scenario))
        guard._roles.current = tape
        number, turn = 1, tape.turn(1)
        data = {"": recording["steps"], **{
            f"{kind}[{n}]": steps
            for kind, lists in recording.get("branches", {}).items()
            for n, steps in enumerate(lists)
        }}  # fmt: skip
        while turn is not None:
            branch, at = turn.source
            if guard.decision is not None and guard.decision.ends:
                guard.session.resume()
            decision = guard._take(data[branch][at - 1])
            if decision.name in ("switch_strategy", "delegate"):
                tape.switch(decision.name, number)
            number += 1
            turn = tape.turn(number)
        guard._roles.current = guard._llm
        return guard

    def episode(self) -> Episode:
        """The typed trace of the loop so far, as a replay would give it."""
        key = pair_key(self._task, self._preset, self.session.observe, 0)
        return episode_of(self.session, self._task, self._preset, key, 0)

    def _take(self, data: dict[str, Any], *, last: bool = False) -> Decision:
        number = len(self._steps) + 1
        turn = self._turn(number, data)
        wanted = self._hooks.handler(turn)
        if wanted:
            data = {**data, "handler": {**data.get("handler", {}), **wanted}}
            turn = self._turn(number, data)
        decision = self.session.step(turn, last=last)
        asked = self.session.course.iterations[-1].replies[1:]
        self._steps.append(_with_roles(data, asked))
        if self.shadow is not None:
            self._echo.replies = {}
            for reply in asked:
                self._echo.replies.setdefault(reply.role, []).append(reply)
            self.shadow.step(turn, last=last)
        self._hooks.after(self._after(number, decision))
        return decision

    def _turn(self, number: int, data: dict[str, Any]) -> Turn:
        spec = _step(self._task.id, number, data)
        return turn_from(spec, self._task, writes=spec.writes, wait_ms=self._preset.wait_ms)

    def _after(self, number: int, decision: Decision) -> After:
        events = self.session.course.iterations[-1].events
        return After(
            iteration=number,
            decision=decision,
            done=decision.ends,
            reason=decision.exit.value if decision.exit else None,
            spinning=any(e.mechanism == "spin_layers" and e.event == "warning" for e in events),
            warnings=self.session.spin_warnings,
            perception=self.session.perception,
        )


def _head(head: dict[str, Any]) -> dict[str, Any]:
    from pydantic import ValidationError

    from harness.validation import problem

    try:
        Scenario.model_validate({**head, "steps": [{}]})
    except ValidationError as error:
        raise HarnessError(f"loop {head.get('id')}: task{problem(error)}") from None
    return dict(head)


def _step(name: str, number: int, data: dict[str, Any]) -> Step:
    from pydantic import ValidationError

    from harness.validation import problem

    try:
        return Step.model_validate(data)
    except ValidationError as error:
        raise HarnessError(f"loop {name}: iteration {number}{problem(error)}") from None


def _with_roles(data: dict[str, Any], asked: Sequence[Reply]) -> dict[str, Any]:
    """The step with the replies that the roles gave, as a recording holds them."""
    if not asked:
        return data
    roles: dict[str, list[dict[str, Any]]] = {}
    for reply in asked:
        roles.setdefault(reply.role, []).append(_recorded(reply))
    judged = roles.pop("judge", [])
    found = dict(data)
    if judged:
        found["judge"] = judged[0]
    if roles:
        found["roles"] = {**data.get("roles", {}), **roles}
    return found


def _recorded(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    counts = None if usage is None else {
        "input": usage.input, "cache_read": usage.cache_read, "cache_write": usage.cache_write,
        "output": usage.output, "reasoning": usage.reasoning,
    }  # fmt: skip
    values = {
        "text": reply.text, "model": reply.model, "ms": reply.ms, "usage": counts,
        "finish_reason": reply.finish_reason, "error": reply.error,
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}
