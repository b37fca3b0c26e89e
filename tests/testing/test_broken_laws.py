"""Guards that break a law: each is caught by the check that is meant for it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import ClassVar

import pytest

from harness import ExitReason, Guard
from harness.history import History
from harness.testing import check_laws

broken = dataclass(frozen=True, kw_only=True)


class Base(Guard):
    reason: ClassVar[ExitReason] = ExitReason.NO_PROGRESS
    measures: ClassVar[str] = "something"


@broken
class Peeks(Base):
    """Knows how long other histories became."""

    threshold: float = 3
    longest: ClassVar[int] = 0

    def signal(self, history: History) -> float:
        Peeks.longest = max(Peeks.longest, history.length)
        return Peeks.longest


@broken
class Remembers(Base):
    """The first answer for each length holds for ever; so every later question agrees."""

    threshold: float = 3
    memory: ClassVar[dict[int, float]] = {}

    def signal(self, history: History) -> float:
        return self.memory.setdefault(history.length, history.calls)


@broken
class Counts(Base):
    """Counts its questions in itself."""

    threshold: float = 3
    asked: int = 1

    def signal(self, history: History) -> float:
        object.__setattr__(self, "asked", self.asked + 1)
        return self.asked


@broken
class Meddles(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        history.gains.clear()
        return 0


@broken
class Hides(Base):
    """Leaves its mark where nobody looks but other guards."""

    threshold: float = 3

    def signal(self, history: History) -> float:
        history.trail("action").push("a mark")
        return 0


@broken
class Addresses(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return id(history.now.turn)


@broken
class Hashes(Base):
    """The hash of a text is another one in every process."""

    threshold: float = 3

    def signal(self, history: History) -> float:
        return sum(hash(call.args) % 7 for call in history.now.turn.calls)


@broken
class Clock(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return float(time.time() > 0)


@broken
class Chance(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return float(random.random() >= 0)  # noqa: S311


@broken
class Moves(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return min(history.length, self.threshold)


@broken
class Lists(Base):
    threshold: float = 3
    words: list[str]

    def signal(self, history: History) -> float:
        return 0


@broken
class Spin(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return 0


@broken
class Boasts(Base):
    threshold: float = 3

    def bounds(self) -> tuple[float, float]:
        return 0, 2

    def signal(self, history: History) -> float:
        return history.length


LAWS = {
    "looks ahead": (Peeks(), "prefix law: the signal in iteration"),
    "sticks to its first answer": (Remembers(), "questions changed Remembers.memory"),
    "changes itself": (Counts(), "prefix law"),
    "changes the history": (Meddles(), "changed history.gains"),
    "changes what others measure": (Hides(), "the harness's guards measure something else"),
    "depends on addresses": (Addresses(), "prefix law"),
    "depends on the process": (Hashes(), r"asks hash\(\)"),
    "reads the clock": (Clock(), r"asks time\.time\(\)"),
    "throws dice": (Chance(), r"purity: the signal asks random\.Random\.random"),
    "moves with its threshold": (Moves(), "threshold: with 0 for 3 the signal in iteration 1 is 0"),
    "cannot be hashed": (Lists(words=["a"]), "plain data: unhashable"),
    "takes another's name": (Spin(), "kind 'spin' of .* is taken by harness.guards.spin.Spin"),
    "declares wrong bounds": (Boasts(), "outside bounds.., which is 0 to 2"),
}


@pytest.mark.parametrize(("guard", "words"), LAWS.values(), ids=list(LAWS))
def test_a_broken_law_is_named(guard, words):
    with pytest.raises(AssertionError, match=rf"^{guard.kind()}.*{words}"):
        check_laws(guard)
