"""Observed runs for choosing: refinement loops of known shape in a real store."""

from __future__ import annotations

from pathlib import Path

from harness.preset import load_presets
from harness.run import run
from harness.scenario import Scenario
from harness.store.database import Store
from tests.examples import PRICED, scenario, step
from tests.stored import jsonl

#: Scores by kind of loop. A patient loop gains late, so that stopping early is wrong there.
SHAPES: dict[str, tuple[float | None, ...]] = {
    "quick": (0.6, 0.9, 0.9, 0.9, 0.9, 0.9),
    "plateau": (0.5, 0.7, 0.7, 0.7, 0.7, 0.7),
    "late": (0.4, 0.4, 0.5, 0.8, 0.8, 0.8),
    "flat": (0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
}


def loop(
    name: str, scores: tuple[float | None, ...], *, goal: str = "", priced: bool = True, at: int = 0
) -> Scenario:
    """A loop with these scores; ``at`` makes its tokens its own."""
    usage = {"model": PRICED, "usage": {"input": 1000 + at, "output": 100}} if priced else {}
    steps = [
        step(score=s, text=f"Draft {n} of {name}.", ms=9 + at, **usage)
        for n, s in enumerate(scores, 1)
    ]
    return scenario(
        steps, id=name, goal=goal or f"Write {name}.", recorded={"limits": {"max_iterations": 6}}
    )


def loops(each: int = 12, kinds: tuple[str, ...] = tuple(SHAPES)) -> list[Scenario]:
    """So many loops of each kind, each of its own task."""
    return [
        loop(f"{kind}/{n:02d}", SHAPES[kind], at=100 * at + n)
        for at, kind in enumerate(kinds)
        for n in range(each)
    ]


def observed(folder: Path, scenarios: list[Scenario], run_id: str = "seen") -> Store:
    """A store in which these were observed."""
    store = Store(folder / "harness.duckdb")
    source = jsonl(folder / f"{run_id}.jsonl", *scenarios)
    run([source], load_presets(["observe"]), store, run_id=run_id)
    return store


SPACE = """
schema = "harness/space@1"
[guards]
quality = [0.8, 0.85, false]
patience = [1, 2, 3, 4, false]
"""


def space(folder: Path, text: str = SPACE) -> Path:
    """A space file."""
    path = folder / "space.toml"
    path.write_text(text, "utf-8")
    return path
