"""Presets of a space: their product or a sample of it, who lies beside whom, and their names."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harness.guards import Guard
from harness.preset import Preset
from harness.tune.corpus import Ints
from harness.tune.space import Space, Variant


@dataclass(frozen=True)
class Candidates:
    """What is tried.

    Attributes:
        space: Where it comes from.
        points: Row by candidate, column by guard: number of the guard's variant.
    """

    space: Space
    points: Ints

    def __len__(self) -> int:
        return len(self.points)

    @property
    def told(self) -> str:
        """How many there are, and whether that is all."""
        size, tried = self.space.size, len(self)
        if tried == size:
            return f"{tried:,} presets of {self.space.source}"
        return (
            f"{tried:,} of {size:,} presets of {self.space.source}, sampled with seed "
            f"{self.space.seed}"
        )

    def preset(self, row: int, name: str = "tuned") -> Preset:
        """One candidate as a preset."""
        guards: dict[str, Guard] = dict(self.space.base.guards)
        for (guard, variants), at in zip(
            self.space.variants.items(), self.points[row], strict=True
        ):
            variant = variants[at]
            if variant.guard is None:
                guards.pop(guard, None)
            else:
                guards[guard] = variant.guard
        return replace(self.space.base, name=name, observe=False, guards=guards, source="")

    def presets(self) -> list[Preset]:
        """All candidates as presets."""
        return [self.preset(row) for row in range(len(self))]

    def words(self, row: int) -> str:
        """A candidate by what varies: ``quality 0.85, patience 2``."""
        parts = []
        for (guard, variants), at in zip(
            self.space.variants.items(), self.points[row], strict=True
        ):
            chosen = variants[at].guard
            if chosen is not None:
                parts.append(f"{guard} {_settings(chosen, variants)}")
        return ", ".join(parts) or "nothing"

    @cached_property
    def neighbours(self) -> Ints:
        """By candidate, those one step away on one setting; -1 fills the rows up.

        What a sample left out is missing.
        """
        rows = {point.tobytes(): row for row, point in enumerate(self.points)}
        found: list[list[int]] = []
        for point in self.points.copy():
            beside = []
            for column, near in enumerate(self._near):
                was = int(point[column])
                for variant in near[was]:
                    point[column] = variant
                    at = rows.get(point.tobytes())
                    if at is not None:
                        beside.append(at)
                point[column] = was
            found.append(beside)
        width = max(map(len, found), default=0)
        return np.array([beside + [-1] * (width - len(beside)) for beside in found], dtype=np.int64)

    @cached_property
    def _near(self) -> list[list[list[int]]]:
        """By guard and variant, the variants beside it."""
        return [
            [[n for n, other in enumerate(variants) if _beside(one, other, order)]
             for one in variants]
            for variants, order in zip(
                self.space.variants.values(), self.space.ordered.values(), strict=True
            )
        ]  # fmt: skip


def _beside(one: Variant, other: Variant, order: tuple[bool, ...]) -> bool:
    if not one.at or not other.at:
        return False
    steps = [abs(a - b) for a, b in zip(one.at, other.at, strict=True)]
    return sum(steps) == 1 and order[steps.index(1)]


def _settings(guard: Guard, variants: tuple[Variant, ...]) -> str:
    """The threshold, and other settings where they vary."""
    every = [variant.guard.settings() for variant in variants if variant.guard is not None]
    varying = [key for key in guard.settings() if len({str(one.get(key)) for one in every}) > 1]
    shown = [guard.shown(guard.threshold)]
    shown += [f"{key}={guard.settings()[key]}" for key in varying]
    return " ".join(shown)


def candidates(space: Space) -> Candidates:
    """All presets of a space, or a sample without repetition where there are too many.

    A sample is drawn uniformly and seeded, so the same file gives the same presets.
    """
    sizes = [len(variants) for variants in space.variants.values()]
    numbers: range | list[int] = range(space.size)
    if space.size > space.limit:
        numbers = _sample(space.size, space.limit, space.seed)
    points = np.zeros((len(numbers), len(sizes)), dtype=np.int64)
    for row, number in enumerate(numbers):
        rest = number
        for column in reversed(range(len(sizes))):
            rest, points[row, column] = divmod(rest, sizes[column])
    return Candidates(space, points)


def _sample(size: int, count: int, seed: int) -> list[int]:
    """``count`` different numbers below ``size``, in rising order."""
    rng = np.random.default_rng(seed)
    chosen: set[int] = set()
    # Digit by digit, because a product of many guards is larger than any array.
    digits = math.ceil(math.log(size, 2**30)) + 1
    while len(chosen) < count:
        number = 0
        for part in rng.integers(0, 2**30, size=digits).tolist():
            number = number << 30 | part
        chosen.add(number % size)
    return sorted(chosen)
