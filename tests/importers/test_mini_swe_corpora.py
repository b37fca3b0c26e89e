"""The importer of mini-swe-agent over the runs that others published."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from harness import prices
from harness.importers import recordings
from harness.trace import Usage

FORMAT = "mini-swe-agent"


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def calls(recording: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for step in recording["steps"] for call in step["calls"]]


@pytest.fixture(scope="module")
def folder(corpora: Path) -> Path:
    return corpora / "mini_swe_agent_gemini3"


@pytest.fixture(scope="module")
def source(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "trajectories_500.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[dict[str, Any]]:
    return read(folder / "trajectories_500.jsonl.gz")


def test_counts_of_the_runs(source: list[dict[str, Any]], runs: list[dict[str, Any]]) -> None:
    assert len(runs) == len(source) == len({one["id"] for one in runs}) == 500
    outcomes = Counter(one["recorded"]["outcome"] for one in runs)
    assert outcomes == {"success": 371, "failure": 129}
    assert all(one["recorded"]["exit_reason"] == "agent_finished" for one in runs)
    lengths = [len(one["steps"]) for one in runs]
    assert lengths == [line["model_stats"]["api_calls"] for line in source]
    assert (min(lengths), median(lengths), max(lengths)) == (13, 36, 145)
    made = [call for one in runs for call in calls(one)]
    assert sum("unparsed" in call["args"] for call in made) == 684  # refused by the agent
    assert sum("exit_code" not in call for call in made) == 684 + 26 + 500  # timed out, submitted
    assert sum(not call["ok"] for call in made) == 2148
    assert all("Task Instructions" not in one["goal"] and one["goal"] for one in runs)


def test_tokens_are_those_of_the_source(
    source: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> None:
    ours: Counter[str] = Counter()
    for one in runs:
        for step in one["steps"]:
            ours.update(step["reply"]["usage"])
    theirs: Counter[str] = Counter()
    apart = 0
    for line in source:
        for message in line["messages"]:
            if message["role"] == "assistant":
                usage = message["response"]["usage"]
                theirs.update({key: count for key, count in usage.items() if key != "cost"})
                if message["response"]["id"].startswith("portkey-"):
                    apart += usage["reasoning_tokens"]
    assert ours["input"] + ours["cache_read"] == theirs["prompt_tokens"] == 333_047_929
    assert ours["cache_read"] == theirs["cached_tokens"] == 279_065_308
    assert ours["reasoning"] == theirs["reasoning_tokens"] == 101_046
    assert apart == 3_547  # beside the completion, where the rest is within it
    assert ours["output"] + ours["reasoning"] == theirs["completion_tokens"] + apart == 5_560_299


def test_cost_is_that_of_the_source(
    source: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> None:
    """To the cent through OpenRouter; 16 runs through Portkey were recorded 6 to 12 % too low."""
    ratios: dict[bool, list[float]] = {True: [], False: []}
    total = 0
    for line, one in zip(source, runs, strict=True):
        pico = 0
        for step in one["steps"]:
            reply = step["reply"]
            cost = prices.cost(reply["model"], Usage(**reply["usage"]))
            assert cost is not None
            pico += cost
        total += pico
        routed = line["messages"][2]["response"]["id"].startswith("gen-")
        ratios[routed].append(pico / 1e12 / line["model_stats"]["instance_cost"])
    assert len(ratios[True]) == 484
    assert ratios[True] == pytest.approx([1.0] * 484, abs=1e-9)
    assert all(1.06 < ratio < 1.14 for ratio in ratios[False])
    recorded = sum(line["model_stats"]["instance_cost"] for line in source)
    assert total / 1e12 / recorded == pytest.approx(1.0023, abs=1e-4)


def test_times_of_the_runs(source: list[dict[str, Any]], runs: list[dict[str, Any]]) -> None:
    totals = []
    for line, one in zip(source, runs, strict=True):
        times = [step["reply"].get("ms") for step in one["steps"]]
        stamps = [m["response"]["created"] for m in line["messages"] if m["role"] == "assistant"]
        if not line["messages"][2]["response"]["id"].startswith("gen-"):
            assert set(times) == {None}
            continue
        assert times[-1] is None
        assert None not in times[:-1]
        totals.append(sum(times[:-1]))
        assert totals[-1] == (stamps[-1] - stamps[0]) * 1000
    assert len(totals) == 484
    assert max(totals) == 1_171_000


def test_the_agents_own_files(folder: Path, runs: list[dict[str, Any]]) -> None:
    known = {one["id"]: one for one in runs}
    own = {one["id"]: one for one in read(folder / "raw")}
    assert len(own) == 10
    for name in own.keys() & known.keys():
        assert own[name]["steps"] == known[name]["steps"]
        assert own[name]["goal"] == known[name]["goal"]
    assert len(own.keys() & known.keys()) == 8
    bare = own["mini-swe-agent/upstream_local"]
    assert bare["goal"] == "Blah blah blah"
    assert [call["args"]["command"] for call in calls(bare)] == [
        "echo 'hello world'",
        "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    ]
    assert bare["recorded"]["exit_reason"] == "agent_finished"
