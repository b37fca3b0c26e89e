"""What a live model can do where a recording is left: a user's functions, and recorded results.

There are no real tools behind a recording. A call is run by a function of the user's; else an
identical recorded call lends its result; else the call fails and says why.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from harness.agent_tools import Tool, ToolFailure
from harness.errors import HarnessError
from harness.fingerprint import canonical
from harness.scenario import Scenario
from harness.trace import Call
from harness.usercode import functions

#: Names that servers of the protocol take.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array",
    dict: "object",
}  # fmt: skip


def tools_from(module: ModuleType) -> list[Tool]:
    """The tools that a module offers: its functions, and every ``Tool`` that it made.

    A function's annotations become the schema of its arguments, its docstring the description.

    Raises:
        HarnessError: Nothing to offer, or a function whose arguments have no names.
    """
    found = {key: _tool(key, function) for key, function in functions(module).items()}
    found |= {tool.name: tool for tool in vars(module).values() if isinstance(tool, Tool)}
    if not found:
        raise HarnessError(f"--tools: {module.__file__}: defines no function")
    return list(found.values())


def _tool(name: str, function: Callable[..., Any]) -> Tool:
    try:
        schema = TypeAdapter(function).json_schema()  # type: ignore[arg-type]  # any callable
    except (PydanticUserError, NameError, TypeError) as error:
        words = str(error).splitlines()[0]
        raise HarnessError(f"--tools: {name}: no schema for its arguments: {words}") from None
    if schema.get("type") != "object":
        raise HarnessError(f"--tools: {name}: its arguments must have names")
    return Tool(name, inspect.getdoc(function) or name, schema, function)


def offered(
    scenario: Scenario, seen: Iterable[Call], later: Iterable[Call], own: Iterable[Tool]
) -> list[Tool]:
    """What a live model can call: the user's tools, and stand-ins for all others.

    Args:
        scenario: Declares tools; where it does not, those are offered that were called.
        seen: Calls up to where the recording is left; the last of equal ones is the freshest.
        later: Recorded calls behind it, which lend a result where no earlier one does.
        own: The user's tools.
    """
    mine = {tool.name: tool for tool in own}
    before, behind = list(seen), list(later)
    results: dict[tuple[str, str], Call] = {}
    for call in [*reversed(before), *behind]:
        results.setdefault((call.tool, call.args), call)
    declared = scenario.tools or {}
    names = dict.fromkeys([*declared, *(call.tool for call in (*before, *behind))])
    stand_ins = [
        _stand_in(name, results, declared[name].model_dump() if name in declared else {})
        for name in names
        if name not in mine and _NAME.fullmatch(name)
    ]
    return [*mine.values(), *stand_ins]


def _stand_in(
    name: str, results: Mapping[tuple[str, str], Call], properties: Mapping[str, Any]
) -> Tool:
    def run(**args: Any) -> str:
        found = results.get((name, canonical(args)))
        if found is None:
            raise ToolFailure(
                f"tool {name!r} cannot be run here: no function was given for it, and no "
                "identical call is recorded"
            )
        if not found.ok:
            raise ToolFailure(found.result or "")
        return found.result or ""

    return Tool(name, f"The tool {name}.", _schema(name, results), run, properties)


def _schema(name: str, results: Mapping[tuple[str, str], Call]) -> dict[str, Any]:
    """The arguments that recorded calls had; whether any of them is required is not known."""
    properties: dict[str, Any] = {}
    for tool, args in results:
        value = json.loads(args) if tool == name else None
        for key, item in value.items() if isinstance(value, dict) else ():
            kind = _TYPES.get(type(item))
            properties.setdefault(key, {"type": kind} if kind else {})
            if properties[key] != ({"type": kind} if kind else {}):
                properties[key] = {}
    return {"type": "object", "properties": properties, "additionalProperties": True}
