"""The same choice over many splits: what it promises on one side, what it keeps on the other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.tune.baselines import best_count
from harness.tune.corpus import Flags, Floats
from harness.tune.split import LEAST_TASKS, Split, Units
from harness.tune.totals import Sums


@dataclass(frozen=True)
class Columns:
    """Subsets of the episodes, as columns: all, then each split's two sides, whole and by group.

    Attributes:
        subsets: Episodes by columns: who belongs.
        groups: The groups, in order of their first episode.
        count: How many splits.
        labels: By episode, its group; empty where there are none.
    """

    subsets: Flags
    groups: tuple[str, ...]
    count: int
    labels: tuple[str, ...]

    @classmethod
    def of(cls, divided: Sequence[Split], labels: Sequence[str] | None) -> Columns:
        """The columns of these splits, with groups by episode where there are any."""
        n = len(divided[0].train)
        columns = [np.ones(n, dtype=bool)]
        groups = tuple(dict.fromkeys(labels or ()))
        marks = np.array(labels) if labels else np.array([""] * n)
        for split in divided:
            for side in (split.train, split.held_out):
                columns += [side, *(side & (marks == group) for group in groups)]
        return cls(np.column_stack(columns), groups, len(divided), tuple(labels or ()))

    def train(self, split: int, group: str = "") -> int:
        """Column of a split's train side."""
        width = 1 + len(self.groups)
        return 1 + 2 * width * split + (1 + self.groups.index(group) if group else 0)

    def held_out(self, split: int, group: str = "") -> int:
        """Column of a split's held-out side."""
        return self.train(split, group) + 1 + len(self.groups)

    def inside(self, group: str) -> Flags:
        """Episodes of a group; all for the empty one."""
        if not group:
            return np.ones(len(self.subsets), dtype=bool)
        return np.array([label == group for label in self.labels], dtype=bool)


@dataclass(frozen=True)
class Picks:
    """What each split chooses.

    Attributes:
        common: Candidate by split; ``None`` where none keeps within the limits.
        groups: The same by group; ``None`` where the common one has to do.
        why: Why a group has no preset of its own in the first split.
    """

    common: tuple[int | None, ...]
    groups: Mapping[str, tuple[int | None, ...]]
    why: Mapping[str, str]

    @classmethod
    def of(
        cls,
        choose: Callable[[int], int | None],
        columns: Columns,
        sums: Sums,
        kept: Units,
        limit: float | None,
    ) -> Picks:
        """Choose on the train side of every split, and in it for every group with enough tasks.

        A group has enough where n tasks without one false stop would speak for ``limit``: the next
        task is stopped falsely with a chance of up to 1 / (n + 1) even then (as in conformal
        calibration, where 5 % need 19 runs). Fewer tasks find a preset that was merely lucky.
        """
        enough = max(LEAST_TASKS, 0 if not limit else math.ceil(1 / limit - 1e-9) - 1)
        common = tuple(choose(columns.train(split)) for split in range(columns.count))
        groups: dict[str, tuple[int | None, ...]] = {}
        why: dict[str, str] = {}
        for group in columns.groups:
            rows: list[int | None] = []
            for split in range(columns.count):
                sides = (columns.train(split, group), columns.held_out(split, group))
                tasks = min(len(np.unique(kept.unit[columns.subsets[:, c]])) for c in sides)
                reason = None
                if tasks < enough:
                    reason = f"{tasks} tasks on one side, fewer than {enough}"
                elif not all(sums.judged[column] for column in sides):
                    reason = "no judged episode on one side"
                found = choose(sides[0]) if reason is None else None
                if split == 0 and found is None:
                    why[group] = reason or "no preset keeps within the limits"
                rows.append(found)
            groups[group] = tuple(rows)
        return cls(common, groups, why)


