"""What cannot be done is refused in one line that names object, value and choices; exit code 2."""

from __future__ import annotations

import shlex
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Cli

# Arguments, and what the line has to say.
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "verb": ("rnu", ["'rnu'", "'run'", "harness --help"]),
    "option": ("run --wrokers 2", ["--wrokers", "harness run --help"]),
    "missing argument": ("show", ["episode", "harness show --help"]),
    "missing value": ("run --resume", ["--resume", "requires"]),
    "no workers": ("run --workers 0", ["--workers", "1"]),
    "workers in words": ("run --workers two", ["--workers", "integer"]),
    "no repetitions": ("run --repetitions 0", ["--repetitions", "1"]),
    "limit": ("sql 'FROM runs' --limit -1", ["--limit", "0"]),
    "what to list": ("list scenario", ["'scenario'", "'scenarios'", "guards"]),
    "paths of what has none": ("list guards x.yaml", ["list guards", "x.yaml"]),
    "selection of what has none": ("list runs --preset cost", ["list runs", "--preset"]),
    "topic": ("docs guard", ["'guard'", "'guards'", "tables"]),
    "key": ("exits --by presets", ["--by", "'preset'", "family"]),
    "preset": ("run -p blanced", ["'blanced'", "'balanced'", "cost", ".toml"]),
    "preset twice": ("run -p cost -p cost", ["cost", "twice"]),
    "preset file": ("run -p my.toml", ["my.toml", "not exist"]),
    "scenario file": ("run my.yaml", ["my.yaml", "not exist"]),
    "kind of file": ("run a.txt", ["a.txt", ".yaml", ".jsonl"]),
    "empty path": ("run ''", ["path is empty"]),
    "no scenarios": ("run .", ["none found"]),
    "no scenarios to list": ("list scenarios .", ["none found"]),
    "run name": ("run --run ' '", ["--run", "empty"]),
    "importer": ("import tau a.txt -o x.jsonl", ["'tau'", "tau-bench", "react"]),
    "source": ("import react b.json -o x.jsonl", ["b.json"]),
    "kind of output": ("import react a.txt -o x.txt", ["--output", ".jsonl", "x.txt"]),
    "folder of output": ("import react a.txt -o no/x.jsonl", ["--output", "no"]),
    "output is a folder": ("import react a.txt -o d.jsonl --force", ["--output", "folder"]),
    "output exists": ("import react a.txt -o e.jsonl", ["e.jsonl", "--force"]),
    "store is a folder": ("exits --store d.jsonl", ["d.jsonl", "folder"]),
    "store is missing": ("exits --store no.duckdb", ["no.duckdb", "harness run"]),
    "store is text": ("exits --store a.txt", ["a.txt", "DuckDB"]),
    "store's folder": ("run --store no/x.duckdb", ["no", "not exist"]),
    "resume from nothing": ("run --resume a", ["harness.duckdb", "not exist"]),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_command(harness: Cli, here: Path, case: str) -> None:
    (here / "a.txt").write_text("no scenario, no store\n")
    (here / "d.jsonl").mkdir()
    (here / "e.jsonl").write_text("\n")
    command, words = COMMANDS[case]
    line = harness(*shlex.split(command)).refusal()
    assert [word for word in words if word not in line] == [], line


STORED: dict[str, tuple[str, list[str]]] = {
    "run": ("exits --run frist", ["'frist'", "'first'"]),
    "run to list": ("list episodes --run frist", ["'frist'", "'first'"]),
    "run to resume": ("run --resume frist", ["'frist'", "'first'"]),
    "run to show": ("show reflection/plateau --run frist", ["'frist'", "'first'"]),
    "name in use": ("run --run first -p cost", ["'first'", "--resume first"]),
    "resume with a preset": ("run --resume first -p cost", ["--resume", "--preset"]),
    "resume with paths": ("run x.yaml --resume first", ["--resume", "paths"]),
    "resume with a name": ("run --resume first --run second", ["--resume", "--run"]),
    "resume with observe": ("run --resume first --observe", ["--resume", "--observe"]),
    "resume repeated": ("run --resume first --repetitions 2", ["--resume", "--repetitions"]),
    "scenario": ("show reflection/platau", ["'reflection/platau'", "'reflection/plateau'"]),
    "episode": ("show 0000000000", ["'0000000000'"]),
    "nothing": ("show ''", ["''"]),
    "several presets": ("show reflection/plateau", ["--preset", "cost, reflection"]),
    "preset": ("show reflection/plateau -p cots", ["'cots'", "'cost'"]),
    "preset to list": ("list episodes -p cots", ["'cots'", "'cost'"]),
    "reason": ("list episodes --reason stagnated", ["'stagnated'", "'stagnation'", "spin"]),
    "no SQL": ("sql 'SELEC 1'", ["sql", "SELEC"]),
    "table": ("sql 'FROM exit'", ["exit", "exits"]),
    "two statements": ("sql 'SELECT 1; SELECT 2'", ["one statement", "2"]),
    "no statement": ("sql ''", ["one statement", "0"]),
    "change": ("sql 'DELETE FROM runs'", ["DELETE", "SELECT"]),
    "file": ("sql \"FROM read_csv('/etc/passwd')\"", ["/etc/passwd"]),
    "copy": ("sql \"COPY runs TO 'x.csv'\"", ["COPY"]),
}


@pytest.mark.parametrize("case", STORED)
def test_command_on_a_store(
    harness: Cli, stored: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("HARNESS_STORE", str(stored))
    command, words = STORED[case]
    line = harness(*shlex.split(command)).refusal()
    assert [word for word in words if word not in line] == [], line


@pytest.mark.parametrize("verb", [["exits"], ["run", "one.jsonl"], ["sql", "SELECT 1"]])
@pytest.mark.parametrize("version", [None, "99"])
def test_store_of_another_kind(
    harness: Cli, scenario: Path, verb: list[str], version: str | None
) -> None:
    with duckdb.connect("other.duckdb") as connection:
        connection.execute("CREATE TABLE store_meta (key VARCHAR, value VARCHAR)")
        if version is None:
            connection.execute("ALTER TABLE store_meta RENAME TO something")
        else:
            connection.execute("INSERT INTO store_meta VALUES ('schema_version', ?)", [version])
    line = harness(*verb, "--store", "other.duckdb").refusal()
    assert "other.duckdb" in line
    assert (version or "no harness store") in line


def test_debug_shows_the_traceback(harness: Cli) -> None:
    for arguments in (["--debug", "run", "-p", "no"], ["run", "-p", "no", "--debug"]):
        result = harness(*arguments)
        assert result.code == 2
        assert "Traceback" in result.err
        assert result.err.splitlines()[-1].startswith("harness: preset: ")


def test_unexpected_error_is_one_line(harness: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("two\nlines\x1b[31m")

    monkeypatch.setattr("harness.preset.bundled", broken)
    result = harness("list", "presets")
    assert result.code == 2
    assert result.err == (
        "harness: internal error: RuntimeError: two lines\\u001b[31m; --debug shows the traceback\n"
    )


def test_missing_disk_space_and_memory(harness: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, words in (
        (OSError(28, "No space left on device"), "the disk is full"),
        (PermissionError(13, "Permission denied", "x.jsonl"), "x.jsonl: Permission denied"),
        (MemoryError(), "out of memory"),
    ):
        monkeypatch.setattr("harness.preset.bundled", lambda error=error: _raise(error))
        assert words in harness("list", "presets").refusal()


def _raise(error: BaseException) -> None:
    raise error
