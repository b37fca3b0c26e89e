"""SWE-agent's trajectories: commands, refusals, totals, how a run ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import load_preset, prepare, run_episode
from harness.importers import Intake, recordings
from harness.scenario import Scenario

FORMAT = "swe-agent"
SYSTEM = {"role": "system", "content": "Use the interface."}
DEMO = {"role": "user", "content": "ISSUE:\nshown\nINSTRUCTIONS:\nx", "is_demo": True}
ASKED = {"role": "user", "content": "We solve this.\nISSUE:\nIt fails.\n\nINSTRUCTIONS:\nGo on."}
STATS = {"instance_cost": 0.5, "tokens_sent": 101, "tokens_received": 20, "api_calls": 2}
FORMAT_EXIT = "Exit due to repeated format/blocklist/bash syntax errors"


def entry(action: str = "open a.py\n", observation: str = "1: x", **extra: Any) -> dict[str, Any]:
    return {"action": action, "observation": observation, "response": "I look.", **extra}


def run(*entries: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {
        "environment": "main",
        "trajectory": list(entries),
        "history": [SYSTEM, DEMO, ASKED],
        "info": {"exit_status": "submitted", "model_stats": {}, **info},
    }


@pytest.fixture
def imported(write_json: Callable[..., Path]) -> Callable[[Any], dict[str, Any]]:
    def imported(value: Any) -> dict[str, Any]:
        (found,) = recordings(FORMAT, write_json(value, "case.traj"))
        return found

    return imported


def test_a_run(imported: Callable[[Any], dict[str, Any]]) -> None:
    found = imported(run(entry(), entry("submit\n", "diff", execution_time=0.25)))
    assert found["goal"] == "It fails."
    assert found["tools"] == ["bash", "open", "submit"]
    assert found["recorded"] == {"exit_reason": "agent_finished"}
    assert found["steps"] == [
        {
            "reply": {"text": "I look."},
            "calls": [
                {"tool": "open", "args": {"command": "open a.py"}, "ok": True, "result": "1: x"}
            ],
        },
        {
            "reply": {"text": "I look."},
            "calls": [
                {
                    "tool": "submit",
                    "args": {"command": "submit"},
                    "ok": True,
                    "result": "diff",
                    "ms": 250,
                }
            ],
        },
    ]


@pytest.mark.parametrize(
    ("action", "observation", "tool", "ok"),
    [
        ("edit 1:1\nx\nend_of_edit", "File updated.", "edit", True),
        ("edit 1:1\nx", "Your proposed edit has introduced new syntax error(s).", "edit", False),
        ("python a.py", "Traceback (most recent call last):", "bash", True),
        ("python a.py", "\nEXECUTION TIMED OUT", "bash", False),
        ("  ls -l", "a.py", "bash", True),
        ("editor a.py", "", "bash", True),
    ],
)
def test_a_call(
    imported: Callable[[Any], dict[str, Any]], action: str, observation: str, tool: str, ok: bool
) -> None:
    (step,) = imported(run(entry(action, observation)))["steps"]
    (call,) = step["calls"]
    assert (call["tool"], call["ok"], call["result"]) == (tool, ok, observation)


def test_a_reply_without_an_action_is_a_failed_call(
    imported: Callable[[Any], dict[str, Any]],
) -> None:
    (step,) = imported(run(entry("", "")))["steps"]
    assert step["calls"] == [
        {"tool": "bash", "args": {"unparsed": "I look."}, "ok": False, "result": ""}
    ]


@pytest.mark.parametrize(
    "last",
    [
        entry("exit_cost", ""),
        entry("", "", response="Exit due to cost limit", thought="Exit due to cost limit"),
        entry("", "Exited (autosubmitted)", response=FORMAT_EXIT, thought=FORMAT_EXIT),
        entry("", "", response="Exiting due to forfeit", thought="Exiting due to forfeit"),
    ],
)
def test_the_agents_own_word_for_its_end_is_no_iteration(
    imported: Callable[[Any], dict[str, Any]], last: dict[str, Any]
) -> None:
    found = imported(run(entry(), last, exit_status="exit_cost", model_stats=STATS))
    assert found["recorded"] == {"exit_reason": "cost_budget"}
    (step,) = found["steps"]
    assert step["reply"] == {"text": "I look.", "usage": {"input": 101, "output": 20}}
    assert found["tags"] == ["swe-agent"]


def test_a_model_may_say_the_same(imported: Callable[[Any], dict[str, Any]]) -> None:
    last = entry("", "", response="Exit due to despair.\n", thought="")
    assert len(imported(run(entry(), last))["steps"]) == 2


@pytest.mark.parametrize(
    ("status", "recorded"),
    [
        ("submitted", {"exit_reason": "agent_finished"}),
        ("submitted (exit_cost)", {"exit_reason": "cost_budget"}),
        ("exit_cost", {"exit_reason": "cost_budget"}),
        ("submitted (exit_total_execution_time)", {"exit_reason": "time_budget"}),
        ("exit_error", {"exit_reason": "error"}),
        ("exit_format", None),
        ("submitted (exit_context)", None),
        (None, None),
    ],
)
def test_how_it_ended(
    imported: Callable[[Any], dict[str, Any]], status: str | None, recorded: dict[str, Any] | None
) -> None:
    assert imported(run(entry(), exit_status=status)).get("recorded") == recorded


def test_the_limit_that_was_reached_is_kept(imported: Callable[[Any], dict[str, Any]]) -> None:
    config = {"agent": {"model": {"name": "openai/gpt-4o", "per_instance_cost_limit": 3.0}}}
    for told in (config, json.dumps(config)):
        found = imported({**run(entry(), exit_status="exit_cost"), "replay_config": told})
        assert found["recorded"]["limits"] == {"cost_budget_usd": 3.0}
    found = imported({**run(entry(), exit_status="exit_cost"), "replay_config": "{broken"})
    assert found["recorded"] == {"exit_reason": "cost_budget"}


def test_totals_are_spread_and_said_to_be(imported: Callable[[Any], dict[str, Any]]) -> None:
    config = {"agent": {"model": {"name": "openai/gpt-4o"}}}
    told = json.dumps(config)  # as SWE-agent 1.x writes it
    found = imported({**run(entry(), entry(), model_stats=STATS), "replay_config": told})
    assert found["tags"] == ["swe-agent", "spread:usage"]
    assert [step["reply"]["usage"] for step in found["steps"]] == [
        {"input": 51, "output": 10}, {"input": 50, "output": 10},
    ]  # fmt: skip
    assert found["steps"][0]["reply"]["model"] == "gpt-4o"


def test_no_tokens_are_unknown_tokens(imported: Callable[[Any], dict[str, Any]]) -> None:
    found = imported(run(entry(), model_stats=dict.fromkeys(STATS, 0)))
    assert found["steps"][0]["reply"] == {"text": "I look."}


def test_a_history_alone(imported: Callable[[Any], dict[str, Any]]) -> None:
    function = {"name": "submit", "arguments": "{}"}
    called = {
        "role": "assistant",
        "content": "Done.",
        "tool_calls": [{"id": "a", "function": function}],
    }
    result = {"role": "tool", "content": "diff", "tool_call_ids": ["a"]}
    found = imported({"history": [SYSTEM, DEMO, ASKED, called, result]})
    assert found["steps"] == [
        {
            "reply": {"text": "Done."},
            "calls": [{"tool": "submit", "result": "diff", "ok": True}],
        }
    ]
    assert found["recorded"] == {
        "exit_reason": "agent_finished", "exit_reason_source": "inferred",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "key 'history' is missing"),
        ([], "expected an object with key 'history'"),
        ({"history": []}, "holds neither a reply in 'trajectory' nor an assistant message"),
        (run(entry("exit_error", "")), "holds neither a reply in 'trajectory' nor"),
        ({"history": [], "trajectory": [3]}, "step 1: expected an object with key 'action'"),
        (run({"action": 3, "response": "x"}), "step 1: key 'action' must be a text"),
        (run(entry(execution_time="x")), "key 'execution_time' must be a number"),
        (run(entry(), model_stats={"tokens_sent": -1}), "key 'tokens_sent' must be 0 to"),
    ],
)
def test_refused(
    write_json: Callable[..., Path], refused: Callable[[Path], str], value: Any, words: str
) -> None:
    assert words in refused(write_json(value, "case.traj"))


def test_a_broken_file_loses_itself_only(tmp_path: Path) -> None:
    (tmp_path / "a.traj").write_text("{", encoding="utf-8")
    (tmp_path / "b.traj").write_text(json.dumps(run(entry())), encoding="utf-8")
    intake = Intake()
    assert [r["id"] for r in recordings(FORMAT, tmp_path, intake)] == ["swe-agent/b"]
    assert intake.broken == 1
    assert "a.traj: line 1: not JSON" in intake.problems[0]


def test_the_real_ones(corpora: Path) -> None:
    folder = corpora / "swe_agent_traj"
    found = {r["source"]: r for r in recordings(FORMAT, folder)}
    files = sorted(folder.glob("*.traj"))
    assert len(found) == len(files) == 22
    for file in files:
        raw = json.loads(file.read_text("utf-8"))
        recording = found[f"{FORMAT}:{file.name}"]
        steps = recording["steps"]
        turns = [m for m in raw["history"] if m["role"] == "assistant" and not m.get("is_demo")]
        assert len(steps) == len(raw.get("trajectory") or turns)
        submitted = raw.get("info", {}).get("exit_status") == "submitted"
        inferred = recording["recorded"].get("exit_reason_source") == "inferred"
        assert recording["recorded"]["exit_reason"] == "agent_finished"
        assert submitted is not inferred
        stats = raw.get("info", {}).get("model_stats", {})
        for ours, theirs in (("input", "tokens_sent"), ("output", "tokens_received")):
            told = sum(s.get("reply", {}).get("usage", {}).get(ours, 0) for s in steps)
            assert told == stats.get(theirs, 0)
        refusals = sum(
            "introduced new syntax error" in e["observation"] or "TIMED OUT" in e["observation"]
            for e in raw.get("trajectory", ())
        )
        failed = sum(not c["ok"] for s in steps for c in s.get("calls", ()))
        assert failed == refusals
        episode = run_episode(
            prepare(Scenario.model_validate(recording)), load_preset("balanced").observed()
        )
        assert len(episode.iterations) == len(steps)
