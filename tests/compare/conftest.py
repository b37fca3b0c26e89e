"""Baselines and candidates: tiny stores, made by the harness itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.compare.file import Ended
from harness.preset import load_presets
from harness.run import run
from harness.scenario import Scenario
from harness.store.database import Store
from tests.cli.conftest import Cli, Result, harness, here
from tests.examples import PRICED, scenario, step
from tests.stored import jsonl

__all__ = ["Cli", "Result", "harness", "here"]

PRESET = """
schema = "harness/preset@1"
title = "Small"
[guards]
quality = {quality}
max_rounds = {rounds}
"""


def scored(name: str, *scores: float | None, priced: bool = True, **more: object) -> Scenario:
    """A loop that drafts and is scored."""
    usage = {"model": PRICED, "usage": {"input": 1000, "output": 100}} if priced else {}
    steps = [step(score=s, text=f"Draft {n}.", ms=9, **usage) for n, s in enumerate(scores, 1)]
    return scenario(steps, id=name, **more)


def ended(scenario: str = "a", preset: str = "p", **more: object) -> Ended:
    """An episode that ended well in its third iteration."""
    usual: dict[str, object] = {
        "repetition": 0, "exit_reason": "quality_reached", "iteration": 3, "best_score": 0.9,
        "cost_pico_usd": 1000, "unknowns": 2, "agreement": None, "replay": "exact",
        "content": "0123456789ab",
    }  # fmt: skip
    return Ended(scenario, preset, **(usual | more))


Make = Callable[..., None]


@pytest.fixture
def make(here: Path) -> Make:
    """``make("base", scenarios, rounds=3)``: a run in the store of the working folder."""

    def made(
        run_id: str,
        scenarios: list[Scenario],
        *,
        quality: float = 0.85,
        rounds: int = 3,
        store: str = "harness.duckdb",
        presets: tuple[str, ...] = ("small",),
        **more: int,
    ) -> None:
        files = []
        for name in presets:
            path = here / f"{name}.toml"
            path.write_text(PRESET.format(quality=quality, rounds=rounds))
            files.append(str(path))
        source = jsonl(here / f"{run_id}.jsonl", *scenarios)
        run([source], load_presets(files), Store(here / store), run_id=run_id, **more)

    return made
