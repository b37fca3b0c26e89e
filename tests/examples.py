"""Tiny builders, so that a test reads as an example of a loop.

A table maps a name to a case: a guard, the steps it watches, and the iteration at which it
first fires (``at``), or never (``holds``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.continuity import overlap
from harness.episode import Episode
from harness.guards import Guard, fires
from harness.history import History
from harness.loop import run_episode
from harness.mechanisms import Mechanisms
from harness.preset import Preset
from harness.scenario import Scenario
from harness.trace import Evaluation, Iteration, Turn
from harness.turns import prepare

#: A model with a price: a token of input costs 150,000 pico-USD, one of output 600,000.
PRICED = "gpt-4o-mini"


def call(tool: str, args: Any = None, result: str | None = None, **more: Any) -> dict[str, Any]:
    """A tool call: ``call("read", {"path": "a"}, "text", ok=False, ms=20)``."""
    return {"tool": tool, "args": args, "result": result, **more}


def step(
    *calls: dict[str, Any], text: str = "", judged: Evaluation | None = None, **more: Any
) -> dict[str, Any]:
    """One iteration: its calls, the reply's text, and any field of a scenario's step.

    ``ms``, ``usage``, ``model`` and ``finish_reason`` go to the reply. ``judged`` is what an
    evaluator said, for rules that a recorded score cannot express.
    """
    parts = {k: more.pop(k) for k in ("ms", "usage", "model", "finish_reason") if k in more}
    made = {"reply": {"text": text, **parts}, "calls": list(calls), **more}
    return made if judged is None else made | {"judged": judged}


def scored(*scores: float | None) -> list[dict[str, Any]]:
    """One step for each score; ``None`` is an iteration that nobody scored."""
    return [step(score=score) for score in scores]


def scenario(steps: Sequence[dict[str, Any]], **more: Any) -> Scenario:
    """A scenario of these steps."""
    plain = [{k: v for k, v in s.items() if k != "judged"} for s in steps]
    head = {"schema": "harness/scenario@1", "id": "examples/one", "goal": "Do it."}
    return Scenario.model_validate(head | {"steps": plain} | more)


def turns(steps: Sequence[dict[str, Any]], **more: Any) -> tuple[Turn, ...]:
    """The steps as the loop sees them."""
    return prepare(scenario(steps, **more)).trunk


def iterations(steps: Sequence[dict[str, Any]], **more: Any) -> list[Iteration]:
    """The steps as completed iterations, as the loop builds them."""
    made = []
    for number, (spec, turn) in enumerate(zip(steps, turns(steps, **more), strict=True), 1):
        source = None if turn.score is None else "measured"
        evaluation = spec.get("judged") or Evaluation(score=turn.score, score_source=source)
        goal = scenario(steps, **more).goal
        share = None if turn.user is None else overlap(turn.user, goal)
        made.append(Iteration(number, turn, evaluation, (turn.reply,), turn.ms, overlap=share))
    return made


def empty_history(**more: Any) -> History:
    """A history in which nothing has happened yet."""
    tape = prepare(scenario([step()], **more))
    return History(direction=tape.scenario.direction, has_tools=tape.has_tools)


def signals(guard: Guard, steps: Sequence[dict[str, Any]], **more: Any) -> list[float]:
    """The guard's signal after each iteration; ``more`` are fields of the scenario."""
    history = empty_history(**more)
    measured = []
    for iteration in iterations(steps, **more):
        history.append(iteration)
        measured.append(guard.signal(history))
    return measured


def known(guard: Guard, steps: Sequence[dict[str, Any]], **more: Any) -> bool:
    """Whether the guard's last signal is exact; otherwise it is a lower bound or NaN."""
    history = empty_history(**more)
    for iteration in iterations(steps, **more):
        history.append(iteration)
    signal = guard.signal(history)
    return signal == signal and guard.known(history)


@dataclass(frozen=True)
class Case:
    """A guard, the steps it watches, and when it first fires (``None``: it holds)."""

    guard: Guard
    steps: Sequence[dict[str, Any]]
    at: int | None
    fields: dict[str, Any] = field(default_factory=dict)


def at(iteration: int, guard: Guard, steps: Sequence[dict[str, Any]], **more: Any) -> Case:
    """The guard first fires at ``iteration``."""
    return Case(guard, steps, iteration, more)


def holds(guard: Guard, steps: Sequence[dict[str, Any]], **more: Any) -> Case:
    """The guard never fires."""
    return Case(guard, steps, None, more)


def first_fire(case: Case) -> int | None:
    """The first iteration at which the guard fires."""
    compares = case.guard.compares(case.fields.get("direction", "higher"))
    for number, signal in enumerate(signals(case.guard, case.steps, **case.fields), 1):
        if fires(signal, compares, case.guard.threshold):
            return number
    return None


def preset(observe: bool = False, name: str = "example", **guards: Guard) -> Preset:
    """A preset of these guards and nothing else."""
    return Preset(name=name, title="", observe=observe, guards=guards, mechanisms=Mechanisms())


def run(
    steps: Sequence[dict[str, Any]], under: Preset, *, observe: bool = False, **more: Any
) -> Episode:
    """Replay the steps under a preset."""
    return run_episode(prepare(scenario(steps, **more)), under, observe=observe)
