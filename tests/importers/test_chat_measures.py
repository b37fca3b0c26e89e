"""Tokens, times and scores of a user's own runs in chat messages."""

from __future__ import annotations

from typing import Any

import pytest

from harness.importers import Missing
from tests.importers.chat_runs import (
    ASK,
    DONE,
    HEAT,
    HOT,
    One,
    Refused,
    Write,
    call,
    read,
    run,
    say,
)

FORMAT = "chat"

USAGES = [
    ({"prompt_tokens": 10, "completion_tokens": 4}, {"input": 10, "output": 4}),
    (
        {"prompt_tokens": 10, "completion_tokens": 4,
         "completion_tokens_details": {"reasoning_tokens": 4}},
        {"input": 10, "reasoning": 4},
    ),
    (
        {"prompt_tokens": 10, "completion_tokens": 4, "reasoning_tokens": 9},
        {"input": 10, "output": 4, "reasoning": 9},
    ),
    (
        {"prompt_tokens": 10, "prompt_cache_hit_tokens": 7, "completion_tokens": 0},
        {"input": 3, "cache_read": 7},
    ),
    (
        {"prompt_tokens": 10, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 1},
        {"input": 3, "cache_read": 6, "cache_write": 1},
    ),
    (
        {"input_tokens": 10, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 6},
         "output_tokens_details": {"reasoning_tokens": 1}},
        {"input": 4, "cache_read": 6, "output": 3, "reasoning": 1},
    ),
    (
        {"input_tokens": 10, "output_tokens": 4, "input_token_details": {"cache_read": 6,
         "cache_creation": 1}},
        {"input": 3, "cache_read": 6, "cache_write": 1, "output": 4},
    ),
    (
        {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 5,
         "output_tokens": 4},
        {"input": 10, "cache_read": 60, "cache_write": 5, "output": 4},
    ),
    (
        {"input": 10, "cache_read": 60, "output": 4, "total": 74, "unit": "TOKENS"},
        {"input": 10, "cache_read": 60, "output": 4},
    ),
    ({"promptTokens": 10, "completionTokens": 4, "totalTokens": 14}, {"input": 10, "output": 4}),
    ({"total_tokens": 14}, None),
    ({}, None),
]  # fmt: skip


@pytest.mark.parametrize(("usage", "counts"), USAGES)
def test_token_rules(one: One, usage: dict[str, Any], counts: dict[str, int] | None) -> None:
    for line in (run(ASK, {**DONE, "usage": usage}), run(ASK, DONE, usage=usage),
                 run(ASK, DONE, usage=[usage])):  # fmt: skip
        (step,) = one(line)["steps"]
        assert step["reply"].get("usage") == counts


def test_totals_of_a_run_are_spread_and_say_so(one: One) -> None:
    usage = {"prompt_tokens": 101, "completion_tokens": 3}
    recording = one(run(usage=usage, ms=2001))
    assert recording["tags"] == ["chat", "spread:usage", "spread:ms"]
    replies = [step["reply"] for step in recording["steps"]]
    assert [reply["usage"] for reply in replies] == [
        {"input": 51, "output": 2},
        {"input": 50, "output": 1},
    ]
    assert [reply["ms"] for reply in replies] == [1001, 1000]
    assert one(run(ASK, DONE, usage=usage, ms=5))["tags"] == ["chat"]
    # What a message says is better than a share of a total.
    told = run(ASK, HEAT, HOT, {**DONE, "usage": usage}, usage={"prompt_tokens": 999})
    assert [s.get("reply", {}).get("usage") for s in one(told)["steps"]] == [
        None,
        {"input": 101, "output": 3},
    ]


TALK = (ASK, HEAT, HOT, say("user", "More."), DONE)


@pytest.mark.parametrize(
    "stamps",
    [
        [100, 102.5, 103, 110, 111],
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:02.500Z", "2026-01-01T00:00:03+00:00",
         "2026-01-01T00:00:10", "2026-01-01T00:00:11"],
        [10**12, 10**12 + 2500, 10**12 + 3000, 10**12 + 10_000, 10**12 + 11_000],
    ],
)  # fmt: skip
def test_times_from_time_stamps(one: One, stamps: list[Any]) -> None:
    stamped = [{**m, "timestamp": t} for m, t in zip(TALK, stamps, strict=True)]
    for line in (run(*TALK, timestamps=stamps), run(*stamped)):
        first, second = one(line)["steps"]
        assert (first["reply"]["ms"], first["calls"][0]["ms"]) == (2500, 500)
        assert (second["reply"]["ms"], second["idle_ms"]) == (1000, 7000)
        assert "idle_ms" not in first


