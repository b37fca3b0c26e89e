"""Families of scenarios whose scores come from a process with known behaviour."""

from __future__ import annotations

import random
from collections.abc import Iterator

from harness.fingerprint import digest
from harness.scenario import Generate, Scenario

STEPS = 12


def expand(scenario: Scenario, members: tuple[int, int] | None = None) -> Iterator[Scenario]:
    """The scenario itself, or the ``n`` scenarios that its ``generate`` describes.

    The same process, number and seed give the same scenarios on every machine.

    Args:
        scenario: A scenario, or the description of a family.
        members: First and last number wanted; all where left out.
    """
    if scenario.generate is None:
        yield scenario
        return
    width = len(str(scenario.generate.n))
    first, last = members or (1, scenario.generate.n)
    for number in range(first, last + 1):
        yield _member(scenario, scenario.generate, number, max(3, width))


def _member(scenario: Scenario, family: Generate, number: int, width: int) -> Scenario:
    rng = random.Random(f"{family.process}/{family.seed}/{number}")
    scores = _scores(family.process, rng)
    data = scenario.model_dump(mode="json", by_alias=True, exclude={"generate", "steps", "id"})
    data["id"] = f"{scenario.id}-{number:0{width}d}"
    data["steps"] = [_step(rng, score) for score in scores]
    return Scenario.model_validate(data)


def _step(rng: random.Random, score: float) -> dict[str, object]:
    draft = digest("draft", str(rng.random()))
    return {
        "reply": {
            "text": f"Revision {draft}.",
            "model": "gpt-4o-mini",
            "finish_reason": "stop",
            "ms": rng.randint(900, 4000),
            "usage": {"input": rng.randint(400, 1500), "output": rng.randint(150, 500)},
        },
        "output": f"Draft {draft}: {digest('body', draft)} {digest('end', draft)}",
        "feedback": f"Note {digest('feedback', draft)}: {digest('detail', draft)}",
        "score": score,
    }


def _scores(process: str, rng: random.Random) -> list[float]:
    """Twelve scores in 0..1 of one process."""
    start = rng.uniform(0.2, 0.5)
    noise = [rng.gauss(0, 0.01) for _ in range(STEPS)]
    if process == "converge":
        goal, rate = rng.uniform(0.88, 0.98), rng.uniform(0.35, 0.6)
        path = [goal - (goal - start) * (1 - rate) ** i for i in range(STEPS)]
    elif process == "plateau":
        level, rate = rng.uniform(0.55, 0.8), rng.uniform(0.5, 0.8)
        path = [level - (level - start) * (1 - rate) ** i for i in range(STEPS)]
        noise = [n / 5 for n in noise]
    elif process == "oscillate":
        middle, swing = rng.uniform(0.5, 0.65), rng.uniform(0.08, 0.15)
        path = [middle + swing * (-1) ** i for i in range(STEPS)]
    elif process == "drift":
        top, loss = rng.uniform(0.65, 0.8), rng.uniform(0.02, 0.05)
        path = [top - loss * max(0, i - 2) - 0.1 * max(0, 2 - i) for i in range(STEPS)]
    else:
        spike, level = rng.randrange(2, 6), rng.uniform(0.45, 0.6)
        path = [level + 0.03 * i for i in range(STEPS)]
        path[spike] = rng.uniform(0.86, 0.95)
    return [round(min(1.0, max(0.0, p + n)), 4) for p, n in zip(path, noise, strict=True)]
