"""What is shown: 80 columns, JSON, Markdown, annotations; hostile names stay text everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compare.file import text_of
from harness.github import annotation, literal, running_there
from tests.cli.test_hostile import _check
from tests.compare.conftest import Cli, Make, ended, scored

HOSTILE = [
    "tab\there", "line\nend", "::error::injected", "\n::add-mask::x", "##[error]injected",
    "a|b", "[red]markup[/]", "<script>alert(1)</script>", "@octocat #1 http://evil.example",
    "`code` **bold** _it_", "\x1b[31mred", "\u202ertl", "$x$", "</code></details>", "a" * 300,
]  # fmt: skip


@pytest.fixture
def hostile(make: Make) -> None:
    loops = [scored(name, 0.5, 0.6, 0.7, 0.8, 0.9) for name in HOSTILE]
    make("base\t[red]", [*loops, scored("\n::error::gone", 0.1)])
    make("new", loops, rounds=2)


RUN = ("compare", "base\t[red]", "new")


def test_table_is_inert(harness: Cli, hostile: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = harness(*RUN)
    assert result.code == 1
    _check(result)
    commands = [line for line in (result.out + result.err).splitlines()
                if line.lstrip().startswith("::")]  # fmt: skip
    # Only our own annotations are commands, one a reason.
    assert len(commands) == len(HOSTILE) + 1
    assert all(line.startswith("::error title=harness compare%3A ") for line in commands)
    assert "##[" not in result.out + result.err
    assert "[red]markup[/]" in result.out


def test_no_annotations_elsewhere(
    harness: Cli, hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    result = harness(*RUN)
    assert not [line for line in result.err.splitlines() if line.startswith("::")]


def test_json(harness: Cli, hostile: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    *rest, summary = harness(*RUN, "--json").lines
    pairs = [line for line in rest if line["type"] == "pair"]
    tests = [line for line in rest if line["type"] == "test"]
    assert len(pairs) + len(tests) == len(rest)
    assert {pair["scenario"] for pair in pairs} == set(HOSTILE)
    assert {(pair["kind"], pair["class"]) for pair in pairs} == {("exact", "regression")}
    assert pairs[0]["worse"] == ["iteration", "best_score"]
    assert pairs[0]["base"]["iteration"] == 4
    assert pairs[0]["candidate"]["iteration"] == 3
    assert [test["metric"] for test in tests] == ["success", "iteration", "cost", "best_score"]
    assert summary["exit_code"] == 1
    assert len(summary["reasons"]) == len(HOSTILE) + 1


def test_markdown_is_inert(harness: Cli, here: Path, hostile: None) -> None:
    result = harness(*RUN, "--markdown", "-")
    harness(*RUN, "--markdown", "comment.md")
    text = result.out
    assert (here / "comment.md").read_text() == text
    assert text.startswith("❌ **Guard behaviour: regression: ")
    for raw in ("<script", "@octocat", "http://", "[red]", "**bold", "\n::", "\x1b", "$x$", "##["):
        assert raw not in text, raw
    assert text.count("</details>") == text.count("<details>") == 3
    tables = [line for line in text.splitlines() if line.startswith("| worse")]
    assert len(tables) == len(HOSTILE)
    assert {line.count("|") for line in tables} == {6}


def test_markdown_of_nothing(make: Make, harness: Cli) -> None:
    make("base", [scored("a", 0.5)])
    text = harness("compare", "base", "base", "--markdown", "-").out
    assert text.startswith("✅ **Guard behaviour: no regression: 1 pairs, 0 differ**\n")


def test_many_lines(make: Make, harness: Cli) -> None:
    loops = [scored(f"s{n:02}", 0.1, 0.2, 0.3, 0.4, 0.5) for n in range(25)]
    make("base", loops)
    make("new", loops, rounds=2)
    result = harness("compare", "base", "new")
    assert result.err.splitlines()[-1] == "... and 5 more; --json has all"
    assert "... and 5 more pairs; --json has all" in result.out
    assert len(result.err.splitlines()) == 21


def test_long_reasons_are_whole(here: Path, harness: Cli) -> None:
    name = "a-scenario-with-quite-a-long-name"
    for file, reason in (("base", "recording_exhausted"), ("new", "evaluator_unparseable")):
        one = ended(name, "a-preset-with-a-long-name", exit_reason=reason)
        (here / f"{file}.tsv").write_text(text_of([one]))
    result = harness("compare", "base.tsv", "new.tsv")
    _check(result)
    assert "exit reason recording_exhausted evaluator_unparseable" in result.out
    assert "worse a-scenario-with-qu…" in result.out


ANNOTATIONS = {
    ("error", "50% of: a, b", (("title", "a:b,c%"),)): "::error title=a%3Ab%2Cc%25::50%25 of: a, b",
    ("warning", "one\ntwo\r\nthree\rfour", (("title", "t"),)):
        "::warning title=t::one%0Atwo%0Athree%0Dfour",
    ("notice", "\x1b[31m", (("title", "t\n"), ("file", "a,b.yaml"), ("line", 3))):
        "::notice title=t%0A,file=a%2Cb.yaml,line=3::\\u001b[31m",
    ("error", "m", (("title", "t"), ("line", 3))): "::error title=t::m",
}  # fmt: skip


@pytest.mark.parametrize("case", ANNOTATIONS)
def test_annotation(case) -> None:
    level, message, more = case
    assert annotation(level, message, **dict(more)) == ANNOTATIONS[case]


@pytest.mark.parametrize(("value", "there"), [("true", True), ("false", False), (None, False)])
def test_running_there(monkeypatch: pytest.MonkeyPatch, value: str | None, there: bool) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    if value is not None:
        monkeypatch.setenv("GITHUB_ACTIONS", value)
    assert running_there() is there


def test_literal_is_cut() -> None:
    assert literal("a" * 10, 5) == "<code>aaaa&#8230;</code>"
