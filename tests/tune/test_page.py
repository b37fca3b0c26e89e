"""The page docs/tuning.md, followed by somebody in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.test_readme import matches, run

PAGE = (Path(__file__).parents[2] / "docs/tuning.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with the page's recordings."""
    place = tmp_path_factory.mktemp("page")
    (place / "make_runs.py").write_text(blocks("python")[0])
    subprocess.run([sys.executable, "make_runs.py"], cwd=place, check=True)
    return place


def test_the_page_can_be_followed(folder: Path) -> None:
    for session in (part for block in blocks("console") for part in block.split("$ ")[1:]):
        command, _, output = session.partition("\n")
        got = run(command, folder)
        assert matches(output, got), f"the page says:\n{output}\ngot:\n{got}"
    (folder / "space.toml").write_text(blocks("toml")[0])
    said = run("harness tune tuning --space space.toml --max-lost 0.05", folder)
    assert "presets of space.toml" in said


def test_every_option_is_on_the_page_or_in_its_help(harness: Cli) -> None:
    named = set(re.findall(r"`(--[a-z-]+)", PAGE))
    told = harness("tune", "--help").out
    assert all(option in told for option in named), named
