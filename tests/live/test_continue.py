"""A real model goes on with a recording and judges one; what it did replays alike."""

from __future__ import annotations

from pathlib import Path

import openai

from harness import load, load_preset, prepare, run_episode
from harness.continuing import Continuation
from harness.rejudge import ModelJudge, rejudge
from harness.spending import Allowance
from tests.examples import call, scenario, step
from tests.live import serve
from tests.live.test_real_model import ADD, address, client, pytestmark, told
from tests.stored import jsonl

__all__ = ["address", "client", "pytestmark"]

#: A small model has little to say, and at temperature 0 says it again.
SHORT = {"max_tokens": 48, "temperature": 0, "seed": 1}
RECORDED = scenario(
    [step(call("add", {"a": 2, "b": 3}, "5", ms=1), text="I add the two numbers.", ms=1)],
    id="live/add", goal="Add 2 and 3.", tools=["add"], limits={"max_iterations": 4},
)  # fmt: skip


def test_a_real_model_goes_on_and_the_recording_decides_alike(
    client: openai.OpenAI, tmp_path: Path
) -> None:
    path = tmp_path / "made.jsonl"
    live = Continuation(client, serve.NAME, record_to=path, tools=[ADD], settings=SHORT)
    balanced = load_preset("balanced")
    tape = prepare(RECORDED)
    episode = live(tape, balanced, run_episode(tape, balanced))

    assert episode.continued is not None
    assert (episode.continued.at, episode.continued.model, live.continued) == (2, serve.NAME, 1)
    assert 2 <= episode.exit_iteration <= 4
    made = episode.iterations[1].turn
    assert made.source == ("live", 1)
    assert made.reply.error is None
    assert made.reply.usage is not None
    assert made.reply.usage.output_all > 0
    assert live.allowance.made >= 2  # the actor, and the judge

    (found,) = load([path])
    again = run_episode(prepare(found), balanced)
    assert told(again.decisions) == told(episode.decisions)
    assert again.series == episode.series
    assert (again.exit_reason, again.exit_guard, again.elapsed, again.drifted_calls) == (
        episode.exit_reason, episode.exit_guard, episode.elapsed, 0,
    )  # fmt: skip
    print(f"{episode.message}; {live.allowance.made} calls; {made.reply.text!r}")


def test_a_real_model_judges_a_recording(client: openai.OpenAI, tmp_path: Path) -> None:
    file, out = jsonl(tmp_path / "in.jsonl", RECORDED), tmp_path / "out.jsonl"
    judge = ModelJudge(client, serve.NAME, allowance=Allowance(calls=1), settings=SHORT)
    result = rejudge([file], out, judge)
    assert (result.complete, result.figures.judged, judge.allowance.made) == (True, 1, 1)
    (found,) = load([out])
    reply = prepare(found).trunk[0].roles["judge"][0]
    assert (reply.error, reply.model) == (None, serve.NAME)
    episode = run_episode(prepare(found), load_preset("balanced"))
    # A model of this size rarely keeps the format; either way the replay reads it alike.
    assert episode.iterations[0].evaluation.parsed is (result.figures.unreadable == 0)
    assert (episode.drifted_calls, episode.unrecorded_calls) == (0, 0)
