"""An agent on the openai client that knows nothing of the harness: a program of its own.

Prints what it did, a JSON line a turn. Its one argument says whether it streams.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai

MODEL = "smollm2-135m"
TURNS = 4
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]
# The model is held to one call a turn; it is small, and would rather talk. Without its cache it
# says the same to the same prompt, whatever it was asked before.
SETTINGS = {
    "extra_body": {"cache_prompt": False},
    "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 96,
    "temperature": 0, "seed": 1,
}  # fmt: skip


def whole(client: openai.OpenAI, talk: list[Any]) -> dict[str, Any]:
    made: Any = client.chat.completions.create(model=MODEL, messages=talk, **SETTINGS)  # type: ignore[call-overload]
    message: dict[str, Any] = made.choices[0].message.model_dump(exclude_none=True)
    return message


def streamed(client: openai.OpenAI, talk: list[Any]) -> dict[str, Any]:
    text, calls = "", []
    for chunk in client.chat.completions.create(  # type: ignore[call-overload]
        model=MODEL, messages=talk, stream=True, stream_options={"include_usage": True}, **SETTINGS
    ):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                if part.id:
                    function = {"name": part.function.name, "arguments": part.function.arguments}
                    calls.append({"id": part.id, "type": "function", "function": function})
                else:
                    calls[-1]["function"]["arguments"] += part.function.arguments
    return {"role": "assistant", "content": text, "tool_calls": calls}


def main() -> None:
    """Add two numbers, again and again."""
    ask = streamed if sys.argv[1] == "streamed" else whole
    talk: list[Any] = [
        {"role": "system", "content": "You solve the task with the tools."},
        {"role": "user", "content": "Add 2 and 3."},
    ]
    said = ""
    with openai.OpenAI(max_retries=0, timeout=120) as client:
        for _ in range(TURNS):
            message = ask(client, talk)
            calls = message.get("tool_calls") or []
            turn = [[c["function"]["name"], *run(c["function"]["arguments"])] for c in calls]
            print(json.dumps([said, message.get("content") or "", turn]), flush=True)
            talk.append(message)
            talk += [{"role": "tool", "tool_call_id": call["id"], "content": result}
                     for call, (_, _, result) in zip(calls, turn, strict=True)]  # fmt: skip
            said = "" if calls else "Use the tool."
            talk += [{"role": "user", "content": said}] if said else []


def run(arguments: str) -> tuple[Any, str]:
    """Arguments and result of one call; a small model's may be cut off."""
    try:
        args = json.loads(arguments)
        return args, str(args["a"] + args["b"])
    except (ValueError, KeyError, TypeError) as error:
        return arguments, f"error: {type(error).__name__}"


if __name__ == "__main__":
    main()
