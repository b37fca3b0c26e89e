"""The importer of OpenHands on real files, against counts of the files' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import openhands
from tests.importers.event_runs import (
    calls,
    fitting,
    observed,
    read,
    tokens,
)

FORMAT = "openhands"


def _responses(history: list[Any]) -> dict[str, Any]:
    metas = [event.get("tool_call_metadata") for event in history]
    found = [meta["model_response"] for meta in metas if meta]
    return {response["id"]: response for response in found}


def test_real_evaluation_rows(corpora: Path) -> None:
    path = corpora / "openhands" / "multi_swe_bench_output.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = read(FORMAT, path)
    assert len(found) == len(rows) == 3
    for recording, row in zip(found, rows, strict=True):
        total = row["metrics"]["accumulated_token_usage"]
        counted = tokens(recording)
        assert counted["input"] == total["prompt_tokens"]
        assert counted["output"] == total["completion_tokens"]
        latencies = [item["latency"] for item in row["metrics"]["response_latencies"]]
        assert [step["reply"]["ms"] for step in recording["steps"]] == [
            round(seconds * 1000) for seconds in latencies
        ]
        failed = [e for e in row["history"] if e.get("observation") == "error"]
        codes = [e.get("extras", {}).get("metadata", {}).get("exit_code") for e in row["history"]]
        assert sum(call.get("ok") is False for call in calls(recording)) == len(failed) + sum(
            code not in (None, 0) for code in codes
        )
        assert observed(recording) == len(latencies)
    assert [recording["recorded"] for recording in found] == [
        {"exit_reason": "agent_finished"},
        {"exit_reason": "agent_finished"},
        {"exit_reason": "max_iterations", "limits": {"max_iterations": 50}},
    ]


def test_real_resolver_rows(corpora: Path) -> None:
    path = corpora / "openhands" / "resolver_output.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = read(FORMAT, path)
    for recording, row in zip(found, rows, strict=True):
        asked = [event for event in row["history"] if event.get("action")][1:]
        assert [call["tool"] for call in calls(recording)] == [e["action"] for e in asked]
        assert observed(recording) == len(asked)
        assert recording["recorded"] == {"exit_reason": "agent_finished", "outcome": "success"}
        assert sum(tokens(recording).values()) == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("basic", "agent_finished"),
        ("basic_gui_mode", "awaiting_user"),
        ("basic_interactions", "agent_finished"),
        ("wrong_initial_state", "agent_finished"),
    ],
)
def test_real_trajectories(corpora: Path, name: str, reason: str) -> None:
    path = corpora / "openhands" / f"traj_{name}.json"
    history = json.loads(path.read_text(encoding="utf-8"))
    (found,) = read(FORMAT, path)
    usages = [response["usage"] for response in _responses(history).values()]
    assert sum(tokens(found).values()) == sum(usage["total_tokens"] for usage in usages)
    said = [e for e in history if e.get("action") == "message" and e["source"] == "agent"]
    assert len(found["steps"]) == len(usages) + len(said) == observed(found)
    assert found["recorded"] == {"exit_reason": reason}


def test_it_takes_only_its_own_files(corpora: Path) -> None:
    own = {path.name for path in (corpora / "openhands").iterdir() if path.suffix != ".md"}
    assert fitting(openhands, corpora) == own
