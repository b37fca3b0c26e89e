"""``harness import``: what is found, what is lost and named, and what is written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import terminal
from harness.scenario import Scenario
from tests.cli.conftest import Cli

KEY = "sk-" + "abc123" * 5
BROKEN = '{"messages": [{"role": "user"'


def chat(name: str, *, said: str = "It boils.", **more: Any) -> str:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    messages = [{"role": "user", "content": "Boil water."},
                {"role": "assistant", "content": said, "usage": usage}]  # fmt: skip
    return json.dumps({"id": name, "messages": messages, **more})


def write(path: str, *lines: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.fixture
def runs(here: Path) -> Path:
    """Two formats, a file with a broken line, and a note."""
    write("runs/chat.jsonl", chat("a"), BROKEN, chat("b", outcome="success"))
    step = {"action": "search[kettle]", "observation": "Page 1"}
    react = {"id": 5, "instruction": "a kettle", "score": 1.0, "steps": [step]}
    write("runs/deep/shop.jsonl", json.dumps(react))
    write("runs/README.md", "# Runs")
    return here / "runs"


def test_auto_reads_what_it_knows_and_names_the_rest(harness: Cli, runs: Path) -> None:
    result = harness("import", "auto", "runs", "-o", "x.jsonl")
    assert result.code == 1
    assert result.out.startswith("3 recordings, 3 steps -> x.jsonl\nformat: chat 2, react 1\n")
    lines = result.err.splitlines()
    assert lines[0].startswith("harness: runs/chat.jsonl: line 2: not JSON: ")
    assert lines[1] == "skipped: runs/README.md: is text that no importer knows"
    assert lines[2].startswith("formats: any-agent, ") or lines[2].startswith("formats: ")
    assert [one["id"] for one in read("x.jsonl")] == ["chat/a", "chat/b", "react/webshop/005"]
    for one in read("x.jsonl"):
        Scenario.model_validate(one)
    assert harness("run", "x.jsonl", "-p", "observe").code == 0


def test_the_same_bytes_each_time_and_ids_of_their_own(harness: Cli, runs: Path) -> None:
    write("more/chat.jsonl", chat("a", said=f"My key is {KEY}, not {KEY[:-1]}x."), chat("a"))
    arguments = ("import", "auto", "runs", "more", "runs/chat.jsonl", "--keep-raw", "raw.jsonl")
    assert harness(*arguments, "-o", "x.jsonl").code == 1
    first = Path("x.jsonl").read_bytes(), Path("raw.jsonl").read_bytes()
    assert harness(*arguments, "-o", "x.jsonl", "--force").code == 1
    assert (Path("x.jsonl").read_bytes(), Path("raw.jsonl").read_bytes()) == first
    ids = [one["id"] for one in read("x.jsonl")]
    assert ids == ["chat/a", "chat/b", "react/webshop/005", "chat/a-2", "chat/a-2-2"]


def test_secrets_are_taken_out_of_both_files(harness: Cli, here: Path) -> None:
    write("a.jsonl", chat("a", said=f"The key is {KEY}."), chat("b"))
    (line,) = harness("import", "chat", "a.jsonl", "-o", "x.jsonl", "--keep-raw", "raw.jsonl",
                      "--json").lines  # fmt: skip
    assert line["secrets_removed"] == 1
    assert [found["code"] for found in line["lint"]] == ["secrets"]
    first, second = read("raw.jsonl")
    assert list(first) == ["id", "place", "raw"]
    assert (second["id"], second["place"]) == ("a/b", "a.jsonl: line 2")
    assert second["raw"] == json.loads(chat("b"))
    placeholder = "The key is [redacted api_key aaaaaa]."
    assert first["raw"]["messages"][1]["content"] == placeholder
    assert read("x.jsonl")[0]["steps"][0]["reply"]["text"] == placeholder
    assert not any(KEY in path.read_text() for path in here.glob("[rx]*.jsonl"))


def test_a_dry_run_tells_all_and_writes_nothing(harness: Cli, runs: Path) -> None:
    times = {"timestamps": ["2026-01-02T03:04:05Z", "2026-01-03T03:04:05Z"]}
    write("runs/chat.jsonl", chat("a", **times), chat("b", **times))
    before = sorted(runs.parent.rglob("*"))
    result = harness("import", "auto", "runs", "--dry-run", "--keep-raw", "raw.jsonl")
    assert (result.code, sorted(runs.parent.rglob("*"))) == (0, before)
    for words in (
        "3 recordings, 3 steps; nothing was written\n",
        "outcome: unknown 2, success 1\n",
        "exit reason: unknown 2, agent_finished 1 (explicit)\n",
        "tokens: 20 in 2 of 3 steps\n",
        "dates: unknown\n",
        "usage                   1       0",
        " 1 the same as a recording before it",
        "such as: chat/b (as chat/a)",
        "fix: import each export once",
    ):
        assert words in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_json_has_the_same_figures(harness: Cli, runs: Path) -> None:
    (line,) = harness("import", "auto", "runs", "-o", "x.jsonl", "--json").lines
    expected = {
        "recordings": 3, "steps": 3, "tokens": 20, "steps_with_tokens": 2, "broken": 1,
        "outcomes": {"unknown": 1, "success": 2}, "skipped": 1, "output": "x.jsonl",
        "dates": None,
    }  # fmt: skip
    assert {key: line[key] for key in expected} == expected
    assert line["endings"] == [
        {"exit_reason": "unknown", "source": "unknown", "recordings": 2},
        {"exit_reason": "agent_finished", "source": "explicit", "recordings": 1},
    ]
    assert {name: found["recordings"] for name, found in line["formats"].items()} == {
        "chat": 2, "react": 1,
    }  # fmt: skip
    assert line["missing"]["usage"] == 1
    assert len(line["problems"]) == 1


@pytest.mark.parametrize("arguments", [("auto", "runs"), ("chat", "runs/chat.jsonl")])
def test_strict_ends_at_the_first_broken_record(
    harness: Cli, runs: Path, arguments: tuple[str, ...]
) -> None:
    message = harness("import", *arguments, "-o", "x.jsonl", "--strict").refusal()
    assert "runs/chat.jsonl: line 2: not JSON" in message
    assert [path.name for path in runs.parent.iterdir()] == ["runs"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["auto", "none.jsonl", "-o", "x.jsonl"], "none.jsonl: cannot be read: No such file"),
        (["auto", "empty", "-o", "x.jsonl"], "import: empty: holds no recording"),
        (["auto", "notes", "-o", "x.jsonl"], "none of 1 files is known; notes/a.md: is text"),
        (["auto", "notes/a.md", "-o", "x.jsonl"], "is text that no importer knows; formats: "),
        (["chat", "bad.jsonl", "-o", "x.jsonl"], "bad.jsonl: line 1: not JSON"),
        (["auto", "bad.jsonl", "-o", "x.jsonl"], "bad.jsonl: line 1: "),
        (["chat", "good.jsonl"], "--output: name a .jsonl file to write, or use --dry-run"),
        (["chat", "good.jsonl", "-o", "x.json"], "--output: must end in .jsonl, found 'x.json'"),
        (["chat", "good.jsonl", "-o", "notes.jsonl"], "--output: notes.jsonl is a folder"),
        (["chat", "good.jsonl", "-o", "good.jsonl", "--force"], "good.jsonl is what is read"),
        (["chat", "good.jsonl", "-o", "old.jsonl"], "old.jsonl exists; --force writes over it"),
        (["chat", "good.jsonl", "-o", "x.jsonl", "--keep-raw", "x.jsonl"], "must be another file"),
        (["chat", "good.jsonl", "-o", "x.jsonl", "--keep-raw", "old.jsonl"], "--keep-raw: old"),
        (["chat", "good.jsonl", "-o", "no/x.jsonl"], "folder no does not exist"),
        (["chatt", "good.jsonl", "-o", "x.jsonl"], "(did you mean 'chat'?)"),
    ],
)
def test_refusals(harness: Cli, here: Path, arguments: list[str], words: str) -> None:
    write("good.jsonl", chat("a"))
    write("old.jsonl", "mine")
    write("bad.jsonl", BROKEN, BROKEN)
    write("notes/a.md", "# Notes")
    Path("empty").mkdir()
    Path("notes.jsonl").mkdir()
    before = sorted(here.rglob("*"))
    assert words in harness("import", *arguments).refusal()
    assert sorted(here.rglob("*")) == before
    assert Path("old.jsonl").read_text() == "mine\n"


def test_many_broken_records_are_counted(harness: Cli, here: Path) -> None:
    write("a.jsonl", chat("a"), *[BROKEN] * 30)
    result = harness("import", "chat", "a.jsonl", "-o", "x.jsonl")
    lines = result.err.splitlines()
    assert (result.code, len(lines), lines[-1]) == (1, 21, "harness: ... and 10 more")
    # A path that cannot be read does not stop the others.
    result = harness("import", "chat", "none.jsonl", "a.jsonl", "-o", "x.jsonl", "--force")
    assert (result.code, len(read("x.jsonl"))) == (1, 1)
    assert "none.jsonl: cannot be read" in result.err


def test_values_that_no_file_holds_are_written_as_json(harness: Cli, here: Path) -> None:
    deep = "[" * 900 + "]" * 900
    write("a.jsonl", chat("a", note=float("nan"), other="\ud83d"),
          chat("b").replace('"id"', f'"deep": {deep}, "id"'))  # fmt: skip
    result = harness("import", "chat", "a.jsonl", "-o", "x.jsonl", "--keep-raw", "raw.jsonl")
    assert "a.jsonl: line 2: nested too deeply" in result.err
    (raw,) = read("raw.jsonl")
    assert (raw["raw"]["note"], raw["raw"]["other"]) == (None, "\ufffd")
    assert result.code == 1


@pytest.fixture
def endless(here: Path) -> Path:
    """More than can be imported while somebody waits."""
    path = here / "long.jsonl"
    with path.open("w") as file:
        for number in range(30_000):
            file.write(chat(f"r{number}") + "\n")
    return path


def test_an_interrupted_import_leaves_nothing(endless: Path, here: Path) -> None:
    Path("x.jsonl").write_text("mine\n")
    command = [sys.executable, "-m", "harness.cli", "import", "chat", str(endless), "-o", "x.jsonl",
               "--force", "--keep-raw", "raw.jsonl"]  # fmt: skip
    process = subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True)
    while not list(here.glob("x.jsonl.*.part")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate()
    assert words == "harness: import: interrupted; nothing was written\n"
    assert process.returncode == 130
    assert sorted(path.name for path in here.iterdir()) == ["long.jsonl", "x.jsonl"]
    assert Path("x.jsonl").read_text() == "mine\n"


def test_progress_is_told_by_bytes(
    harness: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.jsonl", *(chat(f"r{n}", said="word " * 30_000) for n in range(40)))
    write("b.jsonl", *(chat(f"r{n}", said="word " * 30_000) for n in range(20)))
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(terminal.ProgressBar, "update", lambda bar, *at: told.append(at))
    harness("import", "auto", "a.jsonl", "b.jsonl", "-o", "x.jsonl")
    total = sum(Path(name).stat().st_size for name in ("a.jsonl", "b.jsonl")) >> 20
    assert told == sorted(told)
    assert {whole for _, whole in told} == {total}
    assert len({done for done, _ in told}) >= total - 1


def damaged(kind: str, records: list[str]) -> Iterator[tuple[str, bytes, set[int]]]:
    """Name, bytes, and records that are lost, where a file is broken off or damaged within."""
    opening, between, closing = ("", "\n", "\n") if kind == "lines" else ("[", ",\n", "]")
    whole = opening + between.join(records) + closing
    middle = len(opening) + len(between.join(records[:5])) + len(between) + 40
    yield "broken off", whole[:middle].encode(), set(range(5, 10))
    data = bytearray(whole.encode())
    data[middle] = 0xFF
    yield "damaged", bytes(data), {5}


@pytest.mark.parametrize("kind", ["lines", "list"])
def test_only_what_is_broken_is_lost_and_named(harness: Cli, here: Path, kind: str) -> None:
    messages = [{"role": "user", "content": "Hello. " * 20}, {"role": "assistant", "content": "Hi"}]
    trial = {"trial": 0, "reward": 1.0, "info": {"task": {"instruction": "x"}}, "traj": messages}
    records = [
        chat(f"r{n}", said="long " * 20) if kind == "lines"
        else json.dumps(trial | {"task_id": n})
        for n in range(10)
    ]  # fmt: skip
    name, form = ("a.jsonl", "chat") if kind == "lines" else ("a.json", "tau-bench")
    for what, data, lost in damaged(kind, records):
        Path(name).write_bytes(data)
        result = harness("import", form, name, "-o", "x.jsonl", "--force")
        assert result.code == 1, what
        kept = [n for n in range(10) if n not in lost]
        found = [int("".join(filter(str.isdigit, one["id"].split("/")[-1].split("-trial")[0])))
                 for one in read("x.jsonl")]  # fmt: skip
        assert found == kept, what
        (problem,) = result.err.splitlines()
        assert problem.startswith(f"harness: {name}: "), what
