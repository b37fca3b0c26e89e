"""What the adapters share: a guarded loop that is told of turns and says what the agent hears."""

from __future__ import annotations

from typing import Any

from harness.agent import hints_of
from harness.errors import HarnessError
from harness.live import LoopGuard
from harness.openai_llm import usage_from
from harness.recorded import counts
from harness.verdicts import Decision


class GuardStopped(HarnessError):  # noqa: N818 - nothing went wrong
    """A guard ended the run, or paused it; its message says why.

    Attributes:
        decision: What was decided, with exit reason and conditions.
        guard: The guard: its ``result`` is what a caller may use, its ``recording()`` replays.
    """

    def __init__(self, guard: LoopGuard, decision: Decision) -> None:
        super().__init__(guard.message)
        self.guard = guard
        self.decision = decision


class Loop:
    """One guarded loop of a framework.

    Args:
        guard: Guards this one loop; another loop needs another guard.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self.guard = guard
        self._user: str | None = None
        self._hints: list[str] = []
        self._told: list[str] = []

    @property
    def ended(self) -> bool:
        """Whether the last decision ended or paused the loop."""
        decision = self.guard.decision
        return decision is not None and decision.ends

    def stopped(self) -> GuardStopped | None:
        """What to raise where the loop has ended."""
        decision = self.guard.decision
        return GuardStopped(self.guard, decision) if decision and decision.ends else None

    def begin(self, message: str | None) -> None:
        """A run begins; on a loop that has begun before, a person goes on with ``message``.

        Raises:
            HarnessError: The loop ended for good.
        """
        if self.guard.decision is None:
            return
        if self.ended:
            self.guard.resume(message)
        self._user = message

    def refusal(self, calls: int) -> str | None:
        """Words for a batch that must not run; ``None``: it may."""
        refused = self.guard.allows(calls=calls) if calls else None
        return refused.message if refused is not None else None

    def told(self, text: str) -> None:
        """Somebody else says this to the agent before its next turn: the framework, a refusal."""
        self._told.append(text)

    def nudge(self) -> str | None:
        """What the agent is to hear before its next turn; recorded as told. Given once."""
        found, self._hints = self._hints, []
        self._told += found
        return "\n".join(found) or None

    def work_order(self) -> str | None:
        """Text ahead of the agent's next input; ``None`` where the preset makes none."""
        return self.guard.work_order(self._user)

    def observe(self, **turn: Any) -> Decision:
        """Take in one iteration (``LoopGuard.observe``)."""
        return self._learn(self.guard.observe(**self._with_said(turn)))

    async def aobserve(self, **turn: Any) -> Decision:
        """``observe`` for asyncio."""
        return self._learn(await self.guard.aobserve(**self._with_said(turn)))

    def _with_said(self, turn: dict[str, Any]) -> dict[str, Any]:
        """The turn with what was said to the agent before it."""
        if self._user is not None:
            turn["user"] = self._user
        if self._told:
            turn["nudge"] = "\n".join(self._told)
        self._user, self._told = None, []
        return turn

    def _learn(self, decision: Decision) -> Decision:
        self._hints = hints_of(decision)
        return decision


def tokens(
    *, asked: int, answered: int, read: int = 0, written: int = 0, reasoned: int = 0
) -> dict[str, int] | None:
    """Token counts of a framework as counts that do not overlap.

    Args:
        asked: All input tokens, with what a cache read and wrote.
        answered: All output tokens, with the reasoning.
        read: Of the input, read from a cache.
        written: Of the input, written to a cache.
        reasoned: Of the output, the reasoning.

    Returns:
        As ``LoopGuard.observe`` takes them; ``None`` where nothing was counted, because
        frameworks fill in zeros for a server that says nothing.
    """
    if not asked and not answered:
        return None
    usage = usage_from(
        {
            "prompt_tokens": asked,
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
            "completion_tokens": answered,
            "completion_tokens_details": {"reasoning_tokens": reasoned},
        }
    )
    return counts(usage)
