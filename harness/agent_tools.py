"""What the reference agent can do, and how one call is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.clock import Clock
from harness.openai_llm import ToolCall


class ToolFailure(Exception):  # noqa: N818 - an outcome, not a fault
    """A call that failed; the message is its result, word for word."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Something the agent can do.

    Attributes:
        parameters: JSON schema of its arguments.
        run: Takes the arguments by name; what it raises is a failed call (``ToolFailure``: with
            these words as its result).
        properties: How guards treat it: ``waits``, ``effect`` (see the scenario format).
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Any]
    properties: Mapping[str, Any] = field(default_factory=dict)

    def spec(self) -> dict[str, Any]:
        """The tool as a server takes it."""
        function = {"name": self.name, "description": self.description}
        return {"type": "function", "function": {**function, "parameters": dict(self.parameters)}}


def run_call(call: ToolCall, tools: Mapping[str, Tool], clock: Clock) -> dict[str, Any]:
    """Run one call; a failure of any kind is a result, because the model has to hear of it.

    Args:
        call: What the model asked for.
        tools: What there is, by name.
        clock: Tells how long it took.

    Returns:
        The call as a step of a scenario has it: ``tool, args, result, ok, ms``.
    """
    began, ok = clock.now_ms(), False
    tool = tools.get(call.tool)
    if tool is None:
        result = f"unknown tool {call.tool!r}; there are: {', '.join(tools)}"
    elif not call.valid:
        result = "the arguments are not one JSON object"
    else:
        try:
            found = tool.run(**call.args)
            result = found if isinstance(found, str) else json.dumps(found, default=str)
            ok = True
        except ToolFailure as failure:
            result = str(failure)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    ms = clock.now_ms() - began
    return {"tool": call.tool, "args": call.args, "result": result, "ok": ok, "ms": ms}
