"""What mechanisms share: one iteration in the making, the ties of an episode, the stage protocol.

A mechanism is a stage: it reads ``Now`` and adds to it. Which stages run, and in which order, is
decided in ``harness.session``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from harness.history import History
from harness.llm import LLM, Request
from harness.trace import CheckResult, Evaluation, MechanismEvent, Reply, Turn
from harness.turns import priced
from harness.verdicts import Condition
from harness.workorder import Orders

_UNSCORED = Evaluation()


#: Skips and abstentions are the same ones again and again, so they are shared.
_event = lru_cache(maxsize=4096)(MechanismEvent)


@dataclass(frozen=True, slots=True)
class Ties:
    """What an episode's stages hold on to.

    Attributes:
        nonce: Tells this episode's prompt sections from anything an agent could write.
        models: Model names of the classes ``fast`` and ``quality``.
    """

    llm: LLM
    history: History
    goal: str
    nonce: str
    models: Mapping[str, str]
    capabilities: tuple[str, ...] = ()
    init_perception: str | None = None


@dataclass(slots=True)
class Now:
    """One iteration in the making; stages read it and add to it.

    Attributes:
        last: The agent stopped by itself with this turn.
        orders: What the next work order will be made of.
        own_end: The agent declared the end (marker, own stop, a handler's exit).
        answered_end: Somebody who can judge has looked at this iteration.
        triaged: Code alone decided; model roles are skipped.
    """

    number: int
    turn: Turn
    ties: Ties
    orders: Orders
    last: bool = False
    evaluation: Evaluation = _UNSCORED
    replies: list[Reply] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    events: list[MechanismEvent] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    overlap: float | None = None
    triaged: bool = False
    own_end: bool = False
    answered_end: bool = False
    spinning: bool = False
    warnings: int = 0
    force_perception: str | None = None
    verified_now: bool = False

    @property
    def elapsed_ms(self) -> int:
        """Loop time at this point: everything before, the turn, and the role calls so far."""
        known = self.ties.history.elapsed_ms + self.turn.known_ms
        if len(self.replies) == 1:
            return known
        return known + sum(reply.ms or 0 for reply in self.replies[1:])

    def note(
        self,
        mechanism: str,
        event: str,
        trigger: str | None = None,
        reason: str | None = None,
        result: str | None = None,
    ) -> None:
        """Record a run or a skip of a mechanism."""
        self.events.append(_event(mechanism, event, trigger, reason, result))

    def call(self, role: str, prompt: str, model_class: str, **settings: Any) -> Reply | None:
        """Ask a role about the turn; ``None`` where the recording never asked it here.

        The reply counts for tokens, money and time, also where its transport failed.
        """
        llm = self.ties.llm
        number = 1
        if len(self.replies) > 1:
            number += sum(reply.role == role for reply in self.replies)
        if not llm.knows(role, self.number, number):
            return None
        messages: tuple[dict[str, str], ...] = ()
        if llm.reads:
            seen = observation(self.ties.goal, self.turn)
            messages = ({"role": "system", "content": prompt}, {"role": "user", "content": seen})
        reply = llm.ask(Request(role, self.number, number, messages, settings))
        reply = priced(reply, self.ties.models[model_class])
        self.replies.append(reply)
        return reply

    def ask(self, role: str, prompt: str, model_class: str, **settings: Any) -> str | None:
        """Text of a role's reply; ``None`` where there is none or its transport failed."""
        reply = self.call(role, prompt, model_class, **settings)
        if reply is None:
            return None
        if reply.error is not None:
            self.note(role, "error", None, reply.error)
            return None
        return reply.text


def observation(goal: str, turn: Turn) -> str:
    """What a role gets to see of a turn: the goal, the words, each call with its result, files.

    Args:
        goal: What the loop works on.
        turn: What the iteration brought in; long texts are cut in the middle.
    """
    parts = [f"Goal: {goal}"]
    if turn.user:
        parts.append(f"A person said: {_cut(turn.user)}")
    parts.append(f"The agent: {_cut(turn.reply.text)}")
    for call in turn.calls:
        ended = "ok" if call.ok else "failed"
        code = "" if call.exit_code is None else f", exit code {call.exit_code}"
        parts.append(f"Call {call.tool} {_cut(call.args)} ({ended}{code}): {_cut(call.result)}")
    if turn.output:
        parts.append(f"Output: {_cut(turn.output.text)}")
    if turn.writes:
        parts.append(f"Files changed so far: {_cut(', '.join(sorted(turn.writes)))}")
    return "\n".join(parts)


def _cut(text: str | None, most: int = 4000) -> str:
    text = text or ""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} […] {text[-half:]}"


class Stage(ABC):
    """One mechanism in the course of an iteration."""

    #: Its name in presets, events and documentation.
    name: str

    @abstractmethod
    def run(self, now: Now) -> None:
        """Look at the iteration and add what was found."""
