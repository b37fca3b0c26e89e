"""The page docs/pytest.md, followed by somebody in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.pytest_plugin.settings import CI
from tests.test_readme import matches

PAGE = (Path(__file__).parents[2] / "docs/pytest.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(command: str, folder: Path) -> str:
    """Standard output of a command at 80 columns."""
    ours = ("HARNESS_", "OTEL_", "PYTEST_", *CI)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
        "COLUMNS": "80",
    }
    return subprocess.run(
        command, cwd=folder, env=environment, shell=True, capture_output=True, text=True,
        check=False,
    ).stdout  # fmt: skip


def test_the_page_can_be_followed(tmp_path):
    for name, text in (
        ("scenarios/draft.yaml", blocks("yaml")[0]),
        ("presets/mine.toml", blocks("toml")[0]),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, "utf-8")
    identity = "-c user.name=a -c user.email=a@example.org"
    run(f"git init -q . && git add -A && git {identity} commit -qm start", tmp_path)
    sessions = [part for block in blocks("console") for part in block.split("$ ")[1:]]
    for number, session in enumerate(sessions):
        command, _, output = session.partition("\n")
        got = run(command, tmp_path)
        assert matches(output.rstrip("\n").removesuffix("...") + "...", got), got
        if number == 0:
            preset = tmp_path / "presets/mine.toml"
            preset.write_text(preset.read_text("utf-8").replace("0.02", "0.3"), "utf-8")
    (tmp_path / "test_own.py").write_text(blocks("python")[0], "utf-8")
    assert "4 passed" in run("pytest", tmp_path)


@pytest.mark.parametrize("form", [r"--harness-[a-z-]+", r"(?<![-\w])harness_[a-z_]+"])
def test_every_option_and_setting_is_on_the_page(form, pytestconfig):
    """And nothing else is."""
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True
    ).stdout
    figures = {"harness_exit_reason", "harness_exit_iteration", "harness_best_score",
               "harness_cost_pico_usd", "harness_replay"}  # fmt: skip
    assert set(re.findall(form, PAGE)) - figures == set(re.findall(form, shown))
