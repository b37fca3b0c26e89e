"""What docs/your-own-guard.md shows runs, and its table is the code's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.testing import RELATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-guard.md").read_text("utf-8")
#: Blocks that begin with the name of a file are that file.
_NAMED = re.compile(r"^```\w+\n(# (\S+\.\w+)\n.*?)^```", re.DOTALL | re.MULTILINE)
FILES = {name: body for body, name in _NAMED.findall(PAGE)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in FILES.items():
        (tmp_path / name).write_text(body, "utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """What a Python process in this folder prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_files_of_the_page():
    expected = ["refusals.py", "live.py", "ours.toml", "pyproject.toml", "test_refusals.py"]
    assert expected == list(FILES)


def test_the_live_loop_prints_what_the_page_says(folder):
    (expected,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert expected == run(folder, "live.py")


def test_the_tests_of_the_page_pass(folder):
    (folder / "pyproject.toml").unlink()  # nothing of it is pytest's
    assert "2 passed" in run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.")


def test_the_preset_of_the_page_loads(folder):
    code = "import refusals, harness; print(harness.load_preset('ours.toml').guards['refusal_run'])"
    expected = "RefusalRun(threshold=4.0, on_fire=None)\n"
    assert expected == run(folder, "-c", code)


def test_the_table_is_the_codes():
    rows = [f"| `{r.name}` | {r.changes} | {r.holds} | {r.why} |" for r in RELATIONS]
    assert rows == re.findall(r"^\| `[a-z]+_[a-z_]+` \| .* \| .* \| .* \|$", PAGE, re.MULTILINE)
