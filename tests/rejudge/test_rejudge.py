"""Judging recordings: who is asked what, what is written, and what is not judged twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.files import load
from harness.live import LoopGuard
from harness.loop import run_episode
from harness.openai_llm import OpenAILLM
from harness.preset import load_preset
from harness.rejudge import FunctionJudge, ModelJudge, Moment, Result, rejudge
from harness.rejudge.spots import Choice
from harness.scenario import Scenario
from harness.spending import Allowance
from harness.turns import prepare
from harness.usercode import shown
from tests.examples import PRICED, call, scenario, step
from tests.openai_server import Server, say, serving
from tests.stored import jsonl

VERDICT = {"done": False, "score": 0.5, "reason": "half", "evidence": ["a.txt"]}
DONE = {**VERDICT, "done": True, "score": 0.9}


def work(name: str, *texts: str, **more: Any) -> Scenario:
    return scenario([step(call("read", {"at": n}, "x"), text=text, ms=1)
                     for n, text in enumerate(texts)], id=f"made/{name}", **more)  # fmt: skip


GOOD = work("good", "one", "two", "done", recorded={"outcome": "success"})
BAD = work("bad", "one", "done", recorded={"outcome": "failure"})
OPEN = work("open", "one")


def judge(server: Server, **options: Any) -> ModelJudge:
    return ModelJudge(server.client(), PRICED, **options)


def about(body: dict[str, Any]) -> dict[str, Any]:
    """The verdict: done where the agent says so."""
    done = "The agent: done" in body["messages"][1]["content"]
    return say(json.dumps(DONE if done else VERDICT))


def untimed(path: Path) -> list[dict[str, Any]]:
    """The file's recordings without how long the judge took."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for data in found:
        for each in data["steps"]:
            each.get("judge", {}).pop("ms", None)
    return found


def test_it_is_asked_what_a_live_session_asks(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "in.jsonl", GOOD)
    out = tmp_path / "out.jsonl"
    with serving(script=about) as server:
        result = rejudge([file], out, judge(server))
        asked = list(server.requests)
        balanced = load_preset("balanced")
        llm = OpenAILLM.for_preset(server.client(), balanced, models={"quality": PRICED})
        guard = LoopGuard(balanced, goal=GOOD.goal, llm=llm, name=GOOD.id)
        guard.observe(text="one", calls=[call("read", {"at": 0}, "x")])
        live = server.requests[-1]
    assert asked[0] == live
    assert (result.total, result.done, result.complete) == (3, 3, True)

    (found,) = load([out])
    reply = found.steps[0].judge
    assert isinstance(reply, dict)
    assert reply == {
        "text": json.dumps(VERDICT), "model": PRICED, "ms": reply["ms"], "finish_reason": "stop",
        "usage": {"input": 36, "cache_read": 64, "cache_write": 0, "output": 15, "reasoning": 5},
        "request_hash": reply["request_hash"],
    }  # fmt: skip
    assert found.tags == ["rejudged"]
    episode = run_episode(prepare(found), balanced)
    assert (episode.exit_reason, episode.exit_iteration) == ("completed", 3)
    assert (episode.unrecorded_calls, episode.drifted_calls) == (0, 0)
    assert [it.evaluation.score for it in episode.iterations] == [0.5, 0.5, 0.9]
    assert not list(tmp_path.glob("*.judging"))


CHOICES: dict[str, tuple[Choice, list[str | None]]] = {
    "all": (Choice(), ["new", "old", "new", "new"]),
    "every": (Choice(every=2), [None, "old", None, "new"]),
    "last": (Choice(last=True), [None, "old", None, "new"]),
    "again": (Choice(again=True), ["new", "new", "new", "new"]),
    "again, the last": (Choice(last=True, again=True), [None, "old", None, "new"]),
}


@pytest.mark.parametrize("name", CHOICES)
def test_which_iterations_are_judged(name: str, tmp_path: Path) -> None:
    choice, expected = CHOICES[name]
    texts = [step(text=str(n)) for n in range(4)]
    texts[1]["roles"] = {"judge": "old", "verifier": "stays"}
    file = jsonl(tmp_path / "in.jsonl", scenario(texts))
    with serving(script=lambda _: say("new")) as server:
        rejudge([file], tmp_path / "out.jsonl", judge(server), choice=choice)
    (found,) = load([tmp_path / "out.jsonl"])
    turns = prepare(found).trunk
    replies = [turn.roles["judge"][0].text if "judge" in turn.roles else None for turn in turns]
    assert replies == expected
    assert turns[1].roles["verifier"][0].text == "stays"


