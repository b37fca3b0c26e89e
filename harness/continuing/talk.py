"""What was said in a recording, as a conversation that a live model can go on with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.agent import GO_ON, SYSTEM_PROMPT
from harness.recorded import by_source
from harness.trace import Iteration

#: What servers of the protocol refuse in the name of a tool.
_ODD = re.compile(r"[^A-Za-z0-9_-]")


def conversation(
    recording: Mapping[str, Any], iterations: Sequence[Iteration]
) -> list[Mapping[str, Any]]:
    """What was said so far, as the server takes it.

    The recorded agent's own system prompt is not known; the reference agent's stands in for it.

    Args:
        recording: A scenario.
        iterations: Those of its steps that were gone through, in order.
    """
    talk: list[Mapping[str, Any]] = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": recording["goal"]},
    ]
    lists = by_source(recording)
    for iteration in iterations:
        branch, at = iteration.turn.source
        _say(talk, lists[branch][at - 1], iteration.number)
    return talk


def _say(talk: list[Mapping[str, Any]], step: Mapping[str, Any], number: int) -> None:
    said = [step[key] for key in ("user", "nudge") if step.get(key)]
    talk += [{"role": "user", "content": words} for words in said]
    text = step.get("reply", {}).get("text") or step.get("output")
    calls = step.get("calls", ())
    if text or calls:
        if talk[-1]["role"] == "assistant":
            # Templates of many models refuse two replies in a row.
            talk.append({"role": "user", "content": GO_ON})
        asked = [_call(call, f"call_{number}_{n}") for n, call in enumerate(calls, 1)]
        talk.append({"role": "assistant", "content": text or None,
                     **({"tool_calls": asked} if asked else {})})  # fmt: skip
    for n, call in enumerate(calls, 1):
        result = call.get("result")
        shown = "(its result was not recorded)" if result is None else result
        talk.append({"role": "tool", "tool_call_id": f"call_{number}_{n}", "content": shown})
    if step.get("feedback"):
        talk.append({"role": "user", "content": step["feedback"]})


def _call(call: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    args = call.get("args")
    # Servers take objects only.
    args = args if isinstance(args, dict) else {} if args is None else {"input": args}
    name = _ODD.sub("_", call["tool"])[:64] or "tool"
    function = {"name": name, "arguments": json.dumps(args, ensure_ascii=False)}
    return {"id": call_id, "type": "function", "function": function}
