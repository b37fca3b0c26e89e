"""The importer of OpenClaw's telemetry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import openclaw
from tests.importers.event_runs import (
    Refused,
    Write,
    calls,
    fitting,
    lenient,
    observed,
    read,
    tokens,
)

FORMAT = "openclaw"
KEY = "agent:main:main"
SUB = "agent:main:subagent:7"


def event(kind: str, key: str = KEY, **more: Any) -> dict[str, Any]:
    return {"type": kind, "sessionKey": key, **more}


def user(text: str, at: int) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": at}


def reply(*parts: Any, at: int, **more: Any) -> dict[str, Any]:
    usage = {"input": 2, "output": 9, "cacheRead": 40, "cacheWrite": 5, "totalTokens": 56}
    about = {"model": "vendor/model-x", "usage": usage, "stopReason": "stop"}
    return {"role": "assistant", "content": list(parts), "timestamp": at, **about, **more}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def ask(call_id: str, name: str, args: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": args}


def result(call_id: str, words: str, at: int, **more: Any) -> dict[str, Any]:
    about = {"toolCallId": call_id, "toolName": "exec", "isError": False}
    return {"role": "toolResult", "content": [text(words)], "timestamp": at, **about, **more}


START = 1_700_000_000_000
ASKED = user("Who am I?", START)
CALLED = reply(ask("a", "exec", {"command": "whoami"}), at=START + 10, stopReason="toolUse")
ANSWERED = result("a", "me", START + 2010)
DONE = reply(text("You."), {"type": "thinking", "thinking": "hm"}, at=START + 2011)
TURN = [ASKED, CALLED, ANSWERED, DONE]


def test_a_session_becomes_steps(write_lines: Write) -> None:
    path = write_lines(
        {"type": "message.in", "content": "Who am I?"},
        event("agent.start", prompt="Who am I?", messages=[]),
        event("tool.start", "agent:main:chat", toolName="exec", params={"command": "whoami"}),
        event("tool.end", "agent:main:chat", toolName="exec", durationMs=300, success=True),
        event("agent.end", success=True, messages=TURN),
    )
    usage = {"input": 2, "cache_read": 40, "cache_write": 5, "output": 9}
    assert read(FORMAT, path) == [
        {
            "schema": "harness/scenario@1",
            "id": "openclaw/runs/agent-main-main",
            "title": "OpenClaw session agent:main:main",
            "source": "openclaw:runs.jsonl",
            "goal": "Who am I?",
            "tags": ["openclaw"],
            "tools": ["exec"],
            "steps": [
                {
                    "reply": {
                        "model": "model-x",
                        "finish_reason": "toolUse",
                        "usage": usage,
                        "ms": 1700,
                    },
                    "calls": [
                        {
                            "tool": "exec",
                            "args": {"command": "whoami"},
                            "ms": 300,
                            "result": "me",
                            "ok": True,
                        }
                    ],
                },
                {
                    "reply": {
                        "text": "You.",
                        "model": "model-x",
                        "finish_reason": "stop",
                        "usage": usage,
                    }
                },
            ],
            "recorded": {"exit_reason": "agent_finished"},
        }
    ]


def test_a_session_is_one_run_however_often_its_messages_are_told(write_lines: Write) -> None:
    """Also after a compaction, as long as one message is still there."""
    again = [user("Again?", START + 9000), reply(text("You."), at=START + 9001)]
    path = write_lines(
        event("agent.end", success=True, messages=TURN),
        event("agent.start", prompt="Again?", messages=TURN),
        event("agent.end", success=True, messages=[DONE, *again]),
    )
    (found,) = read(FORMAT, path)
    assert [step.get("user") for step in found["steps"]] == [None, None, "Again?"]
    assert tokens(found)["output"] == 27


def test_a_reset_begins_another_run(write_lines: Write) -> None:
    fresh = [user("New.", START + 9000), reply(text("Yes."), at=START + 9001)]
    path = write_lines(
        event("agent.end", success=True, messages=TURN),
        event("agent.end", success=True, messages=fresh),
    )
    assert [(found["id"], found["goal"]) for found in read(FORMAT, path)] == [
        ("openclaw/runs/agent-main-main", "Who am I?"),
        ("openclaw/runs/agent-main-main-2", "New."),
    ]


def test_a_session_without_messages_is_known_by_its_calls(write_lines: Write) -> None:
    path = write_lines(
        event("agent.start", SUB, prompt="Look.", messages=[]),
        event("tool.start", SUB, toolName="exec", params={"command": "ls"}),
        event("tool.end", SUB, toolName="exec", durationMs=4, success=False),
        event("tool.start", SUB, toolName="exec", params={"command": "ls"}),
    )
    (found,) = read(FORMAT, path)
    assert found["tags"] == ["openclaw", "sub-agent", "partial:calls"]
    assert found["goal"] == "Look."
    call = {"tool": "exec", "args": {"command": "ls"}}
    assert found["steps"] == [{"calls": [{**call, "ok": False, "ms": 4}]}, {"calls": [call]}]
    assert "recorded" not in found


@pytest.mark.parametrize(
    ("end", "recorded"),
    [
        (event("agent.end", success=True, messages=TURN), {"exit_reason": "agent_finished"}),
        (event("agent.end", success=False, messages=TURN), {"exit_reason": "error"}),
        (event("agent.end", messages=TURN), {"exit_reason_source": "unknown"}),
        (event("agent.end", success=True, messages=TURN[:3]), None),
        (event("agent.start", messages=TURN), {"exit_reason_source": "unknown"}),
    ],
)
def test_the_end(write_lines: Write, end: dict[str, Any], recorded: dict[str, str] | None) -> None:
    (found,) = read(FORMAT, write_lines(end))
    assert found.get("recorded") == recorded


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"isError": True}, {"ok": False}),
        ({"details": {"exitCode": 2, "durationMs": 7}}, {"ok": False, "exit_code": 2, "ms": 7}),
        ({"details": {"exitCode": 0}}, {"ok": True, "exit_code": 0}),
        ({"details": {"exitCode": 10**30}}, {"ok": True}),
        ({"isError": None}, {}),
    ],
)
def test_results(write_lines: Write, answer: dict[str, Any], expected: dict[str, Any]) -> None:
    messages = [ASKED, CALLED, result("a", "me", START + 20, **answer)]
    (found,) = read(FORMAT, write_lines(event("agent.start", messages=messages)))
    call = {"tool": "exec", "args": {"command": "whoami"}, "result": "me"}
    assert found["steps"][0]["calls"] == [{**call, **expected}]


def test_a_failed_reply_is_an_error_without_tokens(write_lines: Write) -> None:
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    failed = reply(at=START, usage=zero, stopReason="error", errorMessage="overloaded")
    (found,) = read(FORMAT, write_lines(event("agent.start", messages=[ASKED, failed])))
    about = {"model": "model-x", "finish_reason": "error", "error": "overloaded"}
    assert found["steps"] == [{"reply": about}]


def test_what_the_program_says_is_a_nudge(write_lines: Write) -> None:
    told = user("[Inter-session message] done", START + 1)
    aside = {"role": "custom", "content": "yielded", "timestamp": START + 2}
    messages = [ASKED, told, aside, reply(text("Good."), at=START + 3)]
    (found,) = read(FORMAT, write_lines(event("agent.start", messages=messages)))
    assert found["steps"][0]["nudge"] == "[Inter-session message] done\n\nyielded"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"type": "message.in", "content": "hi"}], "holds no run of an agent"),
        ([event("agent.start", messages=[])], "holds no run of an agent"),
        (
            [event("tool.start", toolName="exec", params={})],
            "holds no run of an agent",
        ),
        ([event("agent.start", messages={})], "key 'messages' must be a list"),
        ([{"type": "agent.end"}], "key 'sessionKey' is missing"),
        ([[1]], "expected an object with key 'type'"),
        ([event("agent.start", messages=[{"role": "robot"}])], "key 'role' must be user"),
        ([event("agent.start", messages=[ASKED])], "holds no reply of the model"),
        ([event("agent.start", messages=[{**DONE, "timestamp": "soon"}])], "a time stamp must be"),
        (
            [event("agent.start", messages=[{**DONE, "usage": {"input": -1}}])],
            "key 'input' must be 0 to",
        ),
        ([event("tool.end", toolName="exec", durationMs="x")], "key 'durationMs' must be a number"),
    ],
)
def test_refused(write_lines: Write, refused: Refused, lines: list[Any], words: str) -> None:
    assert words in refused(write_lines(*lines))


def test_only_the_broken_line_is_lost(write_lines: Write) -> None:
    path = write_lines(
        event("agent.end", success=True, messages=TURN),
        '{"type": "tool.end", "sessionKey": 5}',
        "{broken",
        event("agent.end", SUB, success=True, messages=[ASKED, {"role": 4}]),
    )
    found, problems = lenient(FORMAT, path)
    assert [recording["id"] for recording in found] == ["openclaw/runs/agent-main-main"]
    assert [problem.removeprefix(f"{path}: ").partition(": ")[0] for problem in problems] == [
        "line 2",
        "line 3",
        "session agent:main:subagent:7, message 2",
    ]


def _messages(path: Path, key: str) -> dict[tuple[str, int, str], dict[str, Any]]:
    """All messages of a session, counted from the file itself."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event.get("sessionKey") == key:
            for message in event.get("messages") or ():
                name = (message["role"], message["timestamp"], message.get("toolCallId", ""))
                found[name] = message
    return found


