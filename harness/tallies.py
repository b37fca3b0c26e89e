"""Counts over single calls, for rules that pass nothing over and look at each tool by itself.

A history feeds a tally once a guard has asked for it; see ``History.tally``.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from harness.trace import Call, Turn


class Tally(Protocol):
    """Something that counts turns, one after another."""

    def push(self, turn: Turn) -> None:
        """Take in the newest turn."""


T = TypeVar("T", bound=Tally)


class Failures:
    """How often a call has failed since it last succeeded.

    Attributes:
        worst: The highest count among the newest turn's calls; 0 without a call.
        seen: Whether there was any call, and the newest could be told from others.

    Args:
        identity: Of the call: ``args``, ``action``, or ``any`` for all calls alike.
        counts: ``any`` failure, or those of the ``tool``: a command that ran and ended with an
            exit code did what it was asked.
        broken_by: Its own ``success`` ends the count, or ``any other`` call does so too.
    """

    __slots__ = ("_broken_by", "_counts", "_failed", "_identity", "seen", "worst")

    def __init__(self, identity: str, counts: str, broken_by: str) -> None:
        self._identity = identity
        self._counts = counts
        self._broken_by = broken_by
        self._failed: dict[str, int] = {}
        self.worst = 0
        self.seen = False

    def push(self, turn: Turn) -> None:
        """Take in the newest turn."""
        self.worst = 0
        for call in turn.calls:
            key = "" if self._identity == "any" else call.prints.get(self._identity)
            self.seen = key is not None
            if key is None:
                # Not captured; it may be the success of any.
                self._failed.clear()
                continue
            count = self._failed.pop(key, 0) + 1 if self._fails(call) else 0
            if self._broken_by == "any other":
                self._failed.clear()
            if count:
                self._failed[key] = count
            else:
                self._failed.pop(key, None)
            self.worst = max(self.worst, count)

    def _fails(self, call: Call) -> bool:
        return not call.ok and (self._counts == "any" or call.exit_code is None)


class Rounds:
    """How many rounds running each tool was called with the same set of calls.

    A round of a tool is a turn that calls it; turns that do not are passed over.

    Attributes:
        longest: The longest streak among the newest turn's tools; 0 without a call.
        seen: Whether there was any call, and the newest turn's could be told from others.
    """

    __slots__ = ("_identity", "_streaks", "longest", "seen")

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._streaks: dict[str, tuple[frozenset[str], int]] = {}
        self.longest = 0
        self.seen = False

    def push(self, turn: Turn) -> None:
        """Take in the newest turn."""
        self.longest = 0
        by_tool: dict[str, set[str]] = {}
        if self._identity in turn.unseen:
            self.seen = False
            self._streaks.clear()
            return
        for call in turn.calls:
            by_tool.setdefault(call.tool, set()).add(call.prints[self._identity])
        for tool, calls in by_tool.items():
            self.seen = True
            before, streak = self._streaks.get(tool, (None, 0))
            now = frozenset(calls)
            streak = streak + 1 if before == now else 1
            self._streaks[tool] = (now, streak)
            self.longest = max(self.longest, streak)
