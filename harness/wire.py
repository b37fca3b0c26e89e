"""Bodies of chat completions: whole or streamed, good or failed, as one answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.openai_llm import Answer, calls_from, usage_from
from harness.trace import Reply


def answer_from(data: Mapping[str, Any], error: str | None, model: str) -> Answer:
    """A reply as plain data, as an answer of the actor.

    Args:
        data: The completion; empty where the call failed.
        error: What went wrong, if something did.
        model: The model that was asked for, where the server names none.
    """
    choice = (data.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    text = message.get("content") or message.get("refusal") or ""
    if error is None and not choice:
        error = "the server sent no choice"
    reply = Reply(
        role="actor",
        text=text if isinstance(text, str) else as_json(text),
        model=str(data.get("model") or model) or None,
        usage=usage_from(data.get("usage")),
        finish_reason=choice.get("finish_reason"),
        error=error,
    )
    return Answer(reply, calls_from(message), None if error else {**message, "role": "assistant"})


def assembled(body: str) -> dict[str, Any]:
    """A streamed reply put together, as if it had come at once; also one that was cut off.

    Args:
        body: Server-sent events.
    """
    found: dict[str, Any] = {}
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for event in _events(body):
        found.update({k: event[k] for k in ("model", "usage", "error") if event.get(k)})
        for choice in event.get("choices") or ():
            if choice.get("index"):
                continue
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            text.append(delta.get("content") or delta.get("refusal") or "")
            for part in delta.get("tool_calls") or ():
                _add(calls, part)
    message = {"content": "".join(text), "tool_calls": [calls[n] for n in sorted(calls)]}
    return {**found, "choices": [{"message": message, "finish_reason": finish}]}


def _add(calls: dict[int, dict[str, Any]], part: Mapping[str, Any]) -> None:
    call = calls.setdefault(
        part.get("index") or 0, {"id": "", "function": {"name": "", "arguments": ""}}
    )
    function = part.get("function") or {}
    call["id"] = part.get("id") or call["id"]
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""


def _events(body: str) -> Iterator[dict[str, Any]]:
    """The JSON of server-sent events; a torn last one is left out."""
    for line in body.split("\n"):
        if not line.startswith("data:"):
            continue
        try:
            event = json.loads(line[5:])
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def error_in(data: Mapping[str, Any]) -> str | None:
    """The error that a reply holds although its status was good."""
    error = data.get("error")
    return None if not error else error_words(as_json({"error": error}))


def error_words(body: str) -> str:
    """What an error body says, in words where it has some."""
    try:
        error = json.loads(body)
        error = error.get("error", error)
        found = error.get("message") if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        found = None
    return str(found or body)[:2000]


def as_json(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
