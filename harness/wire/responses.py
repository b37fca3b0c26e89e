"""OpenAI's Responses, ``POST .../responses``, read as chat completions and written again.

What the server keeps by itself is known by ``previous_response_id``. Reasoning and what tools of
the server did are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.scenario import Tokens
from harness.wire.chat import completion, failure
from harness.wire.form import Format, Said, SaidCall, as_json, begins, event, message_of

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}


def _request(body: Mapping[str, Any]) -> dict[str, Any]:
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or ()
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    turn: list[Mapping[str, Any]] = []
    for item in (*(i for i in items if isinstance(i, Mapping)), {}):
        if item.get("role") == "assistant" or item.get("type") in (*_CALLS, "reasoning"):
            turn.append(item)
            continue
        if turn:
            # A reply is several items here and one message there.
            messages.append(_assistant(turn))
            turn = []
        if item.get("type") in _RESULTS:
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"),
                             "content": _text(item.get("output"))})  # fmt: skip
        elif item.get("role"):
            messages.append({"role": item["role"], "content": _text(item.get("content"))})
    tools = [{"name": t.get("name") or t.get("type")} for t in body.get("tools") or ()
             if isinstance(t, Mapping)]  # fmt: skip
    return {**body, "messages": messages, "tools": tools,
            "previous": body.get("previous_response_id")}  # fmt: skip


def _assistant(items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    text, calls = [], []
    for item in items:
        argument = _CALLS.get(str(item.get("type")))
        if argument is not None:
            calls.append({"id": str(item.get("call_id") or ""), "name": str(item.get("name") or ""),
                          "arguments": str(item.get(argument) or "")})  # fmt: skip
        elif item.get("type") != "reasoning":
            text.append(_text(item.get("content")))
    return message_of("".join(text), calls)


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    if not isinstance(content, list):
        return as_json(content)
    parts = (p for p in content if isinstance(p, Mapping))
    return "\n".join(str(p.get("text") or p.get("refusal") or f"[{p.get('type', 'part')}]")
                     for p in parts)  # fmt: skip


def _reply(data: Mapping[str, Any]) -> dict[str, Any]:
    items = [item for item in data.get("output") or () if isinstance(item, Mapping)]
    said = _assistant([i for i in items if i.get("type") in (*_CALLS, "message")])
    cut = (data.get("incomplete_details") or {}).get("reason")
    finish = "tool_calls" if said.get("tool_calls") else "stop"
    if data.get("status") == "incomplete":
        finish = _CUT.get(str(cut), str(cut))
    rest = {"id": data.get("id"), "model": data.get("model"), "usage": _usage(data.get("usage")),
            "error": data.get("error")}  # fmt: skip
    if "output" not in data:
        return {key: value for key, value in rest.items() if value}
    return completion(said, finish, rest)


def _usage(usage: Any) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping):
        return None
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }


def _streamed(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The response that the last event brings; of one that tore, what had come."""
    response: dict[str, Any] = {}
    items: dict[int, dict[str, Any]] = {}
    error, ended = None, False
    for each in events:
        kind, at = str(each.get("type")), each.get("output_index") or 0
        if isinstance(each.get("response"), Mapping):
            response, ended = dict(each["response"]), kind in _ENDS
        elif kind in ("response.output_item.added", "response.output_item.done"):
            items[at] = dict(each.get("item") or {})
        elif kind == "response.output_text.delta":
            _add(items.setdefault(at, {"type": "message"}), str(each.get("delta") or ""))
        elif kind == "response.function_call_arguments.delta":
            call = items.setdefault(at, {"type": "function_call"})
            call["arguments"] = (call.get("arguments") or "") + str(each.get("delta") or "")
        elif kind == "error":
            error = each.get("error") or {"message": each.get("message")}
    if not ended or not response.get("output"):
        response["output"] = [items[n] for n in sorted(items)]
    made = _reply({**response, "error": error or response.get("error")})
    if not ended:
        made["choices"][0]["finish_reason"] = None
    return made


def _add(item: dict[str, Any], text: str) -> None:
    content = item.get("content") or [{"type": "output_text", "text": ""}]
    first = {**content[0], "text": (content[0].get("text") or "") + text}
    item["content"] = [first, *content[1:]]


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
    cut = next((name for name, finish in _CUT.items() if finish == said.finish), None)
    if status == "completed" and cut:
        status = "incomplete"
    error = {"code": "server_error", "message": said.error} if said.error is not None else None
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
        part = {"type": "output_text", "text": said.text, "annotations": []}
        items.append({"type": "message", "id": f"msg_{said.id}", "role": "assistant",
                      "status": "completed", "content": [part]})  # fmt: skip
    return items + [_call(call) for call in said.calls]


def _call(call: SaidCall) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.tool,
            "arguments": call.arguments, "status": "completed"}  # fmt: skip


def _body(said: Said) -> dict[str, Any]:
    return _response(said, _items(said), "completed" if said.error is None else "failed")


def _events(said: Said, request: Mapping[str, Any]) -> Iterator[bytes]:
    number = 0

    def made(kind: str, **data: Any) -> bytes:
        nonlocal number
        number += 1
        return event({"type": kind, "sequence_number": number - 1, **data}, kind)

    yield made("response.created", response=_response(said, [], "in_progress"))
    items = _items(said)
    for at, item in enumerate(items):
        place = {"item_id": item["id"], "output_index": at}
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        begun = {**item, "status": "in_progress", **empty}
        yield made("response.output_item.added", output_index=at, item=begun)
        if item["type"] == "message":
            part = item["content"][0]
            place["content_index"] = 0
            yield made("response.content_part.added", **place, part={**part, "text": ""})
            yield made("response.output_text.delta", **place, delta=part["text"], logprobs=[])
            yield made("response.output_text.done", **place, text=part["text"], logprobs=[])
            yield made("response.content_part.done", **place, part=part)
        else:
            args = item["arguments"]
            yield made("response.function_call_arguments.delta", **place, delta=args)
            yield made("response.function_call_arguments.done", **place, arguments=args,
                       name=item["name"])  # fmt: skip
        yield made("response.output_item.done", output_index=at, item=item)
    whole = _body(said)
    yield made(f"response.{whole['status']}", response=whole)


RESPONSES = Format(
    name="responses",
    route="/responses",
    request=_request,
    reply=_reply,
    streamed=_streamed,
    last=begins(*_ENDS, "error"),
    body=_body,
    events=_events,
    failure=failure,
)
