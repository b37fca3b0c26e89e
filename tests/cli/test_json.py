"""With ``--json`` standard output is JSON lines and nothing else; the rest goes to stderr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cli.app import LISTED, TOPICS
from tests.cli.conftest import Cli

# Arguments, and keys that scripts rely on.
VERBS: dict[str, tuple[list[str], set[str]]] = {
    "show": (["show", "reflection/plateau", "-p", "reflection"], {"type", "episode_id"}),
    "exits": (["exits"], {"by", "key", "exit_reason", "exit_group", "episodes", "share"}),
    "exits by run": (["exits", "--by", "run"], {"key", "median_rounds", "mean_best_score"}),
    "sql": (["sql", "FROM exits"], {"run_id", "preset", "exit_reason"}),
    "validate": (["validate", "one.jsonl"], {"scenarios", "presets", "problems"}),
    "run": (
        ["run", "one.jsonl", "-p", "cost", "--store", "x.duckdb"],
        {"run_id", "preset", "exits"},
    ),
    **{f"list {what}": (["list", what], set()) for what in LISTED},
    **{f"docs {topic}": (["docs", topic], {"topic", "text"}) for topic in TOPICS},
}


@pytest.mark.parametrize("case", VERBS)
def test_json(
    harness: Cli, stored: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("HARNESS_STORE", str(stored))
    arguments, keys = VERBS[case]
    result = harness(*arguments, "--json")
    assert result.code == 0, result
    assert result.lines
    assert all(keys <= set(line) for line in result.lines)


def test_show_tells_every_iteration(
    harness: Cli, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_STORE", str(stored))
    episode, *iterations = harness("show", "reflection/plateau", "-p", "reflection", "--json").lines
    assert episode["exit_reason"] == "stagnation"
    assert [line["iteration"] for line in iterations] == list(range(1, len(iterations) + 1))
    last = iterations[-1]
    assert last["exit_reason"] == "stagnation"
    assert last["signals"]["stagnation"]["fired"] is True
    assert last["signals"]["stagnation"]["comparison"] == "<"
    assert [c["name"] for c in last["conditions"] if c["won"]] == ["stagnation"]
    assert episode["exit_iteration"] == len(iterations)


def test_run_reports_every_preset(harness: Cli, scenario: Path) -> None:
    result = harness("run", "one.jsonl", "-p", "observe", "-p", "balanced", "--json")
    assert [line["preset"] for line in result.lines] == ["observe", "balanced"]
    assert all(sum(line["exits"].values()) == line["episodes"] == 1 for line in result.lines)
    assert "2 episodes of 1 scenarios" in result.err


def test_numbers_that_json_lacks(harness: Cli, stored: Path) -> None:
    query = (
        "SELECT 'NaN'::DOUBLE AS a, 'inf'::DOUBLE AS a, ['-inf'::DOUBLE] AS b, DATE '2026-01-01' c"
    )
    (line,) = harness("sql", query, "--json", "--store", stored).lines
    assert line == {"a": None, "a_2": "Infinity", "b": ["-Infinity"], "c": "2026-01-01"}


def test_a_refused_file_is_reported_on_both_streams(harness: Cli, here: Path) -> None:
    (here / "a.jsonl").write_text("{}\n[\n")
    result = harness("validate", "a.jsonl", "--json")
    (line,) = result.lines
    assert result.code == 2
    assert line["scenarios"] == 0
    assert [p.partition(": ")[0] for p in line["problems"]] == ["a.jsonl:1", "a.jsonl:2"]
    assert result.err.startswith("harness: a.jsonl:2: ")


def test_an_error_leaves_standard_output_empty(harness: Cli) -> None:
    for arguments in (["exits"], ["run", "-p", "no"], ["list"], ["show", "x"], ["sql", "x"]):
        harness(*arguments, "--json").refusal()


def test_json_holds_unknowns_as_null(harness: Cli, scenario: Path) -> None:
    harness("run", "one.jsonl", "-p", "cost")
    (row,) = harness("exits", "--json").lines
    values: dict[str, Any] = row
    assert values["median_tokens"] is None
    assert values["cost_pico_usd"] is None
