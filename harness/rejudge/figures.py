"""What judging came to: counts, cost, and how far the judge agrees with the recorded outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.judge import ParseFailure, Scale, parse
from harness.rejudge.spots import Spot, steps_of
from harness.scenario import Scenario
from harness.trace import Evaluation
from harness.turns import turn_from


@dataclass(slots=True)
class Side:
    """Recordings of one outcome.

    Attributes:
        scored: Those with a score; ``total`` is the sum of their last scores.
        asked: Those of which a verdict could be read; ``done`` of them were called done.
    """

    recordings: int = 0
    scored: int = 0
    total: float = 0.0
    asked: int = 0
    done: int = 0

    @property
    def mean(self) -> float | None:
        """Mean last score."""
        return self.total / self.scored if self.scored else None


@dataclass(slots=True)
class Figures:
    """Sums over the judged recordings of a file.

    Attributes:
        judged: Iterations with a judgement; of these ``unreadable`` break the judge's format and
            ``failed`` are calls that the server refused.
        unknown: Iterations that the judge left open, failed functions included.
        cost: Pico-USD, the known part; ``unpriced`` judgements have an unknown cost.
        sides: By recorded outcome, where it is known.
    """

    recordings: int = 0
    judged: int = 0
    unreadable: int = 0
    failed: int = 0
    unknown: int = 0
    cost: int = 0
    unpriced: int = 0
    sides: dict[str, Side] = field(default_factory=dict)

    @property
    def agreement(self) -> tuple[int, int] | None:
        """Recordings that were called done just where they succeeded, of how many."""
        asked = sum(side.asked for side in self.sides.values())
        if not asked:
            return None
        right = sum(
            side.done if outcome == "success" else side.asked - side.done
            for outcome, side in self.sides.items()
        )
        return right, asked

    def add(self, scenario: Scenario, spots: Iterable[Spot]) -> None:
        """Take in one recording as it was written.

        Args:
            scenario: It, with its judgements.
            spots: The iterations that were to be judged.
        """
        self.recordings += 1
        score, asked, done = None, False, False
        for spot in spots:
            found = self._look(scenario, spot)
            if found is None or spot.branch:
                # The outcome is that of the trunk.
                continue
            score = score if found.score is None else found.score
            asked = asked or found.done is not None
            done = done or bool(found.done)
        outcome = scenario.recorded.outcome
        if outcome is None:
            return
        side = self.sides.setdefault(outcome, Side())
        side.recordings += 1
        side.scored += score is not None
        side.total += score or 0.0
        side.asked += asked
        side.done += done

    def _look(self, scenario: Scenario, spot: Spot) -> Evaluation | None:
        """What was said of one iteration; ``None`` where it cannot be read."""
        turn = turn_from(steps_of(scenario)[spot.branch][spot.number - 1], scenario)
        replies = turn.roles.get("judge", ())
        if not replies:
            known = turn.score is not None
            self.judged += known
            self.unknown += not known
            return Evaluation(score=turn.score) if known else None
        reply = replies[0]
        self.judged += 1
        if reply.model is not None and reply.error is None:
            self.cost += reply.cost or 0
            self.unpriced += reply.cost is None
        if reply.error is not None:
            self.failed += 1
            return None
        low, high = scenario.score_scale or (0.0, 1.0)
        try:
            return parse(reply.text, has_phases=bool(scenario.phases), scale=Scale(low, high))
        except ParseFailure:
            self.unreadable += 1
            return None
