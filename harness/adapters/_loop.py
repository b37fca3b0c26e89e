"""What the adapters share: a guarded loop that is told of turns and says what the agent hears."""

from __future__ import annotations

from typing import Any

from harness.agent import hints_of
from harness.errors import HarnessError
from harness.live import LoopGuard
from harness.live_state import Said
from harness.openai_llm import usage_from
from harness.recorded import counts
from harness.verdicts import Decision

#: How many runs are remembered, to refuse one that a later one has overtaken.
_RUNS = 64


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
        self._run: object = None
        self._runs: dict[object, object] = {}

    @property
    def said(self) -> Said:
        """What was said and is not recorded yet; it is saved with the guard."""
        return self.guard.said

    @property
    def ended(self) -> bool:
        """Whether the last decision ended or paused the loop."""
        decision = self.guard.decision
        return decision is not None and decision.ends

    def stopped(self) -> GuardStopped | None:
        """What to raise where the loop has ended."""
        decision = self.guard.decision
        return GuardStopped(self.guard, decision) if decision and decision.ends else None

    def enter(self, run: object, kept: object = None) -> bool:
        """Something happens in a run, perhaps its first.

        Args:
            run: What the run is known by.
            kept: Kept alive with it, where ``run`` is the id of an object.

        Returns:
            Whether the run is new; time since the last sign of life was no work of the loop.

        Raises:
            HarnessError: Another run has begun since: the guard is in two runs at once.
        """
        if run == self._run:
            return False
        if run in self._runs:
            raise HarnessError(
                "guard: in two runs at once; a guard guards one conversation, its runs in turn"
            )
        self._run, self._runs[run] = run, kept
        if len(self._runs) > _RUNS:
            del self._runs[next(iter(self._runs))]
        self.guard.watch.waited()
        return True

    def current(self, run: object) -> bool:
        """Whether this is the run that the loop is in."""
        return run == self._run

    def begin(self, message: str | None) -> None:
        """A run begins; on a loop that has begun before, a person goes on with ``message``.

        The same words after a run that broke off are the same request, made again.

        Raises:
            HarnessError: The loop ended for good.
        """
        said = self.said
        known = said.open or self.guard.decision is not None
        again = said.open and message == said.prompt
        said.open, said.prompt = True, message
        if self.ended:
            self.guard.resume(message)
        if known and not again:
            said.user = message

    def unheard(self) -> bool:
        """Whether a turn that was cut off has ended the loop for good, unheard of until now."""
        cut, self.said.cut = self.said.cut, False
        return cut and self.ended and self.guard.episode().status != "paused"

    def replied(self) -> None:
        """The model has replied: what was said until now was said before this turn."""
        self.guard.watch.worked()
        said = self.said
        new = {"user": said.user, "nudge": "\n".join(said.told) or None}
        # What was said before a reply that nobody has observed was said before this one, too.
        said.before |= {key: text for key, text in new.items() if text is not None}
        said.user, said.told = None, []

    def refusal(self, calls: int) -> str | None:
        """Words for a batch that must not run; ``None``: it may."""
        refused = self.guard.allows(calls=calls) if calls else None
        return refused.message if refused is not None else None

    def told(self, text: str) -> None:
        """Somebody else says this to the agent before its next turn: the framework, a refusal."""
        self.said.told.append(text)

    def nudge(self) -> str | None:
        """What the agent is to hear before its next turn; recorded as told. Given once."""
        found, self.said.hints = self.said.hints, []
        self.said.told += found
        return "\n".join(found) or None

    def work_order(self) -> str | None:
        """Text ahead of the agent's next input; ``None`` where the preset makes none."""
        return self.guard.work_order(self.said.user)

    def observe(self, *, cut: bool = False, **turn: Any) -> Decision:
        """Take in one iteration (``LoopGuard.observe``).

        Args:
            cut: Its run broke off.
            turn: What ``LoopGuard.observe`` takes.
        """
        return self._learn(self.guard.observe(**self._with_said(turn)), cut)

    async def aobserve(self, *, cut: bool = False, **turn: Any) -> Decision:
        """``observe`` for asyncio."""
        return self._learn(await self.guard.aobserve(**self._with_said(turn)), cut)

    def _with_said(self, turn: dict[str, Any]) -> dict[str, Any]:
        """The turn with what was said to the agent before it."""
        before, self.said.before = self.said.before, {}
        self.said.open, self.said.asked = not turn.get("last", False), None
        return {**turn, **before}

    def _learn(self, decision: Decision, cut: bool) -> Decision:
        self.said.hints, self.said.cut = hints_of(decision), cut
        return decision


def unanswered(call: dict[str, Any], error: str | None = None) -> dict[str, Any]:
    """A call whose run broke off before its result came: not ok, its result unknown.

    Args:
        call: As ``LoopGuard.observe`` takes it.
        error: What it raised, where that is known.
    """
    if "result" in call:
        return call
    return {**call, **({} if error is None else {"result": error}), "ok": False}


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
