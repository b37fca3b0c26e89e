"""show, list, exits, sql and docs as people read them: 80 columns, every number in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from harness.cli import main
from harness.cli.app import BY, LISTED, TOPICS
from tests.cli.conftest import Cli

COMMANDS = get_command(main.app).commands  # type: ignore[attr-defined]
VERBS = tuple(COMMANDS)
READ: dict[str, list[str]] = {
    "show": ["show", "reflection/plateau", "-p", "reflection"],
    "show costs": ["show", "budgets/cost-budget-priced", "-p", "cost"],
    "wide sql": ["sql", "FROM iterations LIMIT 3"],
    "narrow sql": ["sql", "SELECT preset, count(*) AS n FROM episodes GROUP BY ALL ORDER BY 1"],
    **{f"list {what}": ["list", what] for what in LISTED},
    **{f"exits {by}": ["exits", "--by", by] for by in BY},
}


@pytest.mark.parametrize("columns", ["", "60", "120"])
@pytest.mark.parametrize("case", READ)
def test_fits(
    harness: Cli, stored: Path, monkeypatch: pytest.MonkeyPatch, case: str, columns: str
) -> None:
    monkeypatch.setenv("HARNESS_STORE", str(stored))
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    result = harness(*READ[case])
    assert (result.code, result.err) == (0, "")
    assert result.out.strip()
    assert max(map(len, result.out.splitlines())) <= int(columns or 80)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("verb", [[], *([verb] for verb in VERBS)])
def test_help_fits(
    harness: Cli, monkeypatch: pytest.MonkeyPatch, verb: list[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = harness(*verb, "--help")
    assert (result.code, result.err) == (0, "")
    assert max(map(len, result.out.splitlines())) <= columns


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_written_for_80_columns(verb: str) -> None:
    words = COMMANDS[verb].help
    # The terminal keeps the line ends of all but the first paragraph.
    _, _, rest = words.partition("\n\n")
    assert [line for line in rest.splitlines() if len(line) > 78] == []


def test_help_teaches(harness: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = harness("--help").out
    assert all(f"│ {verb} " in text for verb in VERBS)
    assert "harness run" in text
    for verb in set(VERBS) - {"docs"}:
        text = harness(verb, "--help").out
        lines = [line.strip() for line in text.splitlines()]
        # Each example stands on a line of its own, whole.
        at = next(n for n, line in enumerate(lines) if line in ("Example:", "Examples:"))
        examples = lines[at + 1 : lines.index("", at)]
        assert examples, text
        assert all(f"{line} ".startswith(f"harness {verb} ") for line in examples), examples
    assert all(what in harness("list", "--help").out for what in LISTED)
    assert all(topic in harness("docs", "--help").out for topic in TOPICS)
    assert harness("-h").out == harness("--help").out


def test_show_says_what_ended_it(harness: Cli, stored: Path) -> None:
    text = harness("show", "reflection/plateau", "-p", "reflection", "--store", stored).out
    assert text.startswith("reflection/plateau under reflection: stagnation by stagnation in iter")
    rows = [line.split() for line in text.splitlines()]
    signals = next(row for row in rows if row[:2] == ["stagnation", "<"])
    assert signals[2] == "0.02"
    assert signals[-1].endswith("*")
    assert "iteration 4: stagnation → stagnation (stop)" in text


def test_money_and_time_in_the_units_of_people(harness: Cli, stored: Path) -> None:
    shown = ["-p", "cost", "--store", str(stored)]
    assert ">= $0.0035 " in harness("show", "budgets/cost-budget-priced", *shown).out
    assert ">= 60.0s" in harness("show", "budgets/time-budget", *shown).out


def test_show_finds_an_episode_by_the_beginning_of_its_id(harness: Cli, stored: Path) -> None:
    (row, *_) = harness("list", "episodes", "--store", stored, "--json").lines
    whole = harness("show", row["episode_id"], "--store", stored)
    assert whole.code == 0
    assert harness("show", row["episode_id"][:8], "--store", stored).out == whole.out
    assert row["episode_id"] in whole.out


def test_show_replays_a_scenario_file(harness: Cli, scenario: Path) -> None:
    result = harness("show", scenario, "-p", "reflection")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("one/two under reflection: recording_exhausted in iteration 2")
    assert [p.name for p in scenario.parent.iterdir()] == [scenario.name]


def test_show_takes_one_scenario_of_a_file(harness: Cli, scenario: Path) -> None:
    text = scenario.read_text("utf-8")
    scenario.write_text(text + text.replace("one/two", "one/three"), "utf-8")
    result = harness("show", f"{scenario}::one/three", "-p", "observe")
    assert result.out.startswith("one/three under observe")


def test_exits_add_up(harness: Cli, stored: Path) -> None:
    for by in BY:
        rows = harness("exits", "--by", by, "--store", stored, "--json").lines
        for key in {row["key"] for row in rows}:
            shares = [row["share"] for row in rows if row["key"] == key]
            assert sum(shares) == pytest.approx(1)
        episodes = harness("list", "episodes", "--store", stored, "--json").lines
        assert sum(row["episodes"] for row in rows) == len(episodes)


def test_episodes_are_selected(harness: Cli, stored: Path) -> None:
    everything = ["list", "episodes", "--store", str(stored), "--json"]
    rows = harness(*everything, "--preset", "reflection", "--reason", "stagnation").lines
    assert rows
    assert {(r["preset"], r["exit_reason"]) for r in rows} == {("reflection", "stagnation")}
    none = harness(*everything[:-1], "--reason", "verified")
    assert (none.code, none.out, none.err) == (0, "", "no episodes\n")


def test_sql_limits_and_widths(harness: Cli, stored: Path) -> None:
    store = ["--store", str(stored)]
    cut = harness("sql", "SELECT * FROM range(60)", *store)
    assert len(cut.out.splitlines()) == 51
    assert cut.err == "only the first 50 rows are shown; --limit 0 shows all\n"
    assert len(harness("sql", "SELECT * FROM range(60)", *store, "--limit", "0").out.split()) == 61
    assert len(harness("sql", "SELECT * FROM range(60)", *store, "--json").lines) == 60
    assert harness("sql", "SELECT 1 WHERE false", *store).err == "no rows\n"
    narrow = harness("sql", "SELECT 'a' AS word, 12 AS n", *store).out
    assert narrow.splitlines()[0].split() == ["word", "n"]
    # Too wide for a table: nothing is cut off.
    wide = harness("sql", "SELECT repeat('x', 60) AS a, repeat('y', 60) AS b", *store).out
    assert wide.split() == ["a", "x" * 60, "b", "y" * 60]


def test_version(harness: Cli) -> None:
    from harness import __version__

    assert harness("--version").out == f"harness {__version__}\n"


@pytest.mark.parametrize("topic", TOPICS)
def test_docs(harness: Cli, topic: str) -> None:
    result = harness("docs", topic)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("{" if topic == "scenario" else "<!-- Generated by")