@dataclass(frozen=True)
class Repeated:
    """One entry a split, of those in which something was chosen.

    Attributes:
        splits: How many splits there were.
        train: Means on the side chosen by: ``effort``, ``iterations``, ``false_stops`` (per judged
            episode), ``lost`` (per scored one).
        held_out: The same on the other side.
        line: Effort of the cheapest fixed step count that does no more harm than the choice on the
            held-out side (false stops; quality lost where that was asked for). It is picked on that
            side, which favours it.
        same: In how many splits the first split's choice was made.
    """

    splits: int
    train: Mapping[str, Floats]
    held_out: Mapping[str, Floats]
    line: Floats
    same: int

    @property
    def chosen(self) -> int:
        """Splits in which something was chosen."""
        return len(self.line)

    @property
    def wins(self) -> int:
        """Splits in which the choice was cheaper than any step count with no more harm."""
        return int((self.held_out["effort"] < self.line * (1 - 1e-12)).sum())

    def median(self, side: str, what: str) -> float:
        """Median over splits."""
        found: Floats = getattr(self, side)[what]
        return float(np.median(found))

    def optimism(self, what: str) -> float:
        """How much worse the held-out side is than the side chosen by, mean over splits."""
        return float(np.mean(self.held_out[what] - self.train[what]))

    @property
    def saved_over_line(self) -> float:
        """Median share saved against that step count; negative where it is the cheaper one."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.median(1 - self.held_out["effort"] / self.line))


_WHAT = ("effort", "iterations", "false_stops", "lost")


def repeated(
    sums: Sums,
    line: Sums,
    columns: Columns,
    common: Sequence[int | None],
    groups: Mapping[str, Sequence[int | None]] | None = None,
    *,
    minds_loss: bool = False,
) -> Repeated:
    """Figures of what each split chose, on both of its sides.

    Args:
        sums: Of all candidates.
        line: Of all fixed step counts.
        columns: Which column is which.
        common: Chosen candidates, by split.
        groups: By group, chosen candidates by split; ``None`` entries take the common one.
        minds_loss: A step count also has to lose no more quality.
    """
    sides: dict[str, dict[str, list[float]]] = {
        side: {what: [] for what in _WHAT} for side in ("train", "held_out")
    }
    lines: list[float] = []
    for split, row in enumerate(common):
        if row is None:
            continue
        for side, found in sides.items():
            for what in _WHAT:
                found[what].append(_mean(sums, columns, side, split, what, row, groups))
        column = columns.held_out(split)
        rate = sides["held_out"]["false_stops"][-1]
        lost = sides["held_out"]["lost"][-1] if minds_loss else None
        at = best_count(line, column, 0.0 if np.isnan(rate) else rate, lost)
        lines.append(float(line.effort[at, column] / line.n[column]))
    chosen = [_choice(split, common, groups) for split in range(columns.count)]
    arrays = {side: {k: np.array(v) for k, v in found.items()} for side, found in sides.items()}
    return Repeated(
        columns.count, arrays["train"], arrays["held_out"], np.array(lines),
        Counter(chosen)[chosen[0]],
    )  # fmt: skip


def _choice(split: int, common: Sequence[Any], groups: Mapping[str, Sequence[Any]] | None) -> Any:
    own = () if groups is None else tuple(rows[split] for rows in groups.values())
    return common[split], own


def _mean(
    sums: Sums,
    columns: Columns,
    side: str,
    split: int,
    what: str,
    row: int,
    groups: Mapping[str, Sequence[int | None]] | None,
) -> float:
    """A mean over one side, each group under its own preset."""
    place = columns.train if side == "train" else columns.held_out
    divisor = {"false_stops": sums.judged, "lost": sums.scored}.get(what, sums.n)
    values: Floats = getattr(sums, what)
    if groups is None:
        total = float(values[row, place(split)])
    else:
        total = 0.0
        for group, rows in groups.items():
            own = rows[split]
            total += float(values[row if own is None else own, place(split, group)])
    by = float(divisor[place(split)])
    return total / by if by else float("nan")