def test_branches_are_judged_by_themselves(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def count(moment: Moment) -> float:
        seen.append((moment.iteration, len(moment.steps)))
        return 0.5

    branches = {"switch_strategy": [[step(text="other"), step(text="way")]]}
    file = jsonl(tmp_path / "in.jsonl", work("branched", "one", branches=branches))
    rejudge([file], tmp_path / "out.jsonl", FunctionJudge(count))
    (found,) = load([tmp_path / "out.jsonl"])
    assert seen == [(1, 1), (1, 1), (2, 2)]
    assert [s.score for s in found.branches["switch_strategy"][0]] == [0.5, 0.5]


ANSWERS: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "number": (0.25, {"score": 0.25}, None),
    "whole": (1, {"score": 1.0}, None),
    "tests": ({"passed": 3, "total": 4}, {"score": {"passed": 3, "total": 4}}, None),
    "verdict": (VERDICT, {"judge": VERDICT}, None),
    "unknown": (None, {}, None),
    "bool": (True, {}, "returned True; expected a number"),
    "text": ("good", {}, "returned 'good'; expected a number"),
    "nan": (float("nan"), {}, "score"),
    "impossible": ({"passed": 5, "total": 4}, {}, "5 is more than total"),
    "off the scale": (11, {}, "11 lies outside score_scale"),
    "no JSON": ({"done": {1, 2}}, {}, "not JSON serializable"),
    "huge": (10**400, {}, "returned a number that is too large for a score"),
    "huger": (10**5000, {}, "returned a number that is too large for a score"),
    "a huge part": ({"passed": 10**400, "total": 10**401}, {}, "found 1000"),
    "a huge score": ({**VERDICT, "score": 10**400}, {"judge": {**VERDICT, "score": 10**400}}, None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_function_answers(name: str, tmp_path: Path) -> None:
    answer, keys, error = ANSWERS[name]
    file = jsonl(tmp_path / "in.jsonl", work("one", "text", score_scale=[0, 10]))
    result = rejudge([file], tmp_path / "out.jsonl", FunctionJudge(lambda _: answer))
    (found,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {k: v for k, v in found["steps"][0].items() if k in ("score", "judge")} == keys
    assert result.complete
    if error is None:
        assert result.errors == []
    else:
        assert len(result.errors) == 1
        assert error in result.errors[0]
        assert result.errors[0].startswith("made/one iteration 1: ")
        assert f"{Path(__file__).name}:" in result.errors[0]


OUTSIDE = "which lies outside 0 to 1; declare score_scale in the recording"
UNSCALED: dict[str, tuple[Any, bool]] = {
    "a number": (7, False),
    "a little more": (1.000001, False),
    "negative": (-0.5, False),
    "a verdict": ({**VERDICT, "done": True, "score": 7}, False),
    "the lowest": (0, True),
    "the highest": (1.0, True),
    "tests": ({"passed": 7, "total": 7}, True),
}


@pytest.mark.parametrize("name", UNSCALED)
def test_a_score_outside_0_to_1_needs_a_scale(name: str, tmp_path: Path) -> None:
    answer, taken = UNSCALED[name]
    file, out = jsonl(tmp_path / "in.jsonl", OPEN), tmp_path / "out.jsonl"
    result = rejudge([file], out, FunctionJudge(lambda _: answer))
    assert (result.figures.judged, result.figures.unknown) == ((1, 0) if taken else (0, 1))
    assert [OUTSIDE in error for error in result.errors] == ([] if taken else [True])
    scaled = jsonl(tmp_path / "scaled.jsonl", work("scaled", "one", score_scale=[-1, 10]))
    assert rejudge([scaled], out, FunctionJudge(lambda _: answer), force=True).errors == []


def test_a_models_score_outside_0_to_1_is_none(tmp_path: Path) -> None:
    file, out = jsonl(tmp_path / "in.jsonl", OPEN), tmp_path / "out.jsonl"
    with serving(say(json.dumps({**DONE, "score": 7}))) as server:
        figures = rejudge([file], out, judge(server)).figures
    assert (figures.judged, figures.unreadable) == (1, 1)
    (found,) = load([out])
    (iteration,) = run_episode(prepare(found), load_preset("balanced")).iterations
    assert (iteration.evaluation.parsed, iteration.evaluation.score) == (False, None)


def test_a_function_sees_what_came_so_far_and_nothing_else(tmp_path: Path) -> None:
    seen: list[Moment] = []
    file = jsonl(tmp_path / "in.jsonl", GOOD)

    def look(moment: Moment) -> None:
        seen.append(moment)
        with pytest.raises(AttributeError):
            moment.goal = "another"  # type: ignore[misc]

    result = rejudge([file], tmp_path / "out.jsonl", FunctionJudge(look))
    assert result.errors == []
    assert [[s.reply.text for s in m.steps] for m in seen] == [
        ["one"], ["one", "two"], ["one", "two", "done"],
    ]  # fmt: skip
    assert (seen[1].scenario, seen[1].goal, seen[1].iteration) == ("made/good", "Do it.", 2)
    assert seen[1].step.calls[0].args == {"at": 1}
    assert result.figures.unknown == 3
    assert untimed(tmp_path / "out.jsonl") == untimed(file)


def test_a_function_that_raises_leaves_its_iteration_unknown(tmp_path: Path) -> None:
    def odd(moment: Moment) -> float:
        return 1 / (moment.iteration - 2) ** 2

    file = jsonl(tmp_path / "in.jsonl", GOOD, OPEN)
    result = rejudge([file], tmp_path / "out.jsonl", FunctionJudge(odd))
    line = odd.__code__.co_firstlineno + 1
    assert result.errors == [
        f"made/good iteration 2: {shown(__file__)}:{line}: ZeroDivisionError: division by zero"
    ]
    assert [[s.score for s in found.steps] for found in load([tmp_path / "out.jsonl"])] == [
        [1.0, None, 1.0], [1.0],
    ]  # fmt: skip
    assert (result.figures.judged, result.figures.unknown, result.complete) == (3, 1, True)


def test_secrets_that_a_judge_repeats_are_taken_out(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    verdict = {"done": False, "reason": f"it used {secret}", "evidence": []}
    file = jsonl(tmp_path / "in.jsonl", OPEN)
    rejudge([file], tmp_path / "out.jsonl", FunctionJudge(lambda _: verdict))
    (found,) = load([tmp_path / "out.jsonl"])
    assert isinstance(found.steps[0].judge, dict)
    assert found.steps[0].judge["reason"].startswith("it used [redacted github ")


def test_measured_scores_stay_unless_asked_again(tmp_path: Path) -> None:
    steps = [step(text="a", score=0.1), step(text="b"), step(text="c", judge="read")]
    file = jsonl(tmp_path / "in.jsonl", scenario(steps))

    def scores(choice: Choice) -> list[Any]:
        out = tmp_path / "out.jsonl"
        rejudge([file], out, FunctionJudge(lambda _: 0.7), choice=choice, force=True)
        (found,) = load([out])
        return [s.score for s in found.steps]

    assert scores(Choice()) == [0.1, 0.7, None]
    assert scores(Choice(again=True)) == [0.7, 0.7, 0.7]


def test_what_cannot_be_read_is_kept_as_it_is(tmp_path: Path) -> None:
    replies = iter([say("done, I think"), say("too long", status=400), say(json.dumps(DONE))])
    file = jsonl(tmp_path / "in.jsonl", GOOD)
    with serving(script=lambda _: next(replies)) as server:
        result = rejudge([file], tmp_path / "out.jsonl", judge(server))
    (found,) = load([tmp_path / "out.jsonl"])
    first, second, third = (prepare(found).trunk[n].roles["judge"][0] for n in range(3))
    assert (first.text, first.error) == ("done, I think", None)
    assert second.error is not None
    assert second.error.startswith("HTTP 400")
    figures = result.figures
    assert (figures.judged, figures.unreadable, figures.failed) == (3, 1, 1)
    episode = run_episode(prepare(found), load_preset("balanced"))
    assert [it.evaluation.parsed for it in episode.iterations] == [False, None, True]
    assert figures.cost == sum(each.cost or 0 for each in (first, third))


def test_figures_are_about_the_recorded_outcome(tmp_path: Path) -> None:
    others = [work("liar", "one", "done", recorded={"outcome": "failure"}),
              work("modest", "one", recorded={"outcome": "success"})]  # fmt: skip
    file = jsonl(tmp_path / "in.jsonl", GOOD, BAD, OPEN, *others)
    with serving(script=about) as server:
        figures = rejudge([file], tmp_path / "out.jsonl", judge(server)).figures
    success, failure = figures.sides["success"], figures.sides["failure"]
    assert (success.recordings, success.done, success.asked, success.mean) == (2, 1, 2, 0.7)
    assert (failure.recordings, failure.done, failure.asked, failure.mean) == (2, 2, 2, 0.9)
    assert figures.agreement == (1, 4)
    assert (figures.recordings, figures.judged, figures.unpriced) == (5, 9, 0)


STOPS: dict[str, tuple[Callable[[], Allowance], int, int]] = {
    "calls": (lambda: Allowance(calls=4), 4, 1),
    # A judgement costs 36 * 150,000 + 64 * 75,000 + 20 * 600,000 pico-USD.
    "budget, to the last pico": (lambda: Allowance(budget=4 * 22_200_000), 4, 1),
    "budget, one pico more": (lambda: Allowance(budget=4 * 22_200_000 + 1), 5, 2),
}


@pytest.mark.parametrize("name", STOPS)
def test_an_allowance_stops_it_and_it_goes_on_from_there(name: str, tmp_path: Path) -> None:
    allowed, made, whole = STOPS[name]
    file, out = jsonl(tmp_path / "in.jsonl", GOOD, BAD, OPEN), tmp_path / "out.jsonl"
    with serving(script=about) as server:
        result = rejudge([file], out, judge(server, allowance=allowed()))
        assert (len(server.requests), result.complete) == (made, False)
        assert (result.done, len(out.read_text().splitlines())) == (made, whole)
        again = rejudge([file], out, judge(server), resume=True)
        assert len(server.requests) == 6
        assert (again.complete, again.kept, again.done) == (True, whole, 6)
        unbroken = tmp_path / "unbroken.jsonl"
        whole_at_once = rejudge([file], unbroken, judge(server))
    assert untimed(out) == untimed(unbroken)
    assert again.figures == whole_at_once.figures
    assert not list(tmp_path.glob("*.judging"))


def test_a_server_that_cannot_be_reached_loses_nothing(tmp_path: Path) -> None:
    file, out = jsonl(tmp_path / "in.jsonl", GOOD, BAD), tmp_path / "out.jsonl"
    left = [say(json.dumps(VERDICT)), say("busy", status=503)]
    with serving(*left) as server:
        result = rejudge([file], out, judge(server))
        assert len(server.requests) == 2
    assert result.unreachable is not None
    assert result.unreachable.startswith(f"rejudge: {PRICED} cannot be asked: HTTP 503")
    assert (result.done, result.complete, out.read_text()) == (1, False, "")
    with serving(script=about) as server:
        assert rejudge([file], out, judge(server), resume=True).complete
        assert len(server.requests) == 4


@pytest.mark.parametrize("parallel", [1, 3, 8])
def test_the_order_is_that_of_the_input(parallel: int, tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(12)]
    file = jsonl(tmp_path / "in.jsonl", *(work(name, "one", "done") for name in names))
    out = tmp_path / "out.jsonl"
    told: list[tuple[int, int]] = []
    with serving(script=about) as server:
        allowance = Allowance(calls=15)
        first = rejudge([file], out, judge(server, allowance=allowance), parallel=parallel)
        assert (allowance.made, len(server.requests), first.complete) == (15, 15, False)
        rejudge([file], out, judge(server), parallel=parallel, resume=True,
                on_progress=lambda done, total: told.append((done, total)))  # fmt: skip
        assert len(server.requests) == 24
    assert [found.id for found in load([out])] == [f"made/{name}" for name in names]
    assert told[-1] == (24, 24)


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    file, out = jsonl(tmp_path / "in.jsonl", GOOD, BAD, OPEN), tmp_path / "out.jsonl"
    with serving(script=about) as server:
        rejudge([file], out, judge(server, allowance=Allowance(calls=4)))
        notes = tmp_path / "out.jsonl.judging"
        for torn in (out, notes):
            torn.write_bytes(torn.read_bytes() + b'{"schema": "harness/sc')
        rejudge([file], out, judge(server), resume=True)
        assert len(server.requests) == 6
    assert [found.id for found in load([out])] == ["made/good", "made/bad", "made/open"]


def refusal(*arguments: Any, **options: Any) -> str:
    with pytest.raises(HarnessError) as raised:
        rejudge(*arguments, **options)
    return str(raised.value)


def test_what_is_there_is_not_mixed_up(tmp_path: Path) -> None:
    file, out = jsonl(tmp_path / "in.jsonl", GOOD, BAD), tmp_path / "out.jsonl"
    half = FunctionJudge(lambda _: 0.5, "half")
    assert "does not exist; leave out --resume" in refusal([file], out, half, resume=True)
    assert "is read and cannot be written" in refusal([file], file, half)
    with serving(script=about) as server:
        rejudge([file], out, judge(server, allowance=Allowance(calls=1)))
    assert "exists; --resume goes on with it, --force writes over it" in refusal([file], out, half)
    assert "was begun by {'model'" in refusal([file], out, half, resume=True)
    result: Result = rejudge([file], out, half, force=True)
    assert (result.complete, result.kept) == (True, 0)
    other = jsonl(tmp_path / "other.jsonl", work("good", "another text"))
    assert "holds another recording with id 'made/good'" in refusal([other], out, half, resume=True)