@pytest.mark.parametrize("name", ["crux1-sample-telemetry", "sample-telemetry"])
def test_real_telemetry(corpora: Path, name: str) -> None:
    path = corpora / "atif_and_others" / f"openclaw_telemetry_hal__{name}.jsonl"
    found = read(FORMAT, path)
    whole = [recording for recording in found if "partial:calls" not in recording["tags"]]
    for recording in whole:
        key = recording["title"].removeprefix("OpenClaw session ")
        said = [m for m in _messages(path, key).values() if m["role"] == "assistant"]
        assert len(recording["steps"]) == len(said)
        asked = [p for m in said for p in m["content"] if p["type"] == "toolCall"]
        assert [call["args"] for call in calls(recording)] == [p["arguments"] for p in asked]
        counted = tokens(recording)
        for ours, theirs in (("input", "input"), ("cache_write", "cacheWrite")):
            assert counted[ours] == sum(m["usage"][theirs] for m in said)
        assert sum(counted.values()) == sum(m["usage"]["totalTokens"] for m in said)
    assert [observed(recording) for recording in found] == [len(r["steps"]) for r in found]
    ends = [recording.get("recorded", {}).get("exit_reason") for recording in found]
    assert ends == (["agent_finished"] * 2 if "crux1" in name else [None] * 4)


def test_it_takes_only_its_own_files(corpora: Path) -> None:
    assert fitting(openclaw, corpora) == {
        "openclaw_telemetry_hal__crux1-sample-telemetry.jsonl",
        "openclaw_telemetry_hal__sample-telemetry.jsonl",
    }
