"""``harness minimise`` as its user meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.files import load_one
from tests.cli.conftest import Cli
from tests.examples import call, scenario, scored, step
from tests.stored import jsonl

LOOP = scenario(
    [
        step(call("read", {"path": f"/home/jane/{n}"}, f"page {n} for jane.doe@acme.io"))
        for n in range(4)
    ]
    + [step(call("run", {"cmd": "make"}, "no rule", ok=False), text=f"Try {n}.") for n in range(9)],
    id="night/build",
)
OTHER = scenario(scored(0.1, 0.2), id="night/other")


@pytest.fixture
def run(harness: Cli, here: Path) -> Path:
    """A folder with a stored run."""
    jsonl(here / "night.jsonl", LOOP, OTHER)
    assert harness("run", "night.jsonl", "-p", "balanced", "-p", "strict").code == 0
    return here


def test_a_stored_episode_becomes_a_test_that_passes(
    harness: Cli,
    run: Path,
) -> None:
    made = harness("minimise", "night/build", "-p", "balanced", "-o", "one.yaml")
    assert made.code == 0, made
    assert made.out == ""
    assert "13 steps -> 3, 13 calls -> 3" in made.err
    assert "next: pytest one.yaml" in made.err
    found = load_one(run / "one.yaml")
    assert (found.id, len(found.steps)) == ("regression/night-build-balanced-spin-a1fcd9", 3)
    words = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", "one.yaml"]
    done = subprocess.run(words, cwd=run, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
    assert harness("validate", "one.yaml").code == 0


def test_files_of_two_presets_run_together(harness: Cli, run: Path) -> None:
    for name in ("balanced", "strict"):
        assert harness("minimise", "night/build", "-p", name, "-o", f"{name}.yaml").code == 0
    words = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider"]
    words += ["balanced.yaml", "strict.yaml"]
    done = subprocess.run(words, cwd=run, capture_output=True, text=True, check=False)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout


def test_a_spent_budget_is_said(harness: Cli, run: Path) -> None:
    made = harness("minimise", "night/build", "-p", "balanced", "--budget", "1")
    assert made.code == 0
    assert "warning: the budget was spent" in made.err
    assert "left as they are" not in made.err
    assert ("jane" in made.out, "person1@example.com" in made.out) == (False, True)


def test_without_a_file_the_yaml_goes_to_standard_output(harness: Cli, run: Path) -> None:
    first = harness("minimise", "night/build", "-p", "strict")
    (run / "piped.yaml").write_text(first.out, "utf-8")
    assert load_one(run / "piped.yaml").expect.keys() == {"strict"}
    assert harness("minimise", "night.jsonl::night/build", "-p", "strict").out == first.out


def test_json(harness: Cli, run: Path) -> None:
    (line,) = harness("minimise", "night/build", "-p", "balanced", "--json").lines
    assert line["data"]["expect"] == {"balanced": {"exit_reason": "spin", "iteration": 3}}
    assert (line["exit_guard"], line["steps_before"], line["steps_after"]) == ("spin", 13, 3)
    assert (line["minimal"], line["output"], line["replay"]) == (True, None, "exact")


REFUSED = {
    "several presets": (["night/build"], "choose one with --preset: balanced, strict"),
    "nobody of that name": (["night/buidl"], "did you mean 'night/build'?"),
    "nothing": ([""], "an episode id or a scenario's id is needed"),
    "a file without a preset": (["night.jsonl::night/build"], "--preset: is required for a file"),
    "a file in a run": (["night.jsonl::night/build", "--run", "x"], "leave out --run"),
    "nothing decided": (["night/other", "-p", "strict"], "without a decision"),
    "another ending": (["night/build", "-o", "x.json"], "--output: must end in .yaml"),
    "no folder": (["night/build", "-o", "no/x.yaml"], "--output: folder no does not exist"),
    "there already": (["night/build", "-o", "old.yaml"], "old.yaml exists; --force writes over it"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(harness: Cli, run: Path, case: str) -> None:
    (run / "old.yaml").write_text("mine")
    arguments, words = REFUSED[case]
    assert words in harness("minimise", *arguments).refusal()
    assert (run / "old.yaml").read_text() == "mine"


def test_a_recording_that_is_gone_names_what_to_do(harness: Cli, run: Path) -> None:
    (run / "night.jsonl").unlink()
    words = harness("minimise", "night/build", "-p", "strict").refusal()
    assert "harness minimise FILE::night/build --preset strict" in words


def test_an_observed_episode_has_no_ending(harness: Cli, run: Path) -> None:
    harness("run", "night.jsonl", "-p", "balanced", "--observe")
    assert "was only observed" in harness("minimise", "night/build").refusal()
