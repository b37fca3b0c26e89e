"""Judging that fails or collides: what is told, kept, and tried again."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.files import load
from harness.redact import same
from harness.rejudge import FunctionJudge, Moment, Result, rejudge
from harness.rejudge.output import Output
from harness.rejudge.spots import Choice
from harness.rejudge.work import planned
from harness.scenario import Scenario
from tests.examples import scenario, step
from tests.stored import jsonl

SECRET = "ghp_" + "a1B2" * 9


def work(name: str, *texts: str, **more: Any) -> Scenario:
    return scenario([step(text=text) for text in texts], id=f"made/{name}", **more)


ALL = [work(name, "one", "two") for name in "abcd"]


class Flaky:
    """Fails at the places it is told, and remembers where it was asked."""

    def __init__(self, *fails: tuple[str, int]) -> None:
        self.fails = set(fails)
        self.asked: list[tuple[str, int]] = []

    def judge(self, moment: Moment) -> float:
        spot = (moment.scenario.removeprefix("made/"), moment.iteration)
        self.asked.append(spot)
        if spot in self.fails:
            raise RuntimeError(f"the key {SECRET} is no good")
        return moment.iteration / 10


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "in.jsonl", *ALL)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def scores(out: Path) -> dict[str, list[Any]]:
    return {found.id[-1]: [each.score for each in found.steps] for found in load([out])}


WHOLE = {name: [0.1, 0.2] for name in "abcd"}
FAILS: dict[str, list[tuple[str, int]]] = {
    "the first": [("a", 1)],
    "in the middle": [("b", 2), ("c", 1)],
    "the last": [("d", 2)],
    "all": [(name, n) for name in "abcd" for n in (1, 2)],
}


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("name", FAILS)
def test_what_failed_is_judged_again_and_nothing_else(
    name: str, parallel: int, file: Path, out: Path
) -> None:
    flaky = Flaky(*FAILS[name])
    # One function all the time: another one would not be gone on with.
    judge = FunctionJudge(flaky.judge)
    first = rejudge([file], out, judge, parallel=parallel)
    assert (first.complete, len(first.errors), len(flaky.asked)) == (True, len(FAILS[name]), 8)
    assert scores(out) == {
        key: [None if (key, n) in flaky.fails else n / 10 for n in (1, 2)] for key in "abcd"
    }

    flaky.asked.clear()
    second = rejudge([file], out, judge, parallel=parallel, resume=True)
    assert sorted(flaky.asked) == sorted(FAILS[name])
    assert [*map(same, second.errors)] == [*map(same, first.errors)]
    assert (second.total, second.done) == (8, 8)

    flaky.asked.clear()
    flaky.fails.clear()
    third = rejudge([file], out, judge, parallel=parallel, resume=True)
    assert sorted(flaky.asked) == sorted(FAILS[name])
    assert (third.errors, third.complete, scores(out)) == ([], True, WHOLE)
    assert sorted(each.name for each in out.parent.iterdir()) == ["in.jsonl", "out.jsonl"]

    flaky.asked.clear()
    assert rejudge([file], out, judge, resume=True).kept == 4
    assert flaky.asked == []


def test_the_order_of_the_file_stays(file: Path, out: Path) -> None:
    """A recording that was put before the others stands behind them, and stays there."""
    flaky = Flaky()
    judge = FunctionJudge(flaky.judge)
    rejudge([file], out, judge)
    early = jsonl(file.with_name("early.jsonl"), work("e", "one", "two"))
    flaky.fails = {("e", 1)}
    rejudge([early, file], out, judge, resume=True)
    flaky.fails.clear()
    flaky.asked.clear()
    result = rejudge([early, file], out, judge, resume=True)
    assert (flaky.asked, result.kept) == ([("e", 1)], 4)
    assert scores(out) == {**WHOLE, "e": [0.1, 0.2]}


def test_what_is_left_to_judge_is_what_failed(file: Path, out: Path) -> None:
    judge = FunctionJudge(Flaky(("b", 2), ("d", 1)).judge)
    rejudge([file], out, judge)
    there = Output(out, judge.about, resume=True)
    left = [spot.where for _, spots in planned([file], judge, Choice(), there) for spot in spots]
    assert left == ["made/b iteration 2", "made/d iteration 1"]


def test_what_a_function_raises_is_written_and_told_without_secrets(file: Path, out: Path) -> None:
    result = rejudge([file], out, FunctionJudge(Flaky(("a", 1), ("b", 1)).judge))
    notes = out.with_name("out.jsonl.judging").read_text()
    assert (SECRET in notes, SECRET in str(result.errors)) == (False, False)
    assert [error.count("the key [redacted github ") for error in result.errors] == [1, 1]
    assert notes.count("the key [redacted github ") == 2


def test_the_environments_keys_are_secrets_too(
    file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "my own key that has no form")

    def tell(moment: Moment) -> None:
        raise RuntimeError(f"server says no to {os.environ['OPENAI_API_KEY']}")

    (first, *_) = rejudge([file], out, FunctionJudge(tell)).errors
    assert "form" not in first


async def soon(moment: Moment) -> float:
    return 0.5


class Later:
    async def __call__(self, moment: Moment) -> float:
        return 0.5


@pytest.mark.parametrize(
    "function", [soon, functools.partial(soon), Later()], ids=["function", "partial", "object"]
)
def test_an_asynchronous_function_is_refused(function: Callable[[Moment], Any]) -> None:
    with pytest.raises(HarnessError) as raised:
        FunctionJudge(function, "own.py:soon")
    assert str(raised.value) == (
        "rejudge: --function: own.py:soon is asynchronous; name a plain function, which may call "
        "asyncio.run"
    )


def test_a_function_may_run_asynchronous_ones(file: Path, out: Path) -> None:
    result = rejudge([file], out, FunctionJudge(lambda moment: asyncio.run(soon(moment))))
    assert (result.errors, result.figures.judged) == ([], 8)


def test_one_file_is_written_by_one_at_a_time(file: Path, out: Path) -> None:
    told: list[str] = []

    def other(moment: Moment) -> float:
        for more in ({}, {"resume": True}, {"force": True}):
            with pytest.raises(HarnessError) as raised:
                rejudge([file], out, judge, **more)
            told.append(str(raised.value))
        return 0.5

    judge = FunctionJudge(other)
    result: Result = rejudge([file], out, judge)
    refused = (
        f"rejudge: --output: {out} is being written by another rejudge; wait for it, or choose "
        "another file"
    )
    assert (result.errors, told) == ([], [refused] * 24)
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [s.id for s in ALL]
    assert sorted(each.name for each in out.parent.iterdir()) == ["in.jsonl", "out.jsonl"]
