"""What pytest adds to a replay: 2,000 expectations against replay, store and 2,000 empty tests.

    python -m tests.benchmarks.bench_pytest

Prints the time of ``pytest`` over a file of scenarios (collected, replayed, traced, stored) as a
ratio to that of ``harness run`` over the same file plus that of pytest over as many empty tests,
each in a process of its own, in turns. The aim is at most 3.
"""

from __future__ import annotations

import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare

EXPECTATIONS = 2_000
ROUNDS = 5
PRESET = "reflection"


def scenarios() -> str:
    """Loops of two to nine rounds that reach the target, stagnate or run out, as expected."""
    preset = load_preset(PRESET)
    lines = []
    for number in range(EXPECTATIONS):
        rounds = 2 + number % 8
        gain = (0.004, 0.03, 0.09, 0.17)[number % 4]
        steps = [
            {
                "reply": {
                    "text": f"Revision {at} of draft {number}.", "model": "gpt-4o-mini", "ms": 900,
                    "usage": {"input": 700 + 100 * at, "output": 120},
                },
                "output": f"Draft {number}, version {at}: {'x' * at}",
                "score": round(0.4 + gain * at, 3),
            }
            for at in range(rounds)
        ]  # fmt: skip
        data = {"schema": "harness/scenario@1", "id": f"bench/{number}", "goal": "Write it.",
                "steps": steps}  # fmt: skip
        episode = run_episode(prepare(Scenario.model_validate(data)), preset)
        data["expect"] = {
            PRESET: {"exit_reason": episode.exit_reason.value, "iteration": episode.exit_iteration}
        }
        lines.append(json.dumps(data))
    return "\n".join(lines) + "\n"


def timed(folder: Path, *command: str) -> float:
    """Seconds of one process."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True,
                          check=False)  # fmt: skip
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return took


def main() -> None:
    """Measure and print."""
    logging.disable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "loops.jsonl").write_text(scenarios(), "utf-8")
        (folder / "test_empty.py").write_text(
            "import pytest\n\n"
            f"@pytest.mark.parametrize('n', range({EXPECTATIONS}))\n"
            "def test_nothing(n): pass\n",
            "utf-8",
        )
        quiet = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        ratios = []
        for number in range(ROUNDS):
            store = f"{number}.duckdb"
            replay = timed(folder, "-m", "harness.cli", "run", "loops.jsonl", "-p", PRESET,
                           "--store", f"run-{store}")  # fmt: skip
            empty = timed(folder, *quiet, "test_empty.py")
            tested = timed(folder, *quiet, "loops.jsonl", "--harness-store", store)
            ratios.append(tested / (replay + empty))
            print(f"replay {replay:.2f} s, empty tests {empty:.2f} s, expectations {tested:.2f} s: "
                  f"{ratios[-1]:.2f}")  # fmt: skip
        print(f"median ratio {statistics.median(ratios):.2f} (aim: at most 3)")


if __name__ == "__main__":
    main()
