"""Made-up runs in chat messages, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.importers import recordings

FORMAT = "chat"
Write = Callable[..., Path]
Refused = Callable[[Path], str]
One = Callable[[Any], dict[str, Any]]


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def say(role: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(call_id: str | None, name: str, arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {**({"id": call_id} if call_id else {}), "type": "function", "function": function}


ASK = say("user", "Boil water.")
DONE = say("assistant", "It boils.")
HEAT = say("assistant", None, tool_calls=[call("a", "heat", '{"to": 100}')])
HOT = say("tool", "hot", tool_call_id="a")


def run(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages) or [ASK, HEAT, HOT, DONE], **more}
