"""What was decided: guards at one iteration, what was true then, what the loop does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.exits import ExitReason

Comparison = Literal[">=", "<=", "<"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One guard at one iteration: the signal, the threshold, and whether it fired.

    ``signal`` is NaN where nothing could be measured. ``unknown`` is also set where the
    signal is only a lower bound that has not reached the threshold (a cost with unpriced parts).
    """

    guard: str
    signal: float
    threshold: float
    comparison: Comparison
    fired: bool
    unknown: bool
    iteration: int


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that was true after an iteration and could have decided it.

    Attributes:
        kind: The guard's kind or the mechanism that found it; its place in the chain.
        name: The name in the preset; differs from ``kind`` where a guard is used twice.
        reason: The exit reason it would give.
        action: What the preset does about it: stop, pause, warn, nudge, ...
        state: ``true``, ``unknown`` (it could not be judged), ``vetoed`` (an open check
            outranks it) or ``answered`` (a pause that a person answered).
    """

    kind: str
    name: str
    reason: ExitReason
    action: str
    state: Literal["true", "unknown", "vetoed", "answered"] = "true"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the loop does after an iteration (SPEC section 6).

    Attributes:
        path: Row of the decision chain, 0 to 10.
        name: ``continue``, ``finalize``, ``advance_phase``, ``pause_blocked``, ...
        winner: The condition that decided, if one did.
        conditions: All conditions, the winner and unknown ones included.
        exit: The exit reason that ended the loop here, or in observe mode would have.
        ends: Whether the episode ends here.
    """

    path: int
    name: str
    winner: Condition | None
    conditions: tuple[Condition, ...]
    exit: ExitReason | None
    ends: bool
