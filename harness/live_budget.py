"""May a batch of tool calls run, before any of it does?"""

from __future__ import annotations

from dataclasses import dataclass

from harness.session import Session


@dataclass(frozen=True, slots=True)
class Refusal:
    """A batch of tool calls that must not run, because a budget would be exceeded."""

    guard: str
    asked: int
    left: int
    message: str


def refusal(session: Session, calls: int) -> Refusal | None:
    """Why a batch must not run; ``None`` means go ahead.

    Args:
        session: Guards the loop.
        calls: How many calls the batch has; it runs whole or not at all.
    """
    for name, guard in session.preset.guards.items():
        left = guard.threshold - session.history.calls
        if guard.kind() == "tool_budget" and calls > left and not session.observe:
            words = f"refused: {calls} calls asked for, {left:g} left of {guard.threshold:g}"
            return Refusal(name, calls, int(left), words)
    return None
