"""What the tests of agents' own logs share: reading, and going through what was read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.importers import Intake, recordings
from harness.importers._head import head_of
from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare

Write = Callable[..., Path]
Refused = Callable[[Path], str]
USAGE = ("input", "cache_read", "cache_write", "output", "reasoning")


def read(name: str, path: Path) -> list[dict[str, Any]]:
    return list(recordings(name, path))


def lenient(name: str, path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """What a file gives where broken records are only noted, and the notes."""
    intake = Intake()
    return list(recordings(name, path, intake)), intake.problems


def observed(recording: dict[str, Any]) -> int:
    """Iterations of a replay under ``balanced`` in which every guard only looks on."""
    tape = prepare(Scenario.model_validate(recording))
    return len(run_episode(tape, load_preset("balanced").observed()).iterations)


def tokens(recording: dict[str, Any]) -> dict[str, int]:
    """Sums of the five counts."""
    found = [step.get("reply", {}).get("usage", {}) for step in recording["steps"]]
    return {key: sum(usage.get(key, 0) for usage in found) for key in USAGE}


def calls(recording: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for step in recording["steps"] for call in step.get("calls", ())]


def fitting(module: Any, folder: Path) -> set[str]:
    """Names of the files below a folder that an importer takes for its own."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    return {path.name for path in files if module.fits(head_of(path))}
