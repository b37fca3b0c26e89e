"""Made-up runs of OpenHands."""

from __future__ import annotations

from typing import Any


def at(second: float) -> str:
    return f"2025-01-31T10:00:{second:06.3f}"


def action(number: int, name: str, second: float = 0, **more: Any) -> dict[str, Any]:
    about = {"source": "agent", "action": name, "args": {}, "timestamp": at(second)}
    return {"id": number, **about, **more}


def seen(number: int, name: str, cause: int | None, second: float = 0, **more: Any) -> Any:
    about = {"source": "agent", "observation": name, "content": "", "timestamp": at(second)}
    return {"id": number, "cause": cause, **about, **more}


def person(number: int, text: str, second: float = 0) -> dict[str, Any]:
    return action(number, "message", second, source="user", args={"content": text})


def state(number: int, name: str, second: float = 0, **more: Any) -> dict[str, Any]:
    extras = {"agent_state": name, **more}
    told = seen(number, "agent_state_changed", None, second, extras=extras)
    return {**told, "source": "environment"}


def response(
    name: str, call_id: str, tool: str, arguments: str, text: str = "", **usage: Any
) -> dict[str, Any]:
    """What an action carries of the model's reply."""
    function = {"name": tool, "arguments": arguments}
    message = {"content": text, "tool_calls": [{"id": call_id, "function": function}]}
    return {
        "tool_call_metadata": {
            "function_name": tool,
            "tool_call_id": call_id,
            "model_response": {
                "id": name,
                "model": "vendor/model-x",
                "choices": [{"finish_reason": "tool_calls", "message": message}],
                "usage": usage or {"prompt_tokens": 100, "completion_tokens": 20},
            },
        }
    }


def row(*history: Any, **more: Any) -> dict[str, Any]:
    return {"instance_id": "org__repo-1", "instruction": "Fix it.", "history": history, **more}


METRICS = {
    "accumulated_token_usage": {"prompt_tokens": 330, "completion_tokens": 50},
    "token_usages": [
        {"response_id": "r1", "prompt_tokens": 100, "completion_tokens": 20},
        {"response_id": "lost", "prompt_tokens": 110, "completion_tokens": 20}
        | {"cache_read_tokens": 60, "cache_write_tokens": 40},
        {"response_id": "r2", "prompt_tokens": 120, "completion_tokens": 10}
        | {"cache_read_tokens": 100, "cache_write_tokens": 40},
    ],
    "response_latencies": [
        {"response_id": "r1", "latency": 1.5},
        {"response_id": "lost", "latency": 0.0004},
    ],
}

STUCK = {"exit_reason": "spin", "exit_reason_source": "inferred"}
