"""``harness lint``: which presets, exit codes, streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

HEAD = 'schema = "harness/preset@1"\n[guards]\n'
#: Two findings, on lines 4 and 5.
BAD = HEAD + "max_rounds = 3\nstagnation = { window = 5 }\nspin = 1\n"
CUT_OFF = (
    "mine.toml:4: cut-off: stagnation needs 6 iterations (window 5), max_rounds ends the loop "
    "after 4"
)
ALWAYS = (
    "mine.toml:5: always-fires: spin fires at >= 1, and its signal is always at least 1: it "
    "fires as soon as anything is measured (to switch it off: spin = false)"
)
GOOD = HEAD + "max_rounds = 3\nspin = 3\n"
NOTE = HEAD + "max_rounds = 3\ncost_budget = { limit_usd = inf }\n"


def test_a_finding_is_one_line(harness: Cli, here: Path) -> None:
    (here / "mine.toml").write_text(BAD)
    result = harness("lint", "mine.toml")
    assert result.code == 1
    assert result.out.splitlines() == [
        CUT_OFF,
        ALWAYS,
        "1 preset: 2 errors",
    ]
    assert result.err == ""


@pytest.mark.parametrize(
    ("text", "code"), [(BAD, 1), (GOOD, 0), (NOTE, 0)], ids=["error", "nothing", "note"]
)
def test_exit_code(harness: Cli, here: Path, text: str, code: int) -> None:
    (here / "mine.toml").write_text(text)
    assert harness("lint", "mine.toml").code == code


def test_the_seven_presets_are_the_default(harness: Cli) -> None:
    result = harness("lint")
    assert (result.code, result.out) == (0, "7 presets: nothing found\n")


def test_all_bundled_ones(harness: Cli) -> None:
    result = harness("lint", "--all")
    assert result.code == 1
    assert all("no-hard-limit" in line for line in result.out.splitlines()[:-1])
    assert harness("lint", "peer-hermes", "--ignore", "no-hard-limit").code == 0


def test_a_folder_stands_for_the_presets_in_it(harness: Cli, here: Path) -> None:
    folder = here / "presets"
    (folder / "more").mkdir(parents=True)
    (folder / "a.toml").write_text(BAD)
    (folder / "more" / "b.toml").write_text(BAD)
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    lines = harness("lint", "presets", "presets/a.toml", "--json").lines
    assert {line.get("file") for line in lines} == {"presets/a.toml", "presets/more/b.toml", None}
    assert lines[-1] == {"type": "summary", "presets": 2, "errors": 4, "warnings": 0, "notes": 0}


def test_json(harness: Cli, here: Path) -> None:
    (here / "mine.toml").write_text(BAD)
    result = harness("lint", "mine.toml", "--json", "--ignore", "always-fires")
    assert result.code == 1
    assert result.lines == [
        {
            "type": "finding", "code": "cut-off", "severity": "error", "preset": "mine",
            "key": "guards.stagnation.window", "file": "mine.toml", "line": 4,
            "message": "stagnation needs 6 iterations (window 5), max_rounds ends the loop after 4",
        },
        {"type": "summary", "presets": 1, "errors": 1, "warnings": 0, "notes": 0},
    ]  # fmt: skip


def test_own_scenarios(harness: Cli, here: Path, scenario: Path) -> None:
    (here / "mine.toml").write_text(HEAD + "max_rounds = 3\ntool_budget = 1\n")
    assert harness("lint", "mine.toml").code == 1
    # The scenario makes no call, so that nothing can be said.
    assert harness("lint", "mine.toml", "--scenarios", scenario.name).code == 0


REFUSED = {
    "unknown preset": (["lint", "balancd"], "did you mean 'balanced'"),
    "unknown rule": (["lint", "--ignore", "cutoff"], "did you mean 'cut-off'"),
    "no such file": (["lint", "no.toml"], "does not exist"),
    "an empty folder": (["lint", "empty"], "holds no preset files"),
    "no scenarios": (["lint", "--scenarios", "empty"], "none found"),
    "a broken scenario": (["lint", "--scenarios", "bad.yaml"], "bad.yaml"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_judged(harness: Cli, here: Path, case: str) -> None:
    (here / "empty").mkdir()
    (here / "bad.yaml").write_text("steps: 3\n")
    arguments, words = REFUSED[case]
    result = harness(*arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_the_others_are_judged_all_the_same(harness: Cli, here: Path) -> None:
    (here / "bad.toml").write_text("schema = 3\n")
    (here / "mine.toml").write_text(BAD)
    result = harness("lint", "bad.toml", "mine.toml")
    assert result.code == 2
    assert "mine.toml:4: cut-off" in result.out
    assert "bad.toml: schema" in result.err


def test_annotations(harness: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (here / "mine.toml").write_text(BAD)
    result = harness("lint", "mine.toml", "--json")
    assert len(result.lines) == 3
    first, second = result.err.splitlines()
    assert first.startswith("::error title=harness lint%3A cut-off,file=mine.toml,line=4::mine: ")
    assert second.startswith("::error title=harness lint%3A always-fires,file=mine.toml,line=5::")


def test_a_hostile_name_stays_text(harness: Cli, here: Path) -> None:
    (here / "mine.toml").write_text(HEAD + 'max_rounds = 3\n"[red]\\u001b" = { kind = "spin", '
                                    "threshold = 1 }\n")  # fmt: skip
    result = harness("lint", "mine.toml")
    assert "[red]\\u001b fires at" in result.out
