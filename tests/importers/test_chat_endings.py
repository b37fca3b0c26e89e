"""How a user's own runs in chat messages ended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.chat_runs import (
    ASK,
    DONE,
    HEAT,
    HOT,
    One,
    run,
    say,
)


@pytest.mark.parametrize(
    ("messages", "more", "recorded"),
    [
        ([ASK, HEAT, HOT, DONE], {}, ("agent_finished", "inferred")),
        ([ASK, DONE], {}, (None, None)),
        ([ASK, DONE], {"tools": []}, (None, None)),
        ([ASK, DONE], {"tools": ["heat"]}, ("agent_finished", "inferred")),
        ([ASK, DONE], {"metadata": {"tools": ["heat"]}}, ("agent_finished", "inferred")),
        ([ASK, DONE], {"tools": ["heat"], "outcome": 1}, ("agent_finished", "inferred")),
        ([ASK, HEAT, HOT], {}, (None, None)),
        ([ASK, HEAT], {}, (None, None)),
        ([ASK, HEAT, HOT, DONE, say("user", "No.")], {}, (None, "unknown")),
        ([ASK, HEAT, HOT, {**DONE, "finish_reason": "length"}], {}, (None, None)),
        ([ASK, HEAT, HOT, {**DONE, "error": "HTTP 500"}], {}, (None, None)),
        ([ASK, HEAT, HOT, DONE], {"exit_reason": "max_iterations"}, ("max_iterations", None)),
        ([ASK, HEAT, HOT], {"metadata": {"exit_reason": "blocked"}}, ("blocked", None)),
    ],
)
def test_exit_reason(
    one: One, messages: list[Any], more: dict[str, Any], recorded: tuple[str | None, str | None]
) -> None:
    found = one(run(*messages, **more))["recorded"]
    assert (found.get("exit_reason"), found.get("exit_reason_source")) == recorded


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"outcome": "success"}, "success"),
        ({"outcome": "FAILED"}, "failure"),
        ({"outcome": True}, "success"),
        ({"outcome": 0}, "failure"),
        ({"outcome": 1.0}, "success"),
        ({"outcome": "unknown"}, None),
        ({"outcome": None}, None),
        ({"success": False}, "failure"),
        ({"resolved": True}, "success"),
        ({"metadata": {"outcome": "pass"}}, "success"),
        ({"metadata": {"outcome": "pass"}, "outcome": "fail"}, "failure"),
        ({"score": 1.0}, None),
        ({}, None),
    ],
)
def test_outcome(one: One, more: dict[str, Any], outcome: str | None) -> None:
    assert one(run(**more))["recorded"].get("outcome") == outcome
