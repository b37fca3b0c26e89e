"""A real agent, a program of its own, against a real model: recorded, judged, and run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import LoopGuard, load, load_preset, prepare, run_episode
from tests.live import agent
from tests.live.test_real_model import address, pytestmark, told

__all__ = ["address", "pytestmark"]

ROOT = Path(__file__).parents[2]


def harness(here: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "HARNESS_"))}
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *arguments],
        env={**own, "PYTHONPATH": str(ROOT), **environment},
        cwd=here, text=True, capture_output=True, check=False,
    )  # fmt: skip


def turns_of(printed: str) -> list[dict[str, Any]]:
    """What the agent printed, as a loop tells its guard."""
    found = []
    for line in printed.splitlines():
        said, text, calls = json.loads(line)
        made = [{"tool": tool, "args": args, "result": result} for tool, args, result in calls]
        found.append({"text": text, "calls": made, **({"nudge": said} if said else {})})
    return found


@pytest.mark.parametrize("how", ["whole", "streamed"])
def test_the_recording_decides_as_a_guard_around_the_loop_and_runs_again(
    address: str, tmp_path: Path, how: str
) -> None:
    program = ("--", sys.executable, agent.__file__, how)
    live = harness(
        tmp_path, "record", "-o", "a.jsonl", "--nudge", *program,
        OPENAI_BASE_URL=address, OPENAI_API_KEY="none",
    )  # fmt: skip
    assert live.returncode == 0, live.stderr
    turns = turns_of(live.stdout)
    assert len(turns) == agent.TURNS
    assert any(turn["calls"] for turn in turns)

    guard = LoopGuard("balanced", goal="Add 2 and 3.", task={"tools": ["add"]})
    for turn in turns:
        if guard.observe(**turn).ends:
            break
    decided = guard.episode()
    assert decided.exit_group == "stuck"

    (found,) = load([tmp_path / "a.jsonl"])
    assert all(step.reply.usage and step.reply.ms for step in found.steps)
    again = run_episode(prepare(found), load_preset("balanced"))
    assert told(again.decisions) == told(decided.decisions)
    replay = harness(tmp_path, "run", "a.jsonl", "-p", "balanced", "--json")
    assert replay.returncode == 0, replay.stderr
    assert json.loads(replay.stdout)["exits"] == {str(decided.exit_reason): 1}
    listed = harness(tmp_path, "list", "episodes", "--json")
    assert json.loads(listed.stdout)["exit_iteration"] == decided.exit_iteration

    # The unchanged program without server, address and key takes the same path.
    offline = harness(tmp_path, "record", "-o", "a.jsonl", "--mode", "none", "--json", *program)
    *printed, summary = offline.stdout.splitlines()
    assert offline.returncode == 0, offline.stderr
    assert turns_of("\n".join(printed)) == turns
    counted = json.loads(summary)
    assert (counted["answered"], counted["drifted"], counted["missed"]) == (agent.TURNS, [], [])
    print(f"{how}: {decided.message}")
