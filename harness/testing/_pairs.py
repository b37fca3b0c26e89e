"""Pairs of traces, before and after a change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from harness.preset import Preset
from harness.scenario import Scenario
from harness.testing._subject import Trace, traced
from harness.trace import Direction, Iteration, Reply


@dataclass(frozen=True, slots=True)
class Pair:
    """Two traces to compare.

    Attributes:
        cut: Iterations at the start of ``before`` that ``after`` lacks.
        spare: Iterations at the end of ``before`` that are not compared.
    """

    before: Trace
    after: Trace
    cut: int = 0
    spare: int = 0


def rewritten(
    *changes: Callable[[dict[str, Any], random.Random], None], spare: int = 0
) -> Callable[[Trace, Preset, random.Random], Iterator[Pair]]:
    """Pairs of a scenario before and after its last change; those before it come first."""

    def pairs(trace: Trace, preset: Preset, rng: random.Random) -> Iterator[Pair]:
        found = [trace]
        for change in changes:
            data = trace.scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            change(data, rng)
            scenario = Scenario.model_validate(data)
            if scenario == found[-1].scenario:
                return
            found.append(traced(scenario, preset))
        yield Pair(found[-2], found[-1], spare=spare)

    return pairs


def edited_by(
    edit: Callable[[Iteration], Iteration], *, flip: bool = False
) -> Callable[[Trace, Preset, random.Random], Iterator[Pair]]:
    """Pairs of iterations before and after an edit of each."""

    def pairs(trace: Trace, preset: Preset, rng: random.Random) -> Iterator[Pair]:
        edited = tuple(edit(iteration) for iteration in trace.iterations)
        if edited != trace.iterations:
            other: Direction = "higher" if trace.direction == "lower" else "lower"
            direction = other if flip else trace.direction
            yield Pair(trace, replace(trace, iterations=edited, direction=direction))

    return pairs


def cut_off(trace: Trace, preset: Preset, rng: random.Random) -> Iterator[Pair]:
    """Without the first iteration, and without the first half."""
    size = len(trace.iterations)
    for cut in sorted({1, size // 2} - {0, size}):
        rest = tuple(
            replace(each, number=number) for number, each in enumerate(trace.iterations[cut:], 1)
        )
        yield Pair(trace, replace(trace, iterations=rest), cut=cut)


def flipped(score: float) -> float:
    """A score where the direction is turned round."""
    return round(1 - score, 9) + 0.0


def _rescored(iteration: Iteration, score: float | None) -> Iteration:
    turn = iteration.turn if iteration.turn.score is None else replace(iteration.turn, score=score)
    evaluation = replace(
        iteration.evaluation,
        score=score,
        score_source=None if score is None else iteration.evaluation.score_source,
    )
    return replace(iteration, turn=turn, evaluation=evaluation)


def mirror(iteration: Iteration) -> Iteration:
    """With its score mirrored."""
    score = iteration.evaluation.score
    return iteration if score is None else _rescored(iteration, flipped(score))


def unscored(iteration: Iteration) -> Iteration:
    """Without its score."""
    return iteration if iteration.evaluation.score is None else _rescored(iteration, None)


def unmeasured(iteration: Iteration) -> Iteration:
    """Without tokens, cost and times."""
    replies = tuple(replace(r, usage=None, cost=None, ms=None) for r in iteration.replies)
    turn = replace(iteration.turn, reply=replies[0], ms=None, known_ms=0)
    return replace(iteration, turn=turn, replies=replies, ms=None)


def dearer(iteration: Iteration) -> Iteration:
    """With twice the tokens and cost, and a second more."""
    turn = iteration.turn
    replies = tuple(_doubled(reply) for reply in iteration.replies)
    turn = replace(
        turn,
        reply=replies[0],
        idle_ms=turn.idle_ms + 1000,
        ms=None if turn.ms is None else turn.ms + 1000,
        known_ms=turn.known_ms + 1000,
    )
    ms = None if iteration.ms is None else iteration.ms + 1000
    return replace(iteration, turn=turn, replies=replies, ms=ms)


def _doubled(reply: Reply) -> Reply:
    usage, cost = reply.usage, reply.cost
    if usage is not None:
        usage = replace(
            usage, **{name: 2 * getattr(usage, name) for name in usage.__dataclass_fields__}
        )
    return replace(reply, usage=usage, cost=None if cost is None else 2 * cost)
