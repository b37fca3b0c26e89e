"""Which importer a file or folder is for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers import Source, Unknown, available, detect, sources_in
from harness.importers._detect import sources
from harness.importers._head import Head

Write = Callable[..., Path]
ASK = {"role": "user", "content": "Boil water."}
CHAT = {"messages": [ASK, {"role": "assistant", "content": "It boils."}]}
TRIAL = {"name": "env_0", "is_success": True, "memory": []}
REACT = {"id": 1, "instruction": "a kettle", "score": 1.0, "steps": [{"action": "think[a]"}]}
COLLECTION = {"instance_id": "a", "exit_status": "Submitted", "messages": []}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", CHAT, "chat"),
        ("a.jsonl", [ASK], "chat"),
        ("a.jsonl", {"conversations": [{"from": "human", "value": "a"}]}, "chat"),
        ("a.jsonl", REACT, "react"),
        ("a.jsonl", {"idx": 1, "claim": "c", "reward": 0, "steps": []}, "react"),
        ("a.jsonl", COLLECTION, "mini-swe-agent"),
        ("a.jsonl", {"question": "q", "label": "CORRECT", "trial": 0, "steps": []}, "reflexion"),
        ("a.jsonl", {"name": "n", "is_solved": True, "reflections": [], "solution": ""},
         "reflexion"),
        ("a.jsonl", {"implementations": [], "test_feedback": [], "reflections": [],
                     "is_solved": True, "solution": ""}, "textgrad"),
        ("a.jsonl", {"_header": True, "cell": {}}, "loopgain"),
        ("a_run_logs_0.json", [TRIAL], "reflexion"),
        ("a.json", [{"task_id": 1, "trial": 0, "traj": []}], "tau-bench"),
        ("a.json", {"val_scores_history": [], "num_candidates": 0}, "gepa"),
        ("a.json", {"messages": [], "trajectory_format": "mini-swe-agent-1"}, "mini-swe-agent"),
        ("a.json", {"messages": [], "info": {"exit_status": "Submitted"}}, "mini-swe-agent"),
        ("a.traj.json", [ASK], "mini-swe-agent"),
        ("a.tsv", "commit\tval_bpb\tstatus\tdescription\n", "autoresearch"),
    ],
)  # fmt: skip
def test_formats(tmp_path: Path, name: str, content: Any, expected: str) -> None:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert detect(path) == expected


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", "", "the file is empty; formats: "),
        ("a.txt", "hello", "is text that no importer knows; formats: "),
        ("a.bin", "\0", "is binary that no importer knows"),
        ("a.json", '{"a": 1, "b": 2}',
         "is a JSON document that no importer knows; keys of its first record: 'a', 'b'"),
        ("a.jsonl", '{"a": 1}\n', "is JSON Lines that no importer knows"),
        ("a.jsonl", "[1]\n", "is JSON Lines with a record like [1], which no importer knows"),
        ("a.json", "[]", "is a JSON list with no record, which no importer knows"),
        ("a.jsonl", '{"schema": "harness/scenario@1"}', "holds scenarios already; harness run"),
        ("b.json", None, "cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_what_nobody_knows_is_told_with_what_would_help(
    tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(ImportFormatError) as caught:
        detect(path)
    assert str(caught.value).startswith(f"{path}: {words}")
    assert "\n" not in str(caught.value)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Chat and ReAct, a note, something hidden, and trials that belong together."""
    for name, content in {
        "runs/chat.jsonl": json.dumps(CHAT),
        "runs/react.jsonl": json.dumps(REACT),
        "runs/README.md": "# Runs",
        "runs/.cache/chat.jsonl": json.dumps(CHAT),
        "alfworld/base_run_logs_0.json": json.dumps([TRIAL]),
        "alfworld/base_run_logs_1.json": json.dumps([TRIAL]),
        "alfworld/notes.txt": "notes",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def test_folders_are_searched_and_trials_stay_together(mixed: Path) -> None:
    unknown = "is text that no importer knows"
    assert sources_in(mixed) == [
        Source(mixed / "alfworld", "reflexion"),
        Unknown(mixed / "alfworld/notes.txt", unknown),
        Unknown(mixed / "runs/README.md", unknown),
        Source(mixed / "runs/chat.jsonl", "chat"),
        Source(mixed / "runs/react.jsonl", "react"),
    ]
    assert detect(mixed / "alfworld") == "reflexion"
    with pytest.raises(ImportFormatError, match=r"holds several formats \(chat, react\)"):
        detect(mixed / "runs")


def test_an_empty_folder_and_one_of_unknown_files(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="the folder is empty; formats: "):
        detect(tmp_path)
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(ImportFormatError, match="none of its 1 files is known; formats: "):
        detect(tmp_path)


@pytest.fixture
def knotted(tmp_path: Path) -> Path:
    """Two runs in folders that links lead to, too: in a circle, twice, and to nothing."""
    for folder in ("b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "chat.jsonl").write_text(json.dumps(CHAT))
    for link, target in {"a": "b", "b/loop": "..", "c/self": ".", "z": "nothing"}.items():
        (tmp_path / link).symlink_to(target)
    return tmp_path


def test_no_folder_is_looked_at_twice_and_broken_links_are_named(knotted: Path) -> None:
    twice = "is a folder that was looked at already, by another path"
    assert sources(knotted, {"chat": _Chat()}) == [
        Source(knotted / "b/chat.jsonl", "chat"),
        Unknown(knotted / "b/loop", twice),
        Source(knotted / "c/chat.jsonl", "chat"),
        Unknown(knotted / "c/self", twice),
        Unknown(knotted / "a", twice),
        Unknown(knotted / "z", "is a broken link to nothing"),
    ]


def test_a_link_out_of_the_folder_is_followed(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    (tmp_path / "there/chat.jsonl").write_text(json.dumps(CHAT))
    (tmp_path / "here/link").symlink_to(tmp_path / "there")
    assert sources_in(tmp_path / "here") == [Source(tmp_path / "here/link/chat.jsonl", "chat")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")
def test_what_may_never_end_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(json.dumps(CHAT))
    os.mkfifo(tmp_path / "pipe")
    endless = "is a pipe or a device; name a file"
    assert sources_in(tmp_path) == [
        Source(tmp_path / "chat.jsonl", "chat"),
        Unknown(tmp_path / "pipe", endless),
    ]
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ImportFormatError, match=f"{path}: {endless}"):
            sources_in(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (100_000 * "[", "is a JSON list with a record like a deeply nested value, which no"),
        (100_000 * '{"a":', "is a JSON document that no importer knows; keys of its first record"),
        (f'[{{"b":{100_000 * "["}', "is a JSON list that no importer knows; keys of its first"),
    ],
    ids=["lists", "objects", "both"],
)
def test_deep_nesting_is_told_and_does_not_end_an_import(
    tmp_path: Path, content: str, reason: str
) -> None:
    (tmp_path / "chat.jsonl").write_text(json.dumps(CHAT))
    (tmp_path / "deep.json").write_text(content)
    chat, deep = sources_in(tmp_path)
    assert chat == Source(tmp_path / "chat.jsonl", "chat")
    assert isinstance(deep, Unknown)
    assert deep.reason.startswith(reason)


class _Chat:
    def fits(self, head: Head) -> bool:
        return head.kind != "folder" and head.has("messages")


class _Format:
    def fits(self, head: Head) -> bool:
        return head.has("a")


def test_a_file_of_two_formats_names_the_choices(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}')
    importers = {"one": _Format(), "two": _Format()}
    assert sources(path, importers) == [
        Unknown(path, "could be of several formats; name one: one, two", several=True)
    ]


def test_every_sample_has_one_importer_or_none(corpora: Path) -> None:
    """Each file is known to at most one, by the folder it is in; and to that one alone."""
    expected = {
        "loopgain_bench": {"loopgain"}, "tau_bench": {"tau-bench"},
        "react_webshop_fever": {"react"}, "reflexion": {"reflexion"}, "textgrad": {"textgrad"},
        "mini_swe_agent_gemini3": {"mini-swe-agent"}, "autoresearch": {"autoresearch"},
        "gepa_confidence": {"gepa"},
    }  # fmt: skip
    found: dict[str, set[str]] = {}
    for one in sources_in(corpora):
        folder = one.path.relative_to(corpora).parts[0]
        if isinstance(one, Source):
            assert one.name in available()
            found.setdefault(folder, set()).add(one.name)
        else:
            assert not one.several, one
    assert {folder: found[folder] for folder in expected} == expected
