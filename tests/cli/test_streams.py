"""The real command: pipes, signals, exit codes, encodings. Each start takes a second."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import StoreError
from harness.store.database import Store

COMMAND = [sys.executable, "-m", "harness.cli"]


def _harness(
    folder: Path, *arguments: str, line: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command, or a shell line in which ``$h`` is the command."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HARNESS_") and k != "COLUMNS"}
    command = ["bash", "-c", line] if line else [*COMMAND, *arguments]
    return subprocess.run(
        command, cwd=folder, env=env | {"h": " ".join(COMMAND)} | environment, text=True,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_reader_that_goes_away_is_no_error(stored: Path) -> None:
    line = (
        '$h sql "FROM spans" --limit 0 | head -1; echo ${PIPESTATUS[0]}; '
        '$h sql "FROM spans" --json | head -1 | cut -c1; echo ${PIPESTATUS[0]}'
    )
    result = _harness(stored.parent, line=line, HARNESS_STORE=str(stored))
    assert result.stderr == ""
    assert [row for row in result.stdout.splitlines() if row in ("0", "1", "2", "120")] == [
        "0",
        "0",
    ]


def test_full_disk(stored: Path) -> None:
    result = _harness(stored.parent, line=f"$h exits --store {stored} > /dev/full")
    assert result.returncode == 2
    assert result.stderr == "harness: the disk is full\n"


def test_closed_output_and_a_poor_encoding(stored: Path) -> None:
    line = f"$h list presets >&- && $h list episodes --store {stored} | tail -1"
    result = _harness(stored.parent, line=line, PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.isascii()


def test_no_traceback_but_on_demand(tmp_path: Path) -> None:
    plain = _harness(tmp_path, "run", "no.yaml")
    assert (plain.returncode, plain.stdout) == (2, "")
    assert plain.stderr == "harness: scenarios: no.yaml does not exist\n"
    debug = _harness(tmp_path, "run", "no.yaml", HARNESS_DEBUG="1")
    assert debug.returncode == 2
    assert "Traceback" in debug.stderr
    assert debug.stderr.endswith(plain.stderr)


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_run_can_be_resumed(tmp_path: Path, workers: int) -> None:
    count = 150
    (tmp_path / "many.yaml").write_text(
        "schema: harness/scenario@1\nid: many/x\ngoal: g\n"
        f"generate: {{process: converge, n: {count}}}\n"
    )
    arguments = ["run", "many.yaml", "-p", "observe", "--run", "r 1", "--store", "s.duckdb"]
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--workers", str(workers)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    _wait_for_run(Store(tmp_path / "s.duckdb"))
    # As a terminal does it: the workers get the signal too.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    # Where the signal met Python inside a library's import, Python ends itself by SIGINT in the
    # end, which a shell reports as 130 too.
    assert process.returncode in (130, -signal.SIGINT), (out, err)
    assert out == ""
    assert err == (
        "harness: run: interrupted; go on with: harness run --resume 'r 1' --store s.duckdb\n"
    )
    resumed = _harness(tmp_path, "run", "--resume", "r 1", "--store", "s.duckdb", "--json")
    assert resumed.returncode == 0, resumed.stderr
    (line,) = map(json.loads, resumed.stdout.splitlines())
    assert line["episodes"] == count


def _wait_for_run(store: Store) -> None:
    """Wait until the replay has begun."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if store.rows("FROM runs"):
                return
        except StoreError:
            time.sleep(0.02)
    raise AssertionError("the run did not begin")
