"""The typed trace of one episode: its readings by guard, and everything it came to.

Spans, rows, reports and tests are projections of ``Episode``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from harness.exits import ExitReason, Group, Status
from harness.trace import Direction, Iteration, Replay
from harness.verdicts import Comparison, Decision, Verdict


@dataclass(frozen=True)
class Series:
    """All readings of one guard in one episode; position i belongs to iteration i + 1.

    Attributes:
        signals: NaN where nothing could be measured.
        fired_at: Iterations at which it fired.
        uncertain_at: Iterations at which the signal was a lower bound under the threshold.
    """

    guard: str
    kind: str
    settings: str
    threshold: float
    comparison: Comparison
    on_fire: str
    signals: tuple[float, ...]
    fired_at: tuple[int, ...]
    uncertain_at: tuple[int, ...]

    @cached_property
    def fired(self) -> tuple[bool, ...]:
        """Whether it fired, by iteration."""
        found = [False] * len(self.signals)
        for iteration in self.fired_at:
            found[iteration - 1] = True
        return tuple(found)

    @cached_property
    def unknown(self) -> tuple[bool, ...]:
        """Whether it could not be judged, by iteration."""
        found = [signal != signal for signal in self.signals]
        for iteration in self.uncertain_at:
            found[iteration - 1] = True
        return tuple(found)

    def verdict(self, iteration: int) -> Verdict:
        """The reading at ``iteration`` (from 1)."""
        at = iteration - 1
        return Verdict(
            self.guard,
            self.signals[at],
            self.threshold,
            self.comparison,
            self.fired[at],
            self.unknown[at],
            iteration,
        )


@dataclass(frozen=True, slots=True)
class Continued:
    """A recording that a live model went on with.

    Attributes:
        at: The first iteration that was made live; those before it were recorded.
        cause: Why the recording was left: ``recording_exhausted``, ``switch_strategy``,
            ``delegate`` or ``nudge``.
        model: Name of the model that acted.
    """

    at: int
    cause: str
    model: str


@dataclass(frozen=True, slots=True)
class Episode:
    """One scenario under one preset: how it ended, and everything measured on the way.

    ``elapsed`` and ``best`` hold one entry an iteration: elapsed ms since the start
    (``None`` once unknown) and the best score so far. ``prompt_assumed``: prompt parts were made
    that the recorded agent may not have seen. ``summary`` is written however it ends.
    ``continued`` is set where a live model went on; the episode has then left its recording.
    """

    scenario: str
    family: str
    preset: str
    goal: str
    direction: Direction
    content_hash: str
    preset_hash: str
    pair_key: str
    repetition: int
    observe: bool
    iterations: tuple[Iteration, ...]
    decisions: tuple[Decision, ...]
    series: tuple[Series, ...]
    elapsed: tuple[int | None, ...]
    best: tuple[float | None, ...]
    status: Status
    exit_reason: ExitReason
    exit_guard: str | None
    exit_reason_source: Literal["explicit", "inferred", "unknown"]
    message: str
    best_iteration: int | None
    needs_human: bool
    replay: Replay
    diverged_at: int | None
    unrecorded_calls: int
    drifted_calls: int
    outcome: str | None
    prompt_assumed: bool = False
    summary: str = ""
    continued: Continued | None = None

    @property
    def exit_iteration(self) -> int:
        """The last iteration that ran."""
        return len(self.iterations)

    @property
    def best_score(self) -> float | None:
        """The best score of the episode, ``None`` if nothing was scored."""
        return self.best[-1] if self.best else None

    @property
    def cost_pico_usd(self) -> int | None:
        """What all model calls cost, ``None`` where a price or a usage is unknown."""
        costs = [reply.cost for it in self.iterations for reply in it.replies]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def exit_group(self) -> Group:
        """Group of the exit reason."""
        return self.exit_reason.group

    @property
    def final_score(self) -> float | None:
        """The last known score."""
        scores = self.score_history
        return scores[-1] if scores else None

    @property
    def score_history(self) -> tuple[float, ...]:
        """The known scores in order."""
        return tuple(
            it.evaluation.score for it in self.iterations if it.evaluation.score is not None
        )

    @property
    def best_result(self) -> str | None:
        """The artefact (or reply) of the best iteration; of the last one if nothing was scored."""
        if not self.iterations:
            return None
        turn = self.iterations[(self.best_iteration or len(self.iterations)) - 1].turn
        return turn.output.text if turn.output else turn.reply.text

    @property
    def result(self) -> str | None:
        """What a caller may use: empty where a person has to look first."""
        return None if self.needs_human else self.best_result
