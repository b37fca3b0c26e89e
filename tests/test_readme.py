"""The README's commands print what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def sessions() -> list[tuple[str, str]]:
    """Each ``$ command`` of the console blocks with what stands below it."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def matches(expected: str, got: str) -> bool:
    """Line by line, trailing blanks aside; ``...`` stands for anything."""
    pattern = ".*?".join(
        re.escape("\n".join(line.rstrip() for line in part.split("\n")))
        for part in expected.split("...")
    )
    normal = "\n".join(line.rstrip() for line in got.splitlines())
    return re.fullmatch(pattern + r"\n*", normal + "\n", re.DOTALL) is not None


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command prints, run in order in a stranger's folder with the README's files.

    All of them, because each finds what the ones before it left, whichever worker checks it.
    """
    place = tmp_path_factory.mktemp("stranger")
    (scenario,) = (block for block in blocks("yaml") if "id: mine/" in block)
    (preset,) = (block for block in blocks("toml") if 'extends = "reflection"' in block)
    (place / "mine.yaml").write_text(scenario)
    (place / "tight.toml").write_text(preset)
    run("harness run", place)
    return {command: run(command, place) for command, _ in sessions()}


def run(command: str, folder: Path) -> str:
    """The standard output of a command, at 80 columns."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "OTEL_"))}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["COLUMNS"] = "80"
    done = subprocess.run(
        command, cwd=folder, env=environment, shell=True, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("command", "output"), sessions(), ids=[c for c, _ in sessions()])
def test_command(command: str, output: str, printed: dict[str, str]) -> None:
    got = printed[command]
    assert matches(output, got), f"README says:\n{output}\ngot:\n{got}"


def test_counts_of_bundled_scenarios() -> None:
    """The README counts the scenarios; so does the folder."""
    files = [p for p in (ROOT / "scenarios").rglob("*.yaml") if p.parent.name != "generated"]
    assert f"{len(files)} written by" in " ".join(README.split()).replace("\n", " ")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_live_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's loop around an agent that says three times the same and calls the same tool."""

    class Reply:
        text = "I look again."
        calls = (("read", {"path": "a.py"}),)
        score = None

    class Agent:
        def step(self, order: str | None) -> Reply:
            return Reply()

    def run_tools(calls: tuple[tuple[str, dict[str, str]], ...]) -> list[dict[str, object]]:
        return [{"tool": tool, "args": args, "result": "x = 1"} for tool, args in calls]

    (code,) = blocks("python")
    names: dict[str, object] = {"agent": Agent(), "run_tools": run_tools}
    exec(code, names)  # noqa: S102 - our own
    guard = names["guard"]
    assert guard.decision.ends
    assert capsys.readouterr().out.startswith("spin after 3 iterations")
