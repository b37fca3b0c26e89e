"""``harness tune`` on real stores: figures, files, exit codes, refusals."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.preset import load_preset
from harness.store.database import Store
from tests.cli.conftest import Cli
from tests.examples import call, scenario, step
from tests.stored import jsonl
from tests.tune.runs import SHAPES, loop, loops, observed, space

HEAD = 'schema = "harness/space@1"\n'


@pytest.fixture
def cli(harness: Cli) -> Cli:
    """``cli("tune seen --json")``."""
    return lambda command: harness(*shlex.split(command))


@pytest.fixture
def seen(here: Path) -> Path:
    """A store in the working folder with 48 observed loops, and a small space."""
    observed(here, loops())
    space(here)
    return here


def summary(lines: list[dict[str, object]]) -> dict[str, object]:
    assert lines[-1]["type"] == "summary"
    return lines[-1]


def test_it_chooses_what_a_person_would(seen: Path, cli: Cli) -> None:
    """Late loops gain after two flat rounds: patience 1 is wrong there; quality ends quick ones."""
    done = cli("tune seen --space space.toml --max-false-stop 0 -o mine.toml")
    assert done.code == 0, done.err
    assert "chosen: quality 0.8, patience 2" in done.out
    assert "chosen preset is cheaper than every fixed step count" in done.out
    mine = load_preset("mine.toml")
    assert {name: guard.threshold for name, guard in mine.guards.items()} == {
        "quality": 0.8, "patience": 2,
    }  # fmt: skip
    text = (seen / "mine.toml").read_text()
    for said in ("held-out", "48 episodes of 48 tasks", "fixed steps (stop after 4)", "20 splits",
                 "0 censored", "limited by max_iterations 6 (48)"):  # fmt: skip
        assert said in text, text


def test_what_it_says_of_a_preset_is_what_running_it_shows(seen: Path, cli: Cli) -> None:
    lines = cli("tune seen --space space.toml -o mine.toml --json").lines
    chosen = [line for line in lines if line.get("role") == "chosen"]
    assert cli("run seen.jsonl -p mine.toml --run real").code == 0
    (real,) = Store(seen / "harness.duckdb").rows(
        "SELECT sum(exit_iteration) AS iterations, sum(cost_pico_usd) AS cost FROM episodes "
        "WHERE run_id = 'real'"
    )
    # Both sides together are all episodes.
    assert sum(line["iterations"] for line in chosen) == real["iterations"]
    assert sum(line["cost_pico_usd"] for line in chosen) == real["cost"]


def test_the_store_keeps_what_was_found_last(seen: Path, cli: Cli) -> None:
    for _ in range(2):
        lines = cli("tune seen --space space.toml --json").lines
    rows = Store(seen / "harness.duckdb").rows("SELECT * FROM tuning")
    assert len(rows) == len(lines) - 1
    keys = {(row["role"], row["part"]) for row in rows}
    roles = ("chosen", "to the end", "fixed steps", "current", "oracle", "front")
    assert keys == {(role, part) for role in roles for part in ("train", "held_out")}
    for row, line in zip(rows, lines, strict=False):
        assert {k: v for k, v in line.items() if k != "type"} == row
    assert all(json.loads(r["preset"])["guards"] for r in rows if r["role"] == "chosen")


def test_the_same_data_write_the_same_files(seen: Path, cli: Cli) -> None:
    written = []
    for _ in range(2):
        command = "tune seen --space space.toml -o mine.toml --report r.md --by family"
        assert cli(command).code == 0
        written.append([(seen / name).read_bytes() for name in ("mine.toml", "r.md")])
    assert written[0] == written[1]


def test_it_fits_into_80_columns(seen: Path, cli: Cli) -> None:
    out = cli("tune seen --by family").out
    assert max(map(len, out.splitlines())) <= 80
    for column in ("an episode", "train", "held-out", "95 %", "to the end", "oracle", "front"):
        assert column in out


def test_nothing_beats_counting_steps_where_nothing_differs(here: Path, cli: Cli) -> None:
    """All loops are alike, so a step count is as good as any guard."""
    made = [loop(f"late/{n}", SHAPES["late"], at=n) for n in range(20)]
    observed(here, made)
    done = cli("tune seen")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "Nothing here beats counting steps" in words
    assert "Take the step count." in words


def test_a_preset_for_each_family_where_there_are_enough_tasks(here: Path, cli: Cli) -> None:
    """Thirty quick loops may stop at once after the peak; four late ones have the common preset."""
    observed(here, [*loops(40, ("quick", "flat")), *loops(4, ("late",))])
    space(here)
    done = cli("tune seen --space space.toml --by family -o mine.toml --json")
    groups = summary(done.lines)["groups"]
    assert groups == {
        "flat": "patience 1",
        "late": "2 tasks on one side, fewer than 19",
        "quick": "quality 0.8",
    }
    names = sorted(path.name for path in here.glob("mine*.toml"))
    assert names == ["mine-flat.toml", "mine-quick.toml", "mine.toml"]


def test_thresholds_beyond_the_recordings_are_warned_of(seen: Path, cli: Cli) -> None:
    space(seen, HEAD + "[guards]\npatience = [5, 6]\n")
    done = cli("tune seen --space space.toml --max-false-stop 0")
    assert "end before the chosen preset decides" in " ".join(done.out.split())


def test_copies_are_told(here: Path, cli: Cli) -> None:
    made = loops(6)
    made += [loop("copy/0", SHAPES["quick"], at=0)]
    observed(here, made)
    notes = " ".join(summary(cli("tune seen --json").lines)["notes"])  # type: ignore[arg-type]
    assert "1 episodes are copies of another one, 1 under another task's name" in notes


def test_settings_that_were_not_observed_are_worked_out(seen: Path, cli: Cli) -> None:
    space(seen, HEAD + "[guards]\nstagnation = { min_delta = 0.05, window = [1, 2, 3] }\n")
    lines = cli("tune seen --space space.toml --max-false-stop 1 -o mine.toml --json").lines
    assert summary(lines)["chosen"] == "stagnation 0.05 window=1"
    assert load_preset("mine.toml").guards["stagnation"].settings()["window"] == 1


def test_quality_and_utility(seen: Path, cli: Cli) -> None:
    best = summary(cli("tune seen --space space.toml --objective quality --budget 1 --json").lines)
    assert "patience 1" not in str(best["chosen"])
    cheap = summary(cli(
        "tune seen --space space.toml --objective utility --value 0.00001 --price 1000 --json"
    ).lines)  # fmt: skip
    assert "patience 1" in str(cheap["chosen"])


def test_unpriced_runs_are_counted_in_iterations(here: Path, cli: Cli) -> None:
    made = [
        loop(f"{kind}/{n}", scores, priced=False, at=n)
        for kind, scores in SHAPES.items()
        for n in range(6)
    ]
    observed(here, made)
    found = summary(cli("tune seen --json").lines)
    assert found["unit"] == "iterations"
    assert "saving is counted in iterations" in " ".join(found["notes"])  # type: ignore[arg-type]


# Arguments, and what the line has to say.
REFUSED: dict[str, tuple[str, list[str]]] = {
    "no run": ("tune", ["names no run"]),
    "run": ("tune sen", ["'sen'", "'seen'"]),
    "observed": ("tune seen --observed balanced", ["balanced", "observe"]),
    "objective": ("tune seen --objective price", ["--objective", "'price'", "cost"]),
    "budget": ("tune seen --objective quality", ["--budget"]),
    "key": ("tune seen --by kind", ["--by", "'kind'", "family"]),
    "holdout": ("tune seen --holdout 1", ["--holdout", "1"]),
    "few tasks": ("tune seen --holdout 0.01", ["48 different tasks", "--holdout"]),
    "splits": ("tune seen --splits 0", ["--splits", "0"]),
    "unit": ("tune seen --unit money", ["--unit", "'money'", "tokens"]),
    "share": ("tune seen --max-false-stop 2", ["--max-false-stop", "2"]),
    "no space": ("tune seen --space no.toml", ["no.toml"]),
    "output": ("tune seen -o mine.txt", ["--output", ".toml", "mine.txt"]),
    "folder": ("tune seen -o no/mine.toml", ["--output", "folder no"]),
    "report": ("tune seen --report no/r.md", ["--report", "folder no"]),
    "current": ("tune seen --current blanced", ["'balanced'"]),
    "nothing within": (
        "tune seen --space one.toml --max-false-stop 0.01",
        ["no preset of the space", "least false-stop rate 0.25"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, seen: Path, cli: Cli) -> None:
    command, said = REFUSED[name]
    (seen / "one.toml").write_text(HEAD + "[guards]\npatience = [1]\n")
    line = cli(command).refusal()
    assert all(word in line for word in said), line


def test_a_run_that_observed_nothing(here: Path, cli: Cli) -> None:
    jsonl(here / "some.jsonl", *loops(3))
    assert cli("run some.jsonl -p reflection --run acted").code == 0
    assert "observed nothing" in cli("tune acted").refusal()


def test_runs_of_which_nobody_knows_how_they_went(here: Path, cli: Cli) -> None:
    steps = [step(call("look", {"at": n}), text=f"Step {n}.") for n in range(5)]
    observed(here, [scenario(steps, id=f"tools/{n}", goal=f"Do {n}.") for n in range(20)])
    assert "no false stop can be told" in cli("tune seen").refusal()
