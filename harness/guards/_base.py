"""What a guard is: a signal, a threshold, and what to do when the one reaches the other."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal

from harness.exits import ExitReason
from harness.history import History
from harness.trace import Direction
from harness.verdicts import Comparison

Action = Literal[
    "stop", "pause", "escalate", "switch_strategy", "delegate", "nudge", "warn", "observe"
]
#: What a guard can do, with the meaning users read in ``harness docs guards``.
ACTIONS: dict[str, str] = {
    "stop": "end the episode with the guard's reason",
    "pause": "end it paused: someone outside must act, then it can go on",
    "escalate": "end it paused, with the guard's reason, for a human to look at",
    "switch_strategy": "go on with another strategy (a replay: the scenario's next branch)",
    "delegate": "go on with another agent (a replay: the scenario's next branch)",
    "nudge": "record a warning whose text goes to the agent",
    "warn": "record a warning",
    "observe": "record the signal only",
}
#: Actions that end an episode.
ENDING = frozenset({"stop", "pause", "escalate"})
#: One action; a list by the number of the firing; or a table by the signal, each level once.
OnFire = Action | tuple[Action, ...] | Mapping[str, Action]
#: By setting: whether a guard with the first value sees whatever one with the second sees.
Wider = Mapping[str, Callable[[Any, Any], bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard(ABC):
    """Base of all guards: parameters and ``signal``; no I/O, no clock, no randomness.

    A guard is one file with a docstring that states its rule ("Stops when ..."), and one test
    file with FIRES and HOLDS tables. Catalogue, schema, CLI help and the laws find it unasked.

    Attributes:
        threshold: The signal at which it fires (see ``comparison``).
        on_fire: What to do then; ``None`` is the guard's default.
    """

    #: The exit reason it gives.
    reason: ClassVar[ExitReason]
    #: What the signal measures, with its unit, for the catalogue.
    measures: ClassVar[str]
    #: When it fires: signal ``>=`` threshold, or ``<`` where the rule says "less than".
    comparison: ClassVar[Comparison] = ">="
    default_on_fire: ClassVar[OnFire] = "stop"
    #: Other names of the threshold in files, with the factor to the signal's unit.
    aliases: ClassVar[Mapping[str, int]] = {}
    #: A bare number in a preset is the threshold; off where the unit would be a guess.
    bare_number: ClassVar[bool] = True
    #: The mechanism without which nothing can be measured, if there is one.
    needs: ClassVar[str | None] = None
    #: The threshold lies on the scale of scores, which is 0 to 1 unless scores are recorded raw.
    on_scores: ClassVar[bool] = False
    #: Settings that need not be equal for ``covers``, with whether the first value is as wide.
    wider: ClassVar[Wider] = {}
    #: Relations of ``harness.testing`` that it means to break, each with the reason.
    exempt: ClassVar[Mapping[str, str]] = {}
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    threshold: float
    # Left out of the hash, because a ladder by level is a dict.
    on_fire: OnFire | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Refuse values with which a guard could never measure or act."""
        for name, value in self.settings().items():
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise ValueError(f"{name} must be 1 or more")
            if value == ():
                raise ValueError(f"{name} must name at least one")
        if self.on_fire is not None and not self.on_fire:
            raise ValueError(f"on_fire must name at least one of {', '.join(ACTIONS)}")

    @abstractmethod
    def signal(self, history: History) -> float:
        """Measure the newest iteration; NaN where nothing can be measured.

        Reads only ``history``, which holds what has happened and nothing later.
        """

    def known(self, history: History) -> bool:
        """Whether the signal is exact; otherwise it is a lower bound (an unpriced reply)."""
        return True

    def compares(self, direction: Direction) -> Comparison:
        """How signal and threshold compare for scores of this ``direction``."""
        return self.comparison

    def bounds(self) -> tuple[float, float]:
        """Lowest and highest signal with these settings; every measured one lies between."""
        return -math.inf, math.inf

    def earliest(self) -> float:
        """The first iteration in which it could fire, whatever happens in the loop."""
        return 1

    def latest(self) -> float:
        """The iteration from which on it fires, whatever happens; infinite: there is none."""
        return math.inf

    def unread(self) -> frozenset[str]:
        """Settings that do nothing beside the values of the others."""
        return frozenset()

    def can_fire(self) -> bool:
        """Whether its threshold lies within what the signal can reach."""
        low, high = self.bounds()
        return self.threshold > low if self.comparison == "<" else self.threshold <= high

    def covers(self, other: Guard) -> bool:
        """Whether it has always fired by the time ``other`` fires, in any loop."""
        if type(self) is not type(other) or hasattr(self, "guards"):
            return False
        theirs = other.settings()
        for name, mine in self.settings().items():
            if name in self.unread() and name in other.unread():
                continue
            wide = self.wider.get(name)
            if mine != theirs[name] and not (wide and wide(mine, theirs[name])):
                return False
        if self.compares("higher") != self.compares("lower"):
            # Which of two thresholds is the wider one then depends on the scenario.
            return self.threshold == other.threshold
        if self.comparison == "<":
            return self.threshold >= other.threshold
        return self.threshold <= other.threshold

    @classmethod
    def kind(cls) -> str:
        """The guard's name in presets: its class name in snake case."""
        return _snake_case(cls.__name__)

    @classmethod
    def default_threshold(cls) -> float | None:
        """The threshold where a preset names none; ``None`` if it has to name one."""
        default = cls.__dataclass_fields__["threshold"].default
        return default if isinstance(default, int | float) else None

    @property
    def exit_reason(self) -> ExitReason:
        """The reason an episode ends with; combinations take that of their first guard."""
        return self.reason

    @property
    def action(self) -> OnFire:
        """What to do when it fires, the default filled in."""
        return self.default_on_fire if self.on_fire is None else self.on_fire

    @classmethod
    def shown(cls, value: float) -> str:
        """A signal or threshold as people read it."""
        if abs(value) < 10_000 or not math.isfinite(value):
            return f"{value:.4g}"
        return f"{value:,.0f}" if abs(value) < 10_000_000 else f"{value:.3g}".replace("e+", "e")

    def settings(self) -> dict[str, Any]:
        """The structural parameters: everything but threshold and ``on_fire``."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("threshold", "on_fire", "guards")
        }


def nth(threshold: float, *, after: int = 0) -> float:
    """The iteration in which a count reaches ``threshold`` that grows by at most one in each.

    Args:
        threshold: Of the count.
        after: So many first iterations cannot count.
    """
    return max(1, math.ceil(threshold) + after) if math.isfinite(threshold) else math.inf


@cache
def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def fires(signal: float, comparison: Comparison, threshold: float) -> bool:
    """Whether a signal reaches its threshold; an unknown signal (NaN) never does."""
    if comparison == ">=":
        return signal >= threshold
    if comparison == "<":
        return signal < threshold
    return signal <= threshold
