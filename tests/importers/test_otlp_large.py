"""Files larger than the memory that reading them may take."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, otlp
from harness.importers._spans.spool import MAX_RUN_BYTES
from tests.importers.otlp_requests import ASKED, CHAT, request, span, trace

READ = """
import sys
from pathlib import Path
from harness.importers import Intake, otlp

found = [len(one["steps"]) for one in otlp.read(Path(sys.argv[1]), Intake(strict=True))]
status = Path("/proc/self/status").read_text()
print(len(found), sum(found), int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""
ROUNDS = 12


def _spans(number: int) -> Iterator[dict[str, Any]]:
    """A run whose agent's span comes last, with as much text as real ones have."""
    for turn in range(ROUNDS):
        about = {**ASKED, "gen_ai.system_instructions": "x" * 8000}
        more = {"trace": f"{number + 1:032x}", "parent": 1}
        yield span(turn + 2, about, at=number * 10_000 + turn * 100, **more)
    yield trace(number + 1)[-1]


def _write(path: Path, size: int) -> int:
    """Requests of 100 spans, each of another of 1,000 open traces; how many traces."""
    begun = 0
    running: list[Iterator[dict[str, Any]]] = []
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size or running:
            while len(running) < 1000 and file.tell() < size:
                running.append(_spans(begun))
                begun += 1
            batch = [(one, next(one, None)) for one in running]
            running = [one for one, found in batch if found is not None]
            spans = [found for _, found in batch if found is not None]
            for at in range(0, len(spans), 100):
                file.write(json.dumps(request(*spans[at : at + 100])) + "\n")
    return begun


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    begun = _write(path, 200 * 2**20)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
    )
    traces, steps, megabytes = map(int, done.stdout.split())
    assert (traces, steps) == (begun, begun * ROUNDS)
    assert megabytes < 500


def test_a_run_that_is_too_large_is_lost_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    part = {**CHAT, "gen_ai.output.messages": "x" * (MAX_RUN_BYTES // 4)}
    large = [span(number, part, trace=f"{9:032x}") for number in range(1, 6)]
    path.write_text("".join(f"{json.dumps(request(one))}\n" for one in [*large, *trace(1)]))
    intake = Intake()
    assert [one["id"] for one in otlp.read(path, intake)] == [f"otlp/{1:032x}"]
    (words,) = intake.problems
    assert f"run '{9:032x}': its 5 spans hold " in words
    assert words.endswith(f"bytes; at most {MAX_RUN_BYTES} are read")
