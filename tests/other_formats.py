"""What OpenAI's Responses and Anthropic's Messages answer, for the scripted server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Event = tuple[str, dict[str, Any]]


def responses(body: Mapping[str, Any], found: Mapping[str, Any], number: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    ]
    if found["text"]:
        part = {"type": "output_text", "text": found["text"], "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant",
                       "status": "completed", "content": [part]})  # fmt: skip
    for n, each in enumerate(found["calls"]):
        output.append({"type": "function_call", "id": f"fc_{n}", "call_id": each["id"],
                       "status": "completed", **each["function"]})  # fmt: skip
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1, "model": body["model"],
        "status": "completed", "error": None, "incomplete_details": None, "output": output,
        "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "temperature": 1.0, "top_p": 1.0,
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64},
                  "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 5},
                  "total_tokens": 120},
    }  # fmt: skip


def responses_events(whole: Mapping[str, Any]) -> Iterator[Event]:
    yield "response.created", {"response": {**whole, "status": "in_progress", "output": []}}
    for at, item in enumerate(whole["output"]):
        yield "response.output_item.added", {"output_index": at, "item": {**item, "content": []}}
        for part in _parts(item["content"][0]["text"] if item["type"] == "message" else ""):
            yield "response.output_text.delta", {
                "output_index": at, "item_id": item["id"], "content_index": 0, "delta": part,
                "logprobs": [],
            }  # fmt: skip
        for part in _parts(item.get("arguments", "")):
            yield "response.function_call_arguments.delta", {
                "output_index": at, "item_id": item["id"], "delta": part,
            }  # fmt: skip
        yield "response.output_item.done", {"output_index": at, "item": item}
    yield "response.completed", {"response": whole}


def messages(body: Mapping[str, Any], found: Mapping[str, Any], number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]
    if found["text"]:
        content.append({"type": "text", "text": found["text"]})
    for each in found["calls"]:
        args = json.loads(each["function"]["arguments"])
        content.append({"type": "tool_use", "id": each["id"], "name": each["function"]["name"],
                        "input": args})  # fmt: skip
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": "tool_use" if found["calls"] else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 36, "cache_read_input_tokens": 64,
                  "cache_creation_input_tokens": 0, "output_tokens": 20},
    }  # fmt: skip


def messages_events(whole: Mapping[str, Any]) -> Iterator[Event]:
    start = {**whole, "content": [], "stop_reason": None,
             "usage": {**whole["usage"], "output_tokens": 1}}  # fmt: skip
    yield "message_start", {"message": start}
    yield "ping", {}
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        deltas: list[dict[str, Any]]
        if kind == "tool_use":
            begun = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": p}
                      for p in ["", *_parts(json.dumps(block["input"]))]]  # fmt: skip
        else:
            key = "text" if kind == "text" else "thinking"
            begun = {**block, key: ""}
            deltas = [{"type": f"{key}_delta", key: part} for part in _parts(block[key])]
        yield "content_block_start", {"index": index, "content_block": begun}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"output_tokens": 20}}
    yield "message_stop", {}


def events(whole: Mapping[str, Any]) -> Iterator[bytes]:
    made = responses_events(whole) if whole.get("object") == "response" else messages_events(whole)
    for number, (kind, data) in enumerate(made):
        line = json.dumps({"type": kind, "sequence_number": number, **data})
        yield f"event: {kind}\ndata: {line}\n\n".encode()


def _parts(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]
