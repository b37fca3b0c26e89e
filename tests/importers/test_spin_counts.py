"""How often repetition guards fire on recorded runs, by how the runs ended.

Each figure is counted twice: by the harness's guards in observe mode over the imported
recordings, and by a plain loop over the source file.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings
from harness.loop import run_episode
from harness.preset import Preset, load_preset
from harness.scenario import Scenario
from harness.turns import prepare

Counts = dict[str, Counter[str]]


@pytest.fixture
def preset(tmp_path: Path) -> Preset:
    path = tmp_path / "repetition.toml"
    path.write_text(
        """
        schema = "harness/preset@1"
        title = "The same call, whatever it returned"
        [guards]
        spin_args = { kind = "spin", on = "action", identity = "args", threshold = 3 }
        alternation = { kind = "oscillation", on = "action", identity = "args", threshold = 4 }
        """
    )
    return load_preset(str(path))


def by_guards(name: str, path: Path, preset: Preset) -> Counts:
    """Runs, and runs in which a guard fired at any iteration, by how they ended."""
    counts: Counts = {name: Counter() for name in ("runs", *preset.guards)}
    for recording in recordings(name, path):
        scenario = Scenario.model_validate(recording)
        end = scenario.recorded.outcome or "unknown"
        if "score:none" in scenario.tags:
            end = "unscored"
        counts["runs"][end] += 1
        episode = run_episode(prepare(scenario), preset, observe=True)
        assert len(episode.iterations) == len(scenario.steps)
        for series in episode.series:
            counts[series.guard][end] += any(series.fired)
    return counts


def by_hand(runs: Iterable[tuple[str, list[Any]]]) -> Counts:
    """The same from ``(how it ended, its actions in order)``."""
    counts: Counts = {"runs": Counter(), "spin_args": Counter(), "alternation": Counter()}
    for end, actions in runs:
        counts["runs"][end] += 1
        counts["spin_args"][end] += longest_run(actions) >= 3
        counts["alternation"][end] += sways(actions)
    return counts


def longest_run(actions: list[Any]) -> int:
    longest = length = 1
    for before, after in pairwise(actions):
        length = length + 1 if before == after else 1
        longest = max(longest, length)
    return longest


def sways(actions: list[Any]) -> bool:
    """A-B-A-B anywhere in a run."""
    windows = (actions[start : start + 4] for start in range(len(actions) - 3))
    return any(w[0] == w[2] != w[1] == w[3] for w in windows)


def outcome(reached: bool) -> str:
    return "success" if reached else "failure"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_tau_bench(corpora: Path, preset: Preset) -> None:
    path = corpora / "tau_bench" / "gpt-4o-airline.json"
    runs = [
        (
            outcome(entry["reward"] == 1),
            [
                (call["function"]["name"], json.loads(call["function"]["arguments"]))
                for message in entry["traj"]
                for call in message.get("tool_calls") or ()
            ],
        )
        for entry in json.loads(path.read_text())
    ]
    expected = {
        "runs": Counter(success=84, failure=116),
        "spin_args": Counter(),
        "alternation": Counter(failure=2),
    }
    assert by_guards("tau-bench", path, preset) == by_hand(runs) == expected


def test_webshop(corpora: Path, preset: Preset) -> None:
    """Thoughts are turns without a call: they neither count nor break a run."""
    path = corpora / "react_webshop_fever" / "derived_webshop.jsonl"
    runs = [
        (
            "unscored" if run["score"] is None else outcome(run["score"] >= 0.5),
            [row["action"] for row in run["steps"] if not row["action"].startswith("think[")],
        )
        for run in lines(path)
    ]
    expected = {
        "runs": Counter(success=367, failure=93, unscored=40),
        "spin_args": Counter(unscored=12),
        "alternation": Counter(success=1, unscored=13),
    }
    assert by_guards("react", path, preset) == by_hand(runs) == expected


def test_fever(corpora: Path, preset: Preset) -> None:
    path = corpora / "react_webshop_fever" / "derived_fever.jsonl"
    runs = [
        (outcome(run["reward"] == 1), [row["action"] for row in run["steps"]])
        for run in lines(path)
    ]
    expected = {
        "runs": Counter(success=270, failure=230),
        "spin_args": Counter(failure=8),
        "alternation": Counter(),
    }
    assert by_guards("react", path, preset) == by_hand(runs) == expected


@pytest.fixture
def recurring(tmp_path: Path) -> Preset:
    path = tmp_path / "recurring.toml"
    path.write_text(
        """
        schema = "harness/preset@1"
        title = "The same call with the same result, in places"
        [guards]
        recurrence = { threshold = 3, window = 8, identity = "args+result" }
        """
    )
    return load_preset(str(path))


def recurs(calls: list[Any]) -> bool:
    """The same thing three times within eight, anywhere in a run."""
    windows = (calls[max(0, end - 7) : end + 1] for end in range(len(calls)))
    return any(window.count(window[-1]) >= 3 for window in windows)


def test_recurrence_on_webshop(corpora: Path, recurring: Preset) -> None:
    """Two thirds of the unscored runs, and none of the 367 good ones."""
    path = corpora / "react_webshop_fever" / "derived_webshop.jsonl"
    counts = by_guards("react", path, recurring)
    assert counts["runs"] == Counter(success=367, failure=93, unscored=40)
    assert counts["recurrence"] == Counter(unscored=26)
    by_hand = sum(
        recurs(
            [
                (row["action"], row["observation"])
                for row in run["steps"]
                if not row["action"].startswith("think[")
            ]
        )
        for run in lines(path)
    )
    assert by_hand == 26


def test_recurrence_on_a_strong_coding_agent(corpora: Path, recurring: Preset) -> None:
    """What it costs where nothing is wrong: 7 of 371 runs that succeeded, 1.9 %."""
    path = corpora / "mini_swe_agent_gemini3" / "trajectories_500.jsonl.gz"
    counts = by_guards("mini-swe-agent", path, recurring)
    assert counts["runs"] == Counter(success=371, failure=129)
    assert counts["recurrence"] == Counter(success=7, failure=1)
    fenced = re.compile(r"```bash\s*\n(.*?)\n```", re.DOTALL)
    found: Counter[str] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for run in map(json.loads, file):
            calls = [
                (fenced.findall(said["content"]), answer["content"])
                for said, answer in pairwise(run["messages"])
                if said["role"] == "assistant"
            ]
            found[outcome(run["resolved"])] += recurs(calls)
    assert found == counts["recurrence"]
