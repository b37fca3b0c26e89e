"""What mechanisms decide in an observed run, whatever the thresholds of guards are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.decide import TURNING, rank
from harness.exits import ExitReason
from harness.guards import ENDING
from harness.tune.readings import Flags, Ints

#: Place in the decision chain as one number: path, then place, with room for a preset's order.
RANK_STEP = 1000.0


@dataclass(frozen=True)
class Fixed:
    """Where mechanisms alone end an episode; nowhere where left out.

    Attributes:
        iteration: The last iteration, 0 for none.
        place: Place in the decision chain.
        reason: The exit reason.
    """

    iteration: int = 0
    place: float = np.inf
    reason: ExitReason | None = None


def fixed_ends(rows: list[dict[str, Any]], at: Mapping[str, int]) -> list[Fixed]:
    """Where each episode ends by a mechanism: the first iteration whose winner ends it.

    Args:
        rows: Conditions that were true and no guard's, by episode and iteration.
        at: Number of each episode by its id.
    """
    found = [Fixed()] * len(at)
    winners: dict[tuple[int, int], tuple[float, str, ExitReason]] = {}
    for row in rows:
        if row["action"] not in ENDING and row["action"] not in TURNING:
            continue
        reason = ExitReason(row["reason"])
        path, place = rank(row["kind"], reason)
        key = (at[row["episode_id"]], row["iteration"])
        candidate = (path * RANK_STEP + place, row["action"], reason)
        if key not in winners or candidate[0] < winners[key][0]:
            winners[key] = candidate
    for (episode, iteration), (place, action, reason) in sorted(winners.items()):
        if action in ENDING and not found[episode].iteration:
            found[episode] = Fixed(iteration, place, reason)
    return found


def advancing(rows: list[dict[str, Any]], at: Mapping[str, int], offsets: Ints) -> Flags:
    """Iterations, flat, in which a phase is done."""
    found = np.zeros(int(offsets[-1]), dtype=bool)
    for row in rows:
        if row["action"] in TURNING:
            found[offsets[at[row["episode_id"]]] + row["iteration"] - 1] = True
    return found
