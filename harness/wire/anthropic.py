"""Anthropic's Messages, ``POST .../v1/messages``, read as chat completions and written again.

Token counts: ``input_tokens`` leaves cached ones out, unlike chat completions' ``prompt_tokens``.
Thinking, citations and what tools of the server did are not kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.scenario import Tokens
from harness.wire.chat import completion
from harness.wire.errors import error_from
from harness.wire.form import (
    REASONING,
    Format,
    Said,
    SaidCall,
    as_json,
    begins,
    event,
    finish_by_sequence,
    message_of,
    order_in,
)

_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length",
    "refusal": "content_filter",
}  # fmt: skip
_STOP = {"stop": "end_turn", "tool_calls": "tool_use", "function_call": "tool_use",
         "length": "max_tokens", "content_filter": "refusal"}  # fmt: skip


def _request(body: Mapping[str, Any]) -> dict[str, Any]:
    system = _blocks(body.get("system"))
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in body.get("messages") or ():
        if isinstance(message, Mapping):
            messages += _messages(message)
    return {**body, "messages": messages}


def _messages(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One message of Anthropic's; the results that it holds are messages of their own."""
    blocks = _blocks(message.get("content"))
    if message.get("role") == "assistant":
        yield _assistant(blocks)
        return
    rest = []
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"),
                   "content": _blocks(block.get("content")),
                   "is_error": block.get("is_error") is True}  # fmt: skip
        else:
            rest.append(block)
    if rest:
        yield {"role": message.get("role"), "content": rest}


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [dict(block) for block in content or () if isinstance(block, Mapping)]


def _assistant(blocks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    text, calls = [], []
    for block in blocks:
        if block.get("type") == "text":
            text.append(str(block.get("text") or ""))
        elif block.get("type") == "tool_use":
            raw = block.get("input")
            args = raw if isinstance(raw, str) else as_json(raw or {})
            name = str(block.get("name") or "")
            calls.append(SaidCall(str(block.get("id") or ""), name, args))
    return message_of("".join(text), calls)


def _reply(data: Mapping[str, Any]) -> dict[str, Any]:
    if data.get("type") == "error":
        return {"error": data.get("error")}
    finish, sequence = data.get("stop_reason"), data.get("stop_sequence")
    if finish == "stop_sequence" and sequence and isinstance(sequence, str):
        finish = finish_by_sequence(sequence)
    rest = {"id": data.get("id"), "model": data.get("model"), "usage": _usage(data.get("usage"))}
    blocks = _blocks(data.get("content"))
    return completion(_assistant(blocks), _FINISH.get(str(finish), finish), rest, _left_in(blocks))


def _left_in(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a recording has no place for."""
    kinds = []
    for block in blocks:
        kind = str(block.get("type"))
        if kind == "tool_use":
            kinds.append("call")
        elif kind != "text":
            yield REASONING if kind in ("thinking", "redacted_thinking") else kind
        elif block.get("text"):
            kinds.append("text")
            yield from ["citations"] if block.get("citations") else []
    yield from order_in(kinds)


def _usage(usage: Any) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping) or not isinstance(usage.get("input_tokens"), int):
        return None
    read = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    return {
        "prompt_tokens": usage["input_tokens"] + read + written,
        "completion_tokens": usage.get("output_tokens") or 0,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
    }


def _streamed(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    error = None
    for each in events:
        kind, index = each.get("type"), each.get("index") or 0
        if kind == "message_start":
            found = dict(each.get("message") or {})
            usage.update(found.get("usage") or {})
        elif kind == "content_block_start":
            blocks[index] = {**(each.get("content_block") or {})}
            if blocks[index].get("type") == "tool_use":
                blocks[index]["input"] = ""
        elif kind == "content_block_delta":
            _add(blocks.setdefault(index, {"type": "text"}), each.get("delta") or {})
        elif kind == "message_delta":
            found.update(each.get("delta") or {})
            counted = each.get("usage") or {}
            usage.update({name: n for name, n in counted.items() if n is not None})
        elif kind == "error":
            error = each.get("error")
    content = [blocks[n] for n in sorted(blocks)]
    made = _reply({**found, "content": content, "usage": usage})
    return {**made, **({"error": error} if error else {})}


def _add(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if delta.get("type") == "text_delta":
        block["text"] = (block.get("text") or "") + str(delta.get("text") or "")
    elif delta.get("type") == "input_json_delta":
        block["input"] = (block.get("input") or "") + str(delta.get("partial_json") or "")
    elif delta.get("type") == "citations_delta":
        block["citations"] = [delta.get("citation")]


def _counts(usage: Tokens | None) -> dict[str, int]:
    # The format has no word for "unknown".
    usage = usage or Tokens()
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output + usage.reasoning,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    }


def _message(said: Said, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"msg_{said.id}", "type": "message", "role": "assistant", "model": said.model,
        "content": content, "stop_reason": None, "stop_sequence": None,
        "usage": _counts(said.usage),
    }  # fmt: skip


def _stop(said: Said) -> dict[str, str | None]:
    reason = "stop_sequence" if said.stop_sequence else _STOP.get(said.finish, said.finish)
    return {"stop_reason": reason, "stop_sequence": said.stop_sequence}


def _body(said: Said) -> dict[str, Any]:
    if said.error is not None:
        return _failure(500, said.error)
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    content += [{"type": "tool_use", "id": c.id, "name": c.tool, "input": _object(c.arguments)}
                for c in said.calls]  # fmt: skip
    return {**_message(said, content), **_stop(said)}


def _object(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _events(said: Said, request: Mapping[str, Any]) -> Iterator[bytes]:
    def made(kind: str, **data: Any) -> bytes:
        return event({"type": kind, **data}, kind)

    yield made("message_start", message=_message(said, []))
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if said.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": said.text}))
    blocks += [({"type": "tool_use", "id": c.id, "name": c.tool, "input": {}},
                {"type": "input_json_delta", "partial_json": c.arguments})
               for c in said.calls]  # fmt: skip
    for index, (start, delta) in enumerate(blocks):
        yield made("content_block_start", index=index, content_block=start)
        yield made("content_block_delta", index=index, delta=delta)
        yield made("content_block_stop", index=index)
    if said.error is not None:
        yield event(_failure(500, said.error), "error")
        return
    yield made("message_delta", delta=_stop(said), usage=_counts(said.usage))
    yield made("message_stop")


def _failure(status: int, words: str) -> dict[str, Any]:
    message, marks = error_from(words)
    kind = "api_error" if status >= 500 else "invalid_request_error"
    return {"type": "error", "error": {"type": marks.get("type", kind), "message": message}}


MESSAGES = Format(
    name="Anthropic messages",
    route="/v1/messages",
    request=_request,
    reply=_reply,
    streamed=_streamed,
    last=begins("message_stop", "error"),
    body=_body,
    events=_events,
    failure=_failure,
)
