"""Where an application takes part in a guarded loop: start, action, iteration, end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.episode import Episode
from harness.roles.perception import Perceived
from harness.session import Session
from harness.task import Task
from harness.trace import Turn
from harness.verdicts import Decision


@dataclass(frozen=True, slots=True)
class After:
    """What is told after an iteration.

    Attributes:
        done: The loop ends here.
        reason: Its exit reason, if it ends or, observed, would have ended.
        spinning: The spin layers warned in this iteration; ``warnings`` so far.
        perception: What is known about what is going on; ``None`` where perception is off.
    """

    iteration: int
    decision: Decision
    done: bool
    reason: str | None
    spinning: bool
    warnings: int
    perception: Perceived | None

    @classmethod
    def of(cls, session: Session, iteration: int, decision: Decision) -> After:
        """What there is to tell of a session's newest iteration."""
        events = session.course.iterations[-1].events
        return cls(
            iteration=iteration,
            decision=decision,
            done=decision.ends,
            reason=decision.exit.value if decision.exit else None,
            spinning=any(e.mechanism == "spin_layers" and e.event == "warning" for e in events),
            warnings=session.spin_warnings,
            perception=session.perception,
        )


def _nothing(_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callables of the application; each may be left out.

    Attributes:
        init: Given the task before the first iteration; a text that it returns is the reason for
            resetting perception at the start.
        handler: Given each turn after its actions; may return what it wants: ``reflection``
            (``{"level": ..., "data": ...}``), ``perception`` (a reason to force an update),
            ``verify`` (a reason to verify now), ``exit`` (true: the work is over, unverified).
        after: Told how each iteration went.
        finalise: Given the episode, however it ended; its ``summary`` says how in words.
    """

    init: Callable[[Task], str | None] = _nothing
    handler: Callable[[Turn], Mapping[str, Any] | None] = _nothing
    after: Callable[[After], None] = _nothing
    finalise: Callable[[Episode], None] = _nothing
