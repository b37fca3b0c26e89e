"""The importer of OpenHands: events of the software-agent SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers.event_runs import (
    Write,
    calls,
    observed,
    read,
    tokens,
)
from tests.importers.openhands_runs import (
    METRICS,
    STUCK,
    at,
    row,
)

FORMAT = "openhands"


def sdk(kind: str, second: float = 0, source: str = "environment", **more: Any) -> dict[str, Any]:
    return {
        "id": f"{kind}-{second}",
        "kind": kind,
        "source": source,
        "timestamp": at(second),
    } | more


def told(second: float, key: str, value: Any) -> dict[str, Any]:
    return sdk("ConversationStateUpdateEvent", second, key=key, value=value)


def stats(second: float, prompt: int, completion: int, name: str = "agent") -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "cache_read_tokens": 10}
    about = {"model_name": "proxy/model-y", "accumulated_token_usage": usage}
    return told(second, "stats", {"usage_to_metrics": {name: about}})


def acts(second: float, call_id: str, tool: str, raw: str, name: str) -> dict[str, Any]:
    asked = {"id": call_id, "name": tool, "arguments": raw}
    about: dict[str, Any] = {"tool_call_id": call_id, "tool_name": tool, "llm_response_id": name}
    thought = [{"type": "text", "text": "Hm."}]
    return sdk("ActionEvent", second, "agent", thought=thought, tool_call=asked, **about)


def sees(second: float, call_id: str, text: str, **more: Any) -> dict[str, Any]:
    inner = {"content": [{"type": "text", "text": text}], **more}
    about: dict[str, Any] = {"tool_call_id": call_id, "tool_name": "terminal"}
    return sdk("ObservationEvent", second, observation=inner, **about)


def message(second: float, source: str, text: str, **more: Any) -> dict[str, Any]:
    content = {"role": source, "content": [{"type": "text", "text": text}]}
    return sdk("MessageEvent", second, source, llm_message=content, **more)


EVENTS = [
    sdk("SystemPromptEvent", 0, "agent", tools=[{"name": "terminal"}, {"title": "editor"}, 5]),
    message(1, "user", "Fix it."),
    stats(3.9, 110, 20),
    acts(4, "a", "terminal", '{"command": "ls"}', "r1"),
    acts(4, "b", "editor", "{broken", "r1"),
    sees(5, "a", "x", exit_code=1, is_error=False),
    sdk("AgentErrorEvent", 5.5, "agent", tool_call_id="b", tool_name="editor", error="no JSON"),
    sdk("Condensation", 6),
    message(7, "environment", "Finish now."),
    stats(8, 140, 30),
    message(9, "agent", "Done.", llm_response_id="r2"),
    told(9, "execution_status", "finished"),
]


def test_a_conversation_of_the_sdk_becomes_steps(write_lines: Write) -> None:
    (found,) = read(FORMAT, write_lines(*EVENTS))
    assert (found["goal"], found["tools"]) == ("Fix it.", ["editor", "terminal"])
    assert found["steps"] == [
        {
            "reply": {
                "text": "Hm.",
                "model": "model-y",
                "usage": {"input": 100, "cache_read": 10, "output": 20},
                "ms": 3000,
            },
            "calls": [
                {"tool": "terminal", "args": {"command": "ls"}, "result": "x"}
                | {"exit_code": 1, "ok": False, "ms": 1000},
                {"tool": "editor", "args": {"unparsed": "{broken"}, "ok": False}
                | {"result": "no JSON", "ms": 1500},
            ],
        },
        {
            "nudge": "Finish now.",
            "reply": {
                "text": "Done.",
                "model": "model-y",
                "usage": {"input": 30, "output": 10},
                "ms": 2000,
            },
        },
    ]
    assert found["recorded"] == {"exit_reason": "agent_finished"}


def test_totals_that_come_late_or_begin_again_are_counted(write_lines: Write) -> None:
    """The condenser's count too, and a restored conversation counts from zero."""
    path = write_lines(
        *EVENTS[1:4], stats(5, 20, 5), stats(6, 50, 50, "condenser"), sees(7, "a", "x")
    )
    (found,) = read(FORMAT, path)
    assert tokens(found) == {
        "input": 100 + 10 + 40,
        "cache_read": 10 + 10 + 10,
        "cache_write": 0,
        "output": 20 + 5 + 50,
        "reasoning": 0,
    }


def test_an_observation_without_its_action_is_a_step(write_lines: Write) -> None:
    path = write_lines(*EVENTS[1:4], stats(5, 140, 30), sees(6, "lost", "x", is_error=True))
    (found,) = read(FORMAT, path)
    assert found["steps"][1] == {
        "reply": {"model": "model-y", "usage": {"input": 30, "output": 10}},
        "calls": [{"tool": "terminal", "result": "x", "ok": False}],
    }


ERROR = "ConversationErrorEvent"


@pytest.mark.parametrize(
    ("events", "recorded"),
    [
        ([told(6, "execution_status", "stuck")], STUCK),
        ([told(6, "execution_status", "paused")], None),
        (
            [told(6, "execution_status", "waiting_for_confirmation")],
            {"exit_reason": "awaiting_user"},
        ),
        ([told(6, "full_state", {"execution_status": "error"})], {"exit_reason": "error"}),
        (
            [
                sdk(ERROR, 6, code="MaxIterationsReached", detail="maximum iterations limit (9)."),
                told(6, "execution_status", "error"),
            ],
            {"exit_reason": "max_iterations", "limits": {"max_iterations": 9}},
        ),
        (
            [sdk("ConversationIterationLimitEvent", 6, iteration=5, max_iterations=5)],
            {"exit_reason": "max_iterations", "limits": {"max_iterations": 5}},
        ),
        (
            [sdk(ERROR, 6, code="LLMError", detail=""), told(6, "execution_status", "running")],
            None,
        ),
        ([acts(6, "z", "finish", "{}", "r9")], {"exit_reason": "agent_finished"}),
        ([], None),
    ],
)
def test_the_end_of_a_conversation(
    write_lines: Write, events: list[Any], recorded: dict[str, Any] | None
) -> None:
    (found,) = read(FORMAT, write_lines(*EVENTS[1:6], *events))
    assert found.get("recorded") == recorded


def test_rows_can_hold_events_of_the_sdk(write_lines: Write) -> None:
    events = [event for event in EVENTS if event.get("key") != "stats"]
    (found,) = read(FORMAT, write_lines(row(*events, metrics=METRICS)))
    assert [step["reply"]["usage"]["output"] for step in found["steps"]] == [20, 30]
    assert found["steps"][0]["reply"]["ms"] == 1500


def test_real_events_of_the_sdk(corpora: Path) -> None:
    path = corpora / "openhands" / "sdk_goal_events.jsonl"
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    totals = [event["value"] for event in events if event.get("key") == "stats"]
    last = totals[-1]["usage_to_metrics"]["default"]["accumulated_token_usage"]
    (found,) = read(FORMAT, path)
    counted = tokens(found)
    assert counted["input"] + counted["cache_read"] == last["prompt_tokens"]
    assert counted["cache_read"] == last["cache_read_tokens"]
    assert counted["output"] == last["completion_tokens"]
    kinds = [event["kind"] for event in events]
    assert len(calls(found)) == kinds.count("ObservationEvent") == 3
    assert [call["ok"] for call in calls(found)] == [False, False, False]
    assert observed(found) == 3
    assert "recorded" not in found
