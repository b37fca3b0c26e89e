"""Going on with part of what a file was made from: the rest of it stays, and so do the notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.files import load
from harness.rejudge import FunctionJudge, rejudge
from harness.rejudge.spots import Choice
from tests.rejudge.test_failing import Flaky, work
from tests.stored import jsonl

A = ["a", "b"]
C = ["c", "d", "e"]
WHOLE = {name: [0.1, 0.2] for name in "abcde"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """One file with the first two recordings, one with the other three."""
    return {
        name: jsonl(tmp_path / f"{name}.jsonl", *(work(each, "one", "two") for each in ids))
        for name, ids in {"first": A, "rest": C}.items()
    }


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def scores(out: Path) -> dict[str, list[Any]]:
    return {found.id[-1]: [each.score for each in found.steps] for found in load([out])}


def notes(out: Path) -> bool:
    return out.with_name("out.jsonl.judging").exists()


# What failed, which inputs are gone on with, and what is asked then.
PARTS: dict[str, tuple[list[tuple[str, int]], list[str], list[tuple[str, int]]]] = {
    "the failed one is among them": ([("a", 2)], ["first"], [("a", 2)]),
    "the failed one is not": ([("a", 2)], ["rest"], []),
    "one is and one is not": ([("b", 1), ("d", 2)], ["rest"], [("d", 2)]),
    "the other way round": ([("b", 1), ("d", 2)], ["rest", "first"], [("d", 2), ("b", 1)]),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_not_given_stays(name: str, files: dict[str, Path], out: Path) -> None:
    fails, given, asked = PARTS[name]
    flaky = Flaky(*fails)
    judge = FunctionJudge(flaky.judge)
    rejudge(files.values(), out, judge)

    flaky.fails.clear()
    flaky.asked.clear()
    result = rejudge([files[each] for each in given], out, judge, resume=True)
    left = set(fails) - set(asked)
    assert (flaky.asked, result.errors, result.complete) == (asked, [], True)
    assert list(scores(out).items()) == [
        (key, [None if (key, n) in left else n / 10 for n in (1, 2)]) for key in "abcde"
    ]
    assert notes(out) == bool(left)

    flaky.asked.clear()
    rejudge(files.values(), out, judge, resume=True)
    assert (set(flaky.asked), scores(out), notes(out)) == (left, WHOLE, False)


def test_a_failure_that_is_not_chosen_is_remembered(files: dict[str, Path], out: Path) -> None:
    flaky = Flaky(("a", 1), ("a", 2))
    judge = FunctionJudge(flaky.judge)
    rejudge(files.values(), out, judge)
    flaky.fails.clear()
    flaky.asked.clear()
    rejudge(files.values(), out, judge, choice=Choice(last=True), resume=True)
    assert (flaky.asked, scores(out)["a"], notes(out)) == ([("a", 2)], [None, 0.2], True)
    rejudge(files.values(), out, judge, resume=True)
    assert (flaky.asked, scores(out), notes(out)) == ([("a", 2), ("a", 1)], WHOLE, False)


def test_what_was_judged_beyond_the_choice_stays(files: dict[str, Path], out: Path) -> None:
    flaky = Flaky(("b", 2))
    judge = FunctionJudge(flaky.judge)
    rejudge(files.values(), out, judge)
    flaky.fails.clear()
    rejudge(files.values(), out, judge, choice=Choice(last=True), resume=True)
    assert (scores(out), notes(out)) == (WHOLE, False)


def test_judgements_of_unwritten_recordings_stay_noted(files: dict[str, Path], out: Path) -> None:
    """Work that was broken off, gone on with elsewhere first."""

    class Stops(Flaky):
        def judge(self, moment: Any) -> float:
            if (moment.scenario, moment.iteration) in self.fails:
                raise KeyboardInterrupt
            return super().judge(moment)

    stops = Stops(("made/d", 2))
    judge = FunctionJudge(stops.judge)
    with pytest.raises(KeyboardInterrupt):
        rejudge(files.values(), out, judge)
    stops.fails.clear()
    stops.asked.clear()
    rejudge([files["first"]], out, judge, resume=True)
    assert (stops.asked, notes(out)) == ([], True)
    rejudge(files.values(), out, judge, resume=True)
    assert (("d", 1) in stops.asked, scores(out), notes(out)) == (False, WHOLE, False)


@pytest.mark.parametrize("between", [[], ["rest"]], ids=["at once", "after others"])
def test_a_mended_judgement_that_was_only_noted_is_written(
    between: list[str], files: dict[str, Path], out: Path
) -> None:
    """The process was killed after the judgement and before the file was swapped."""
    flaky = Flaky(("a", 2), ("c", 1))
    judge = FunctionJudge(flaky.judge)
    rejudge(files.values(), out, judge)
    before = out.read_bytes()
    flaky.fails.remove(("a", 2))
    rejudge([files["first"]], out, judge, resume=True)
    out.write_bytes(before)
    flaky.fails.clear()
    flaky.asked.clear()
    if between:
        rejudge([files[each] for each in between], out, judge, resume=True)
    rejudge(files.values(), out, judge, resume=True)
    assert (flaky.asked, scores(out), notes(out)) == ([("c", 1)], WHOLE, False)


def test_lines_of_others_stay_byte_by_byte(files: dict[str, Path], out: Path) -> None:
    flaky = Flaky(("b", 2))
    judge = FunctionJudge(flaky.judge)
    rejudge(files.values(), out, judge)
    lines = out.read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]), indent=None, separators=(",", ":"))
    out.write_text("\n".join(lines) + "\n")
    out.chmod(0o600)
    flaky.fails.clear()
    rejudge([files["first"]], out, judge, resume=True)
    after = out.read_text().splitlines()
    assert [*after[:1], *after[2:]] == [*lines[:1], *lines[2:]]
    assert (json.loads(after[1])["steps"][1]["score"], out.stat().st_mode & 0o777) == (0.2, 0o600)
    assert sorted(each.name for each in out.parent.iterdir()) == [
        "first.jsonl", "out.jsonl", "rest.jsonl",
    ]  # fmt: skip