def test_results_of_one_turn_count_side_by_side(one: One) -> None:
    two = say("assistant", tool_calls=[call("a", "heat"), call("b", "look")], timestamp=12)
    seen = say("tool", "x", tool_call_id="b", timestamp=17)
    line = (
        {**ASK, "timestamp": 10},
        two,
        {**HOT, "timestamp": 15},
        seen,
        {**DONE, "timestamp": 20},
    )
    first, second = one(run(*line))["steps"]
    assert [made["ms"] for made in first["calls"]] == [3000, 5000]
    assert (first["reply"]["ms"], second["reply"]["ms"]) == (2000, 3000)


def test_a_clock_that_runs_back_or_is_absent_tells_nothing(one: One) -> None:
    first, second = one(run(*TALK, timestamps=[None, 5, 3, None, 9]))["steps"]
    assert "reply" not in first
    assert "ms" not in first["calls"][0]
    assert second["reply"]["ms"] == 4000
    assert one(run(ms=[None, 7]))["steps"][1]["reply"]["ms"] == 7


@pytest.mark.parametrize(
    ("more", "scores"),
    [
        ({"score": 0.5}, [None, 0.5]),
        ({"scores": [0.1, None]}, [0.1, None]),
        ({"scores": [{"passed": 1, "total": 2}, 2]}, [{"passed": 1, "total": 2}, 2]),
        ({"score": 0.5, "scores": [0.1, 0.2]}, [0.1, 0.2]),
        ({}, [None, None]),
    ],
)
def test_scores(one: One, more: dict[str, Any], scores: list[Any]) -> None:
    assert [step.get("score") for step in one(run(**more))["steps"]] == scores
    marked = run(ASK, {**HEAT, "score": 0.3}, HOT, DONE, direction="lower", score_scale=[0, 1])
    recording = one(marked)
    assert [step.get("score") for step in recording["steps"]] == [0.3, None]
    assert (recording["direction"], recording["score_scale"]) == ("lower", [0, 1])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (run(ASK, {**DONE, "usage": 7}), "message 2: key 'usage' must be an object, found 7"),
        (run(ASK, {**DONE, "usage": {"words": 7}}), "input and output; found keys: 'words'"),
        (run(usage={"prompt_tokens": -1}), "usage: key 'prompt_tokens' must be 0 to"),
        (run(usage={"prompt_tokens": 1.5}), "key 'prompt_tokens' must be a whole number, found 1."),
        (run(usage={"prompt_tokens": 1, "cached_tokens": 2}), "which is 2; found 1"),
        (run(usage=[{}]), "key 'usage' must have one value for each of the 2 assistant messages"),
        (run(usage=[7, None]), "usage 1: must be an object or null, found 7"),
        (run(usage="many"), "key 'usage' must be an object, found 'many'"),
        (run(scores=[1]), "key 'scores' must have one value for each of the 2 assistant messages"),
        (run(score="good"), "turn 2: key 'score' must be a number, {passed, total} or null, found"),
        (run(score=float("nan")), "found nan"),
        (run(score=True), "found True"),
        (run(score={"passed": 3, "total": 2}), "recording 'runs/run-0002': scenario.steps[1]"),
        (run(ms=-1), "key 'ms' must lie between 0 and"),
        (run(ms="fast"), "key 'ms' must be a number, found 'fast'"),
        (run(timestamps=[1]), "key 'timestamps' must have one value for each of the 4 messages"),
        (run(timestamps=["now"] * 4), "time stamp 1: a time stamp must be seconds or ms since"),
        (run(ASK, {**DONE, "timestamp": True}), "found True"),
        (run(ASK, {**DONE, "timestamp": 1e300}), "found 1e+300"),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(run(), line))
    assert words in message
    assert ": line 2" in message or "recording 'runs/run-0002'" in message
    assert len(message) < 700


def test_what_is_missing_is_counted(write_lines: Write) -> None:
    missing = Missing()
    assert missing.words() == "nothing"
    half = run(ASK, {**HEAT, "ms": 4}, HOT, DONE, outcome=1, score=1)
    for recording in read(write_lines(run(usage={"prompt_tokens": 9}), half, run(ASK, DONE))):
        missing.add(recording)
    assert missing.words() == (
        "of 3: usage in 2; times in 2 (in part: 1); scores in 2 (in part: 1); outcome in 2; "
        "exit reason in 1; tools in 1"
    )
