"""``harness rejudge``: what is said, exit codes, and that a killed process loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.files import load
from tests.cli.conftest import Cli
from tests.examples import PRICED, scenario, step
from tests.openai_server import KEY, Server, say, serving
from tests.stored import jsonl

VERDICT = {"done": False, "score": 0.5, "reason": "half", "evidence": ["a.txt"]}
GOOD = scenario([step(text="one"), step(text="done")], id="made/good",
                recorded={"outcome": "success"})  # fmt: skip
BAD = scenario([step(text="one"), step(text="two")], id="made/bad",
               recorded={"outcome": "failure"})  # fmt: skip
FUNCTIONS = '''
def score(moment):
    """Longer is better."""
    return len(moment.step.reply.text) / 10

def verdict(moment):
    done = moment.step.reply.text == "done"
    return {"done": done, "reason": "its words", "evidence": [f"it says {moment.step.reply.text}"]}

def odd(moment):
    if moment.iteration == 2:
        raise RuntimeError("no\\nidea")
    return 0.5
'''
TO = ("rejudge", "in.jsonl", "-o", "out.jsonl")
MODEL = (*TO, "--model", PRICED)


def answer(body: dict[str, Any]) -> dict[str, Any]:
    done = "The agent: done" in body["messages"][1]["content"]
    return say(json.dumps({**VERDICT, "done": done, "score": 0.9 if done else 0.5}))


@pytest.fixture
def file(here: Path) -> Path:
    (here / "own.py").write_text(FUNCTIONS)
    return jsonl(here / "in.jsonl", GOOD, BAD)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(script=answer) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


def test_a_model_judges(harness: Cli, file: Path, server: Server) -> None:
    result = harness(*MODEL)
    assert result.code == 0, result
    assert " ".join(result.out.split()) == (
        "judged recordings 2 finished before 0 iterations judged 4 cannot be parsed 0 refused by "
        "the server 0 left unknown 0 calls now 4 cost of all $0.0001 "
        "recorded outcome recordings mean last score called done "
        "failure 1 0.5 0 of 1 success 1 0.9 1 of 1 "
        "called done where it succeeded, and not where it failed: 2 of 2"
    )
    assert max(map(len, result.out.splitlines())) <= 80
    assert "next: harness run out.jsonl -p balanced" in result.err
    assert harness("run", "out.jsonl", "-p", "balanced", "--run", "one").code == 0
    ends = {row["scenario"]: row["exit_reason"]
            for row in harness("list", "episodes", "--json").lines}  # fmt: skip
    assert ends == {"made/good": "completed", "made/bad": "recording_exhausted"}
    assert harness("run", "out.jsonl", "-p", "observe", "--run", "judged").code == 0


def test_the_same_as_json(harness: Cli, file: Path, server: Server) -> None:
    (told,) = harness(*MODEL, "--json").lines
    assert (told["complete"], told["judged"], told["calls"], told["agreement"]) == (
        True, 4, 4, [2, 2],
    )  # fmt: skip
    assert told["cost_pico_usd"] == 4 * 22_200_000
    assert told["by_outcome"]["success"]["mean"] == 0.9


@pytest.mark.parametrize("name", ["own.py:score", "own:score"])
def test_a_function_judges(
    harness: Cli, file: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own", raising=False)
    result = harness(*TO, "--function", name, "--parallel", "3")
    assert result.code == 0, result
    assert [[s.score for s in found.steps] for found in load(["out.jsonl"])] == [
        [0.3, 0.4], [0.3, 0.3],
    ]  # fmt: skip


def test_a_function_may_give_verdicts(harness: Cli, file: Path) -> None:
    result = harness(*TO, "--function", "own.py:verdict")
    assert "succeeded, and not where it failed: 2 of 2" in result.out
    assert next(iter(load(["out.jsonl"]))).steps[1].judge == {
        "done": True, "reason": "its words", "evidence": ["it says done"],
    }  # fmt: skip


def test_a_function_that_fails_is_told(harness: Cli, file: Path) -> None:
    result = harness(*TO, "--function", "own.py:odd")
    assert result.code == 1
    assert [line for line in result.err.splitlines() if line.startswith("harness:")] == [
        f"harness: made/{name} iteration 2: own.py:12: RuntimeError: no idea"
        for name in ("good", "bad")
    ]
    assert [[s.score for s in found.steps] for found in load(["out.jsonl"])] == [[0.5, None]] * 2


def test_a_function_that_fails_everywhere_is_told_in_short(harness: Cli, here: Path) -> None:
    (here / "own.py").write_text("def ends(moment):\n    raise SystemExit(0)\n")
    jsonl(here / "in.jsonl", scenario([step(text=str(n)) for n in range(25)]))
    result = harness(*TO, "--function", "own.py:ends")
    assert result.code == 1
    told = [line for line in result.err.splitlines() if line.startswith("harness:")]
    assert told[0].endswith("iteration 1: own.py:2: SystemExit: 0")
    assert told[20:] == ["harness: ... and 5 more"]


def test_a_judge_that_never_answers_is_no_success(harness: Cli, here: Path) -> None:
    (here / "own.py").write_text("def unsure(moment):\n    return None\n")
    jsonl(here / "in.jsonl", GOOD)
    result = harness(*TO, "--function", "own.py:unsure")
    assert result.code == 2
    assert result.err.splitlines()[-1] == (
        "harness: rejudge: none of 2 iterations got a verdict: 0 cannot be parsed, 0 refused by "
        "the server, 2 unknown"
    )
    assert "written: out.jsonl" in result.err
    assert "next:" not in result.err


def test_a_score_without_a_scale_is_told(harness: Cli, file: Path) -> None:
    Path("own.py").write_text("def out_of_ten(moment):\n    return 7 / moment.iteration\n")
    result = harness(*TO, "--function", "own.py:out_of_ten")
    assert result.code == 1
    assert [line for line in result.err.splitlines() if line.startswith("harness:")] == [
        f"harness: made/{name} iteration {number}: own.py:1: returned {score}, which lies outside "
        "0 to 1; declare score_scale in the recording"
        for name in ("good", "bad")
        for number, score in ((1, 7.0), (2, 3.5))
    ]
    assert "next:" not in result.err
    assert "left unknown 4" in " ".join(result.out.split())
    harness("run", "out.jsonl", "-p", "balanced")
    ends = harness("list", "episodes", "--json").lines
    assert {row["exit_reason"] for row in ends} == {"recording_exhausted"}


def test_what_a_function_prints_is_none_of_the_result(harness: Cli, file: Path) -> None:
    Path("own.py").write_text(
        "print('loaded')\ndef half(moment):\n    print('asked')\n    return 0.5\n"
    )
    result = harness(*TO, "--function", "own.py:half", "--json")
    assert [line["judged"] for line in result.lines] == [4]
    assert result.err.count("loaded") == 1
    assert result.err.count("asked") == 4


def test_a_dry_run_asks_nobody(harness: Cli, file: Path, server: Server) -> None:
    result = harness(*MODEL, "--dry-run")
    assert (result.code, server.requests) == (0, [])
    assert "2 recordings, 4 iterations to judge" in result.out
    assert "output: at most 16,384 tokens" in result.out
    (told,) = harness(*MODEL, "--dry-run", "--json").lines
    high, low = told["cost_high_pico_usd"], told["cost_low_pico_usd"]
    assert (told["calls"], high - low) == (4, 16_384 * 600_000)
    assert low == told["input_tokens"] * 150_000
    unknown = harness(*TO, "--model", "house-7b", "--dry-run").out
    assert "cost: unknown: the price list does not have this model" in unknown
    assert not Path("out.jsonl").exists()
    harness(*MODEL, "--max-calls", "3")
    assert "1 iteration to judge" in harness(*MODEL, "--dry-run", "--resume").out


def test_a_budget_ends_it_and_it_goes_on(harness: Cli, file: Path, server: Server) -> None:
    result = harness(*MODEL, "--budget-usd", "0.00004")
    assert result.code == 2
    assert result.err == (
        "harness: rejudge: the budget of $4e-05 is reached; 2 of 4 iterations are left: go on "
        "with the same command and --resume\n"
    )
    assert "calls now 2" in " ".join(result.out.split())
    assert harness(*MODEL, "--resume").code == 0
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (TO, "needs either --model NAME or --function"),
        ((*MODEL, "--function", "own.py:score"), "needs either --model NAME or --function"),
        ((*TO, "--function", "own.py:score", "--max-calls", "3"), "--max-calls: only with --model"),
        ((*TO, "--function", "own.py:score", "--setting", "a=1"), "--setting: only with --model"),
        ((*TO, "--function", "own.py:scor"), "own.py has no such function: found 'scor' (did you"),
        ((*TO, "--function", "score"), "must be module:name or file.py:name, found 'score'"),
        ((*TO, "--function", "no_such_module:f"), "No module named 'no_such_module'"),
        ((*TO, "--function", "broken.py:f"), "broken.py:1: SyntaxError"),
        ((*MODEL, "--last", "--every", "2"), "--last and --every exclude each other"),
        ((*MODEL, "--resume", "--force"), "--resume goes on with a file, --force writes over it"),
        ((*MODEL, "--resume"), "out.jsonl does not exist; leave out --resume"),
        (("rejudge", "in.jsonl", "-o", "in.jsonl", "--model", "m"), "is read and cannot be"),
        (("rejudge", "in.jsonl", "-o", "out.json", "--model", "m"), "must end in .jsonl"),
        (("rejudge", "in.jsonl", "-o", "no/out.jsonl", "--model", "m"), "folder no does not exist"),
        (("rejudge", "no.jsonl", "-o", "out.jsonl", "--model", "m"), "no.jsonl does not exist"),
        ((*TO, "--model", "house-7b", "--budget-usd", "1"), "'house-7b' is unknown"),
        ((*MODEL, "--budget-usd", "nan"), "must be a number of USD above 0"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(
    harness: Cli, file: Path, server: Server, arguments: tuple[str, ...], message: str
) -> None:
    Path("broken.py").write_text("def f(:\n")
    assert message in harness(*arguments).refusal()
    assert server.requests == []
    assert not Path("out.jsonl").exists()


def test_an_existing_file_is_not_written_over(harness: Cli, file: Path, server: Server) -> None:
    Path("out.jsonl").write_text("mine\n")
    assert "--resume goes on with it, --force writes over it" in harness(*MODEL).refusal()
    assert Path("out.jsonl").read_text() == "mine\n"
    assert harness(*MODEL, "--force").code == 0


def untimed(path: Path) -> list[Any]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for data in found:
        for each in data["steps"]:
            each["judge"].pop("ms")
    return found


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_killed_process_loses_the_judgement_in_flight_at_most(
    after: int, harness: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = [scenario([step(text=str(n)) for n in range(5)], id=f"made/{r}") for r in "abc"]
    jsonl(here / "in.jsonl", *recordings)
    reached, go = threading.Event(), threading.Event()
    asked: list[dict[str, Any]] = []

    def script(body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body)
        if len(asked) == after + 1:
            reached.set()
            assert go.wait(60)
        return answer(body)

    with serving(script=script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with subprocess.Popen([sys.executable, "-m", "harness.cli", *MODEL]) as running:
            assert reached.wait(60)
            running.send_signal(signal.SIGKILL)
        go.set()
        whole = [json.loads(line)["id"] for line in Path("out.jsonl").read_text().splitlines()]
        assert whole == [f"made/{r}" for r in "abc"][: after // 5]
        result = harness(*MODEL, "--resume")
        assert result.code == 0, result
        assert len(asked) == 15 + 1
        assert harness("rejudge", "in.jsonl", "-o", "unbroken.jsonl", "--model", PRICED).code == 0
    assert untimed(here / "out.jsonl") == untimed(here / "unbroken.jsonl")
    assert sorted(p.name for p in here.iterdir()) == ["in.jsonl", "out.jsonl", "unbroken.jsonl"]
