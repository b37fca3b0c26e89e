"""Recorded replies, written again as OpenAI's Responses (``harness.wire.responses`` reads them)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.scenario import Tokens
from harness.wire.errors import error_from
from harness.wire.form import Said, SaidCall, event

CUSTOM = "custom_tool_call"
#: Calls by the type of their item, with the key of their arguments.
CALLS = {"function_call": "arguments", CUSTOM: "input"}
#: Why a response is incomplete, and the finish reason of chat completions.
CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}


def _tokens(usage: Tokens | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    given = usage.input + usage.cache_read + usage.cache_write
    made = usage.output + usage.reasoning
    return {
        "input_tokens": given, "output_tokens": made, "total_tokens": given + made,
        "input_tokens_details": {"cached_tokens": usage.cache_read,
                                 "cache_write_tokens": usage.cache_write},
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
    }  # fmt: skip


def _response(said: Said, output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    cut = next((name for name, finish in CUT.items() if finish == said.finish), None)
    if status == "completed" and cut:
        status = "incomplete"
    message, marks = error_from(said.error or "")
    error = {"code": marks.get("code", "server_error"), "message": message}
    return {
        "id": f"resp_{said.id}", "object": "response", "created_at": 0, "model": said.model,
        "status": status, "output": output, "error": error if status == "failed" else None,
        "incomplete_details": {"reason": cut} if status == "incomplete" else None,
        "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "temperature": None, "top_p": None,
        "usage": None if status == "in_progress" else _tokens(said.usage),
    }  # fmt: skip


def _items(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.text:
        part: dict[str, Any] = {"type": "output_text", "text": said.text, "annotations": []}
        if said.refused:
            part = {"type": "refusal", "refusal": said.text}
        items.append({"type": "message", "id": f"msg_{said.id}", "role": "assistant",
                      "status": "completed", "content": [part]})  # fmt: skip
    return items + [_call(call) for call in said.calls]


def _call(call: SaidCall) -> dict[str, Any]:
    if call.custom:
        return {"type": CUSTOM, "id": f"ctc_{call.id}", "call_id": call.id, "name": call.tool,
                "input": call.arguments, "status": "completed"}  # fmt: skip
    return {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.tool,
            "arguments": call.arguments, "status": "completed"}  # fmt: skip


def body_of(said: Said) -> dict[str, Any]:
    """A recorded reply as a response."""
    return _response(said, _items(said), "completed" if said.error is None else "failed")


def events_of(said: Said, request: Mapping[str, Any]) -> Iterator[bytes]:
    """The same as server-sent events."""
    number = 0

    def made(kind: str, **data: Any) -> bytes:
        nonlocal number
        number += 1
        return event({"type": kind, "sequence_number": number - 1, **data}, kind)

    yield made("response.created", response=_response(said, [], "in_progress"))
    for at, item in enumerate(_items(said)):
        place = {"item_id": item["id"], "output_index": at}
        key = CALLS.get(item["type"])
        empty: dict[str, Any] = {"content": []} if key is None else {key: ""}
        begun = {**item, "status": "in_progress", **empty}
        yield made("response.output_item.added", output_index=at, item=begun)
        if key is None:
            yield from _said_in(item["content"][0], {**place, "content_index": 0}, made)
        else:
            name = "function_call_arguments" if key == "arguments" else "custom_tool_call_input"
            more = {"name": item["name"]} if key == "arguments" else {}
            yield made(f"response.{name}.delta", **place, delta=item[key])
            yield made(f"response.{name}.done", **place, **{key: item[key]}, **more)
        yield made("response.output_item.done", output_index=at, item=item)
    whole = body_of(said)
    yield made(f"response.{whole['status']}", response=whole)


def _said_in(
    part: Mapping[str, Any], place: Mapping[str, Any], made: Callable[..., bytes]
) -> Iterator[bytes]:
    """The events of what a message says, or of its refusal."""
    kind = part["type"]
    key = "refusal" if kind == "refusal" else "text"
    more: dict[str, Any] = {} if kind == "refusal" else {"logprobs": []}
    yield made("response.content_part.added", **place, part={**part, key: ""})
    yield made(f"response.{kind}.delta", **place, delta=part[key], **more)
    yield made(f"response.{kind}.done", **place, **{key: part[key]}, **more)
    yield made("response.content_part.done", **place, part=part)
