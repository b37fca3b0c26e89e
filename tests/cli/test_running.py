"""run, validate and import: what is stored, said and left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_run_stores_and_says_what_is_next(harness: Cli, scenario: Path) -> None:
    result = harness("run", "one.jsonl", "-p", "cost", "-p", "balanced", "--run", "mine")
    assert result.code == 0
    assert "recording_exhausted" in result.out
    assert "2 episodes of 1 scenarios; run mine is in harness.duckdb" in result.err
    assert "next: harness exits" in result.err
    assert [row["run_id"] for row in harness("list", "runs", "--json").lines] == ["mine"]


def test_each_run_is_new(harness: Cli, scenario: Path) -> None:
    for _ in range(2):
        assert harness("run", "one.jsonl", "-p", "cost").code == 0
    assert len({row["run_id"] for row in harness("list", "runs", "--json").lines}) == 2


def test_store_of_the_environment(
    harness: Cli, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_STORE", "other.duckdb")
    assert "other.duckdb" in harness("run", "one.jsonl", "-p", "cost").err
    assert not Path("harness.duckdb").exists()
    assert harness("run", "one.jsonl", "-p", "cost", "--store", "own.duckdb").code == 0
    assert Path("own.duckdb").exists()


def test_resume_doubles_nothing(harness: Cli, scenario: Path) -> None:
    harness("run", "one.jsonl", "-p", "cost", "--run", "r", "--repetitions", "2")
    result = harness("run", "--resume", "r")
    assert result.code == 0
    assert "0 episodes of 1 scenarios, 2 were there already" in result.err
    assert len(harness("list", "episodes", "--json").lines) == 2


def test_observe_runs_to_the_end(harness: Cli, scenario: Path) -> None:
    harness("run", "one.jsonl", "-p", "reflection", "--observe")
    (row,) = harness("list", "episodes", "--json").lines
    assert (row["exit_reason"], row["exit_iteration"]) == ("recording_exhausted", 2)


def test_many_presets_stay_within_80_columns(harness: Cli, scenario: Path) -> None:
    arguments = ["run", "one.jsonl"]
    for number in range(12):
        name = f"preset-with-a-long-name-{number:02}.toml"
        Path(name).write_text('schema = "harness/preset@1"\n[guards]\nmax_rounds = 1\n')
        arguments += ["-p", name]
    result = harness(*arguments)
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    assert len(harness("exits", "--json").lines) == 12


def test_a_bad_file_ends_the_run_and_keeps_what_was_done(harness: Cli, scenario: Path) -> None:
    with scenario.open("a") as file:
        file.write("{}\n")
    line = harness("run", "one.jsonl", "-p", "cost", "--run", "r").refusal()
    assert "one.jsonl:2: scenario." in line
    assert "--resume r" in line
    assert len(harness("list", "episodes", "--json").lines) == 1
    scenario.write_text(scenario.read_text().replace("{}\n", ""))
    assert harness("run", "--resume", "r").code == 0


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        (None, "No such file"),
        ("models = [", "cannot be read as prices"),
        ("[other]\n", "models"),
        ("[models.x]\ninput = 1\n", "needs input and output"),
        ("[models.x]\ninput = 1\noutput = 1\nspeed = 1\n", "speed"),
        ("models = 5\n", "needs tables"),
        ("[models]\nx = 5\n", "found 5"),
        ("[models.x]\ninput = nan\noutput = 1\n", "nan"),
        ("[models.x]\ninput = -1\noutput = 1\n", "-1"),
        ('[models.x]\ninput = "1"\noutput = 1\n', "'1'"),
        ("[models.x]\ninput = 1e300\noutput = 1\n", "1e+300"),
    ],
)
def test_prices_that_cannot_be_used(
    harness: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, prices: str | None, words: str
) -> None:
    from harness import prices as module

    monkeypatch.setenv("HARNESS_PRICES", "p.toml")
    module._overrides.cache_clear()
    module._cost.cache_clear()
    step = {"reply": {"model": "no-such-model", "usage": {"input": 1}}}
    head = {"schema": "harness/scenario@1", "id": "a", "goal": "g", "steps": [step]}
    Path("a.jsonl").write_text(json.dumps(head))
    if prices is not None:
        Path("p.toml").write_text(prices)
    try:
        line = harness("run", "a.jsonl", "-p", "cost").refusal()
    finally:
        module._overrides.cache_clear()
    assert "HARNESS_PRICES=p.toml" in line
    assert words in line


def test_an_unknown_model_has_no_price(harness: Cli, here: Path) -> None:
    step = {"reply": {"model": "no-such-model", "usage": {"input": 1}}}
    head = {"schema": "harness/scenario@1", "id": "a", "goal": "g", "steps": [step]}
    Path("a.jsonl").write_text(json.dumps(head))
    assert harness("run", "a.jsonl", "-p", "cost").code == 0
    (row,) = harness("list", "episodes", "--json").lines
    assert row["cost_pico_usd"] is None


def test_validate_names_every_file_that_is_wrong(harness: Cli, scenario: Path) -> None:
    Path("bad.jsonl").write_text('{"id": 1}\n\n[]\n')
    Path("bad.yaml").write_text("a: [\n")
    Path("family.yaml").write_text("generate: {}\n")
    Path("bad.toml").write_text("[guards]\nspin = 3\n")
    Path("good.toml").write_text('schema = "harness/preset@1"\n[guards]\nspin = 3\n')
    names = ["bad.jsonl", "bad.yaml", "family.yaml", "no.yaml", "bad.toml", "good.toml"]
    result = harness("validate", *names, "one.jsonl")
    assert result.code == 2
    assert result.out == "1 scenarios and 1 presets are valid\n"
    lines = result.err.splitlines()
    assert all(line.startswith("harness: ") for line in lines)
    for place in (
        "bad.jsonl:1",
        "bad.jsonl:3",
        "bad.yaml:2",
        "family.yaml:1",
        "no.yaml",
        "bad.toml",
    ):
        assert sum(place in line for line in lines) == 1, (place, lines)
    assert harness("validate", "one.jsonl", "good.toml").code == 0
    assert harness("validate", ".").code == 2


def test_import_writes_scenarios_that_run(harness: Cli, here: Path) -> None:
    steps = [{"action": "search[blue kettle]", "observation": "Page 1"}] * 3
    source = {"id": 5, "instruction": "a blue \x1b[31mkettle", "score": None, "steps": steps}
    Path("runs.jsonl").write_text(json.dumps(source) + "\n")
    result = harness("import", "react", "runs.jsonl", "-o", "x.jsonl")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("1 recording, 3 steps -> x.jsonl\n")
    assert "the source lacks: token counts" in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert Path("x.jsonl").stat().st_mode & 0o777 == Path("runs.jsonl").stat().st_mode & 0o777
    assert harness("run", "x.jsonl", "-p", "balanced").code == 0
    (line,) = harness("import", "react", "runs.jsonl", "-o", "x.jsonl", "--force", "--json").lines
    assert (line["recordings"], line["output"]) == (1, "x.jsonl")


def test_import_leaves_nothing_behind_where_it_fails(harness: Cli, here: Path) -> None:
    Path("a.json").write_text('[{"instruction": 5}]')
    for source in ("a.json", "missing.json"):
        assert source in harness("import", "react", source, "-o", "x.jsonl").refusal()
    Path("x.jsonl").write_text("mine\n")
    harness("import", "react", "a.json", "-o", "x.jsonl", "--force").refusal()
    assert Path("x.jsonl").read_text() == "mine\n"
    assert sorted(path.name for path in here.iterdir()) == ["a.json", "x.jsonl"]
