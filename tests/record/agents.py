"""A small agent on the openai client, and what its recording has to hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import openai

from harness import load
from harness.record import Recorder, RecordingTransport
from harness.scenario import Scenario
from tests.openai_server import Server, call, say

SECRET = "sk-" + "Ab1" * 8
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
START = [{"role": "system", "content": "Work."}, {"role": "user", "content": "Open the door."}]


def ask(client: openai.OpenAI, messages: list[Any], **extra: Any) -> dict[str, Any]:
    reply = client.chat.completions.create(model="gpt-4o-mini", messages=messages, **extra)
    return reply.choices[0].message.model_dump(exclude_none=True)


def result(text: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def agent(client: openai.OpenAI, goal: str = "Open the door.", turns: int = 3) -> list[Any]:
    """A loop that does what it is told until it is told nothing."""
    messages: list[Any] = [START[0], {"role": "user", "content": goal}]
    for number in range(turns):
        message = ask(client, messages, tools=TOOLS)
        messages.append(message)
        calls = message.get("tool_calls") or []
        messages += [result(f"closed {number}", each["id"]) for each in calls]
        if not calls:
            break
    return messages


def recorded(path: Path) -> list[Scenario]:
    return list(load([path]))


def client_of(server: Server, recorder: Recorder | Path, **options: Any) -> openai.OpenAI:
    http = httpx2.Client(transport=RecordingTransport(recorder))
    return server.client(http_client=http, **options)


REPLIES = (
    say("I look.", call("look", {"at": "door"}, "c1")),
    say("", call("look", {"at": "key"}, "c2"), call("look", {"at": "mat"}, "c3")),
    say("It is open."),
)


def check_steps(found: Scenario) -> None:
    assert found.goal == "Open the door."
    assert found.tools is not None
    assert list(found.tools) == ["look"]
    first, second, third = found.steps
    assert (first.reply.text, first.reply.model, first.reply.finish_reason) == (
        "I look.", "gpt-4o-mini", "tool_calls",
    )  # fmt: skip
    assert [(c.tool, c.args, c.result) for c in first.calls] == [
        ("look", {"at": "door"}, "closed 0")
    ]
    assert [(c.args, c.result) for c in second.calls] == [
        ({"at": "key"}, "closed 1"), ({"at": "mat"}, "closed 1"),
    ]  # fmt: skip
    assert (third.reply.text, third.calls, third.reply.finish_reason) == ("It is open.", [], "stop")
    assert all(step.user is None for step in found.steps)
