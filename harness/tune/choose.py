"""Which preset to take: objectives, the Pareto front, and a choice that does not sit on a spike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.errors import HarnessError, choices
from harness.prices import PICO_PER_USD
from harness.tune.corpus import Flags, Floats, Ints
from harness.tune.totals import Sums, Unit

Kind = Literal["cost", "quality", "utility"]
KINDS: tuple[Kind, ...] = ("cost", "quality", "utility")
#: False stops that the objective ``cost`` accepts where nothing else is said.
MAX_FALSE_STOP = 0.05
#: Presets whose objective is within this share of the best one's are as good as it.
PLATEAU = 0.02


@dataclass(frozen=True)
class Objective:
    """What is wanted, and what is not accepted.

    ``cost``: least cost. ``quality``: least quality lost, which is the best mean best score, within
    a budget. ``utility``: ``value`` times quality lost, plus ``price`` times cost, plus ``penalty``
    times the false-stop rate, as small as possible.

    Attributes:
        max_false_stop: Most false stops among judged episodes (a share); ``None``: any.
        max_lost: Most quality lost, mean over scored episodes, in units of score.
        budget: Most cost of an episode, mean (USD).
        value: What one unit of score is worth (USD).
        price: What one USD of cost counts.
        penalty: What one false stop costs (USD).
    """

    kind: Kind = "cost"
    max_false_stop: float | None = MAX_FALSE_STOP
    max_lost: float | None = None
    budget: float | None = None
    value: float = 1.0
    price: float = 1.0
    penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise HarnessError(f"tune: --objective: {choices(self.kind, KINDS)}")
        for name, most in (("max_false_stop", 1.0), ("max_lost", np.inf), ("budget", np.inf),
                           ("value", np.inf), ("price", np.inf), ("penalty", np.inf)):  # fmt: skip
            found = getattr(self, name)
            if found is not None and not 0 <= found <= most:
                limit = f" and at most {most:g}" if np.isfinite(most) else ""
                option = name.replace("_", "-")
                raise HarnessError(f"tune: --{option}: must be 0 or more{limit}, found {found:g}")
        if self.kind == "quality" and self.budget is None:
            raise HarnessError("tune: --objective quality needs --budget USD (mean of an episode)")

    def needs(self, unit: Unit, *, judged: int, scored: int) -> None:
        """Refuse what these episodes cannot answer."""
        priced = self.budget is not None or self.kind == "utility"
        if priced and unit != "cost":
            raise HarnessError(
                "tune: --budget and --objective utility need the cost of every episode; some "
                "replies have no known price (HARNESS_PRICES adds prices)"
            )
        # Also where no limit asks for it: without it nothing can be set against counting steps.
        if not judged:
            raise HarnessError(
                "tune: no false stop can be told: no episode has scores or a recorded success; "
                "add scores or outcomes to the recordings"
            )
        if (self.max_lost is not None or self.kind != "cost") and not scored:
            raise HarnessError("tune: quality cannot be told: no episode has scores")

    @property
    def minds_loss(self) -> bool:
        """Whether quality lost matters, so that a step count has to match it too."""
        return self.max_lost is not None or self.kind != "cost"

    @property
    def words(self) -> str:
        """The objective as people read it."""
        limits = []
        if self.max_false_stop is not None:
            limits.append(f"at most {self.max_false_stop:.3g} false stops per judged episode")
        if self.max_lost is not None:
            limits.append(f"at most {self.max_lost:.3g} quality lost")
        if self.budget is not None:
            limits.append(f"at most ${self.budget:.4g} an episode")
        wanted = {
            "cost": "least cost", "quality": "best quality",
            "utility": f"most utility (score x {self.value:g}, cost x {self.price:g}, false stop "
            f"x {self.penalty:g})",
        }[self.kind]  # fmt: skip
        return ", ".join([wanted, *limits])

    def loss(self, sums: Sums, column: int) -> Floats:
        """What is to be small, by policy, over one subset."""
        if self.kind == "cost":
            return sums.mean("effort", column)
        lost = sums.mean("lost", column)
        if self.kind == "quality":
            return lost
        false = np.nan_to_num(sums.mean("false_stops", column))
        cost = sums.mean("effort", column) / PICO_PER_USD
        return np.asarray(self.value * lost + self.price * cost + self.penalty * false)

    def feasible(self, sums: Sums, column: int) -> Flags:
        """Which policies keep within the limits on one subset."""
        fine = np.ones(len(sums.effort), dtype=bool)
        if self.max_false_stop is not None:
            fine &= np.nan_to_num(sums.mean("false_stops", column)) <= self.max_false_stop + 1e-12
        if self.max_lost is not None:
            fine &= np.nan_to_num(sums.mean("lost", column)) <= self.max_lost + 1e-12
        if self.budget is not None:
            fine &= sums.mean("effort", column) <= self.budget * PICO_PER_USD * (1 + 1e-12)
        return fine


def front(effort: Floats, harm: Floats, iterations: Floats) -> Ints:
    """Policies that none is better than: cheaper at no more harm, or less harm at no more cost.

    Args:
        effort: By policy.
        harm: False-stop rate, or quality lost.
        iterations: Decide between equals, fewer first; what is equal in all three is there once.

    Returns:
        Rows in order of rising effort.
    """
    harm = np.nan_to_num(harm)
    order = np.lexsort((np.arange(len(effort)), iterations, harm, effort))
    least = np.minimum.accumulate(np.concatenate([[np.inf], harm[order][:-1]]))
    return np.asarray(order[harm[order] < least], dtype=np.int64)


def best(
    objective: Objective,
    sums: Sums,
    column: int,
    neighbours: Ints,
    simple: Ints,
) -> int | None:
    """The policy to take by one subset; ``None`` where none keeps within the limits.

    Of the policies that keep within the limits, those within 2 % of the best objective are as good
    as it (the plateau). Of these, the one is taken whose neighbours, one step away on one setting,
    keep within the limits most often: where a step to the side breaks them, the figure is luck.
    Neighbours that do the same do not count, or a guard without effect would make it look steady.
    Then decides, in order: the neighbours' mean false-stop rate, the objective, fewer iterations,
    fewer guards, the order of the space.

    Args:
        objective: What is wanted.
        sums: Of all policies.
        column: The subset that is chosen by.
        neighbours: By policy, rows beside it, filled up with -1.
        simple: Guards of each policy.
    """
    loss, fine = objective.loss(sums, column), objective.feasible(sums, column)
    rows = np.flatnonzero(fine & ~np.isnan(loss))
    if not len(rows):
        return None
    least = float(loss[rows].min())
    plateau = rows[loss[rows] <= least + PLATEAU * abs(least) + 1e-12]
    beside = neighbours[plateau]
    there = beside >= 0
    alike = np.ones(beside.shape, dtype=bool)
    for what in (sums.effort, sums.iterations, sums.false_stops):
        alike &= what[beside, column] == what[plateau, column][:, None]
    other = there & ~alike
    count = other.sum(axis=1)
    # All alike is as flat as can be; without neighbours nothing speaks for it being steady.
    held = np.where(count > 0, (fine[beside] & other).sum(axis=1) / np.maximum(count, 1),
                    there.any(axis=1))  # fmt: skip
    false = np.nan_to_num(sums.mean("false_stops", column))
    harm = (false[plateau] + (false[beside] * other).sum(axis=1)) / (count + 1)
    iterations = sums.mean("iterations", column)
    order = np.lexsort(
        (plateau, simple[plateau], iterations[plateau], loss[plateau], harm.round(12), -held)
    )
    return int(plateau[order[0]])
