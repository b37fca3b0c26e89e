"""Hostile recordings: shown inert, 80 columns wide, nothing executed, nothing lost."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store
from tests.cli.conftest import Cli, Result

EVIL = (
    "\x1b[31mRED\x1b]0;title\x07 [bold]b[/bold] [/nothing] [link=x] :smile: \u202eRTL\u2066 \x00 "
    "\x9b2J \r\b\x7f '; DROP TABLE runs;-- <script>alert(1)</script> ../../etc/passwd "
    "\ud800 \ufeff\u200b\u2028\U000e0041 {0} %s \\"
)
NAME = "r\x1b[31mun [red]1[/]"
PRESET = """
schema = "harness/preset@1"
title = "t\\u001b[31m [bold]x[/]"
[guards]
"sp\\u001b[31m[bold]" = { kind = "spin", threshold = 3, on = "text" }
"""


def _scenarios() -> str:
    """Two hostile recordings as JSON lines."""
    step = {
        "user": EVIL,
        "reply": {"text": EVIL, "model": EVIL, "finish_reason": EVIL, "usage": {"input": 1}},
        "calls": [{"tool": EVIL, "args": {EVIL: EVIL}, "result": EVIL, "ok": False, "ms": 1}],
        "output": EVIL,
        "plan": EVIL,
        "feedback": EVIL,
        "score": 0.5,
    }
    scenario = {
        "schema": "harness/scenario@1", "id": EVIL, "title": EVIL, "goal": EVIL, "source": EVIL,
        "tags": [EVIL], "tools": [EVIL], "steps": [step] * 5, "recorded": {"outcome": EVIL},
    }  # fmt: skip
    both = [scenario, scenario | {"id": "../../etc/passwd", "tools": None}]
    return "".join(json.dumps(line) + "\n" for line in both)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hostile files and a store that holds a run of them."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "evil.jsonl").write_text(_scenarios())
    (folder / "[red]my.toml").write_text(PRESET)
    presets = load_presets([str(folder / "[red]my.toml"), "balanced"])
    run([folder / "evil.jsonl"], presets, Store(folder / "harness.duckdb"), run_id=NAME)
    return folder


@pytest.fixture
def hostile(here: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hostile folder as the working folder."""
    monkeypatch.chdir(folder)
    return folder


def _check(result: Result) -> None:
    for line in result.out.splitlines():
        assert _cells(line) <= 80, line
    bad = {c for c in result.out + result.err if unicodedata.category(c)[0] == "C" and c != "\n"}
    assert not bad, bad
    assert not {"\u2028", "\u2029"} & set(result.out + result.err)


def _cells(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


SHOWN = {
    "episodes": (["list", "episodes"], "\\u001b[31mRED"),
    "runs": (["list", "runs"], "r\\u001b[31mun [red]1[/]"),
    "scenarios": (["list", "scenarios", "evil.jsonl"], "[bold]b[/bold]"),
    "exits": (["exits"], "[red]my"),
    "exits by model": (["exits", "--by", "model"], "\\u001b[31mRED"),
    "exits by family": (["exits", "--by", "family"], "\\u001b[31mRED"),
    "exits by run": (["exits", "--by", "run"], "r\\u001b[31mun"),
    "show": (["show", "../../etc/passwd", "-p", "[red]my"], "sp\\u001b[31m[bold]"),
    "show by calls": (["show", "../../etc/passwd", "-p", "balanced"], "\\u001b[31mRED"),
    "texts": (["sql", "SELECT text FROM messages"], "'; DROP TABLE runs;--"),
    "everything": (["sql", "FROM calls"], "[link=x] :smile:"),
    "columns": (["sql", "SELECT 1 AS \"\x1b[31m\", 2 AS \"[red]x\""], "\\u001b[31m [red]x"),
}  # fmt: skip


def test_run_is_inert(harness: Cli, here: Path) -> None:
    (here / "evil.jsonl").write_text(_scenarios())
    (here / "[red]my.toml").write_text(PRESET)
    result = harness("run", "evil.jsonl", "-p", "[red]my.toml", "-p", "balanced", "--run", NAME)
    assert result.code == 0, result
    _check(result)
    assert "run r\\u001b[31mun [red]1[/] is in harness.duckdb" in result.err


@pytest.mark.parametrize("case", SHOWN)
def test_shown_inert(harness: Cli, hostile: Path, case: str) -> None:
    arguments, words = SHOWN[case]
    result = harness(*arguments)
    assert result.code == 0
    _check(result)
    assert words in result.out


@pytest.mark.parametrize("case", [name for name in SHOWN if name != "columns"])
def test_json_is_whole_and_inert(harness: Cli, hostile: Path, case: str) -> None:
    result = harness(*SHOWN[case][0], "--json")
    assert result.code == 0
    assert result.lines
    assert all(c.isprintable() or c == "\n" for c in result.out)
    if case == "scenarios":
        assert result.lines[0]["id"] == EVIL.replace("\ud800", "\ufffd")


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "no \x1b[31m"],
        ["exits", "--run", "no"],
        ["run", "evil.jsonl", "--run", NAME],
        ["run", "--resume", "no \x1b[31m"],
        ["list", "episodes", "-p", "\u202eno"],
        ["run", "\x1b[31m.yaml"],
        ["\x1b[31m"],
        ["sql", "SELECT '\x1b[31m"],
    ],
)
def test_errors_are_inert(harness: Cli, hostile: Path, arguments: list[str]) -> None:
    line = harness(*arguments).refusal()
    assert line[:-1].isprintable(), line


def test_validate_is_inert(harness: Cli, here: Path) -> None:
    line = json.dumps({"schema": "harness/scenario@1", "id": EVIL, "goal": EVIL, EVIL: EVIL})
    (here / "a.jsonl").write_text(f"{line}\n{line}\n")
    result = harness("validate", "a.jsonl")
    assert result.code == 2
    assert len(result.err.splitlines()) == 2
    assert all(c.isprintable() or c == "\n" for c in result.out + result.err)


def test_nothing_was_lost_or_dropped(harness: Cli, hostile: Path) -> None:
    (row,) = harness("sql", "SELECT count(*) AS n FROM episodes", "--json").lines
    assert row == {"n": 4}
    texts = {row["text"] for row in harness("sql", "FROM messages", "--json").lines}
    assert EVIL.replace("\ud800", "\ufffd") in texts
    assert {path.suffix for path in hostile.iterdir()} <= {".jsonl", ".toml", ".duckdb", ".lock"}
