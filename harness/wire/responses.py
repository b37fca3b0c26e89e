"""OpenAI's Responses, ``POST .../responses``, read as chat completions.

What the server keeps by itself is known by ``previous_response_id``. Reasoning, calls of tools that
have no name (shell, computer ...) and what tools of the server did are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.wire.chat import completion, failure
from harness.wire.form import REASONING, Format, SaidCall, as_json, begins, message_of, order_in
from harness.wire.responses_said import CALLS, CUSTOM, CUT, body_of, events_of

#: Events that bring a part of an item: the item's type, and where the part belongs.
_PARTS = {
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.custom_tool_call_input.delta": (CUSTOM, "input"),
}
#: The same of what an item says: the type of its content, and where the part belongs.
_TEXTS = {
    "response.output_text.delta": ("output_text", "text"),
    "response.refusal.delta": ("refusal", "refusal"),
}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


def _request(body: Mapping[str, Any]) -> dict[str, Any]:
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or ()
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    turn: list[Mapping[str, Any]] = []
    for item in (*(i for i in items if isinstance(i, Mapping)), {}):
        if item.get("role") == "assistant" or item.get("type") in (*CALLS, "reasoning"):
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
    said, calls = [], []
    for item in items:
        kind = str(item.get("type"))
        if kind in CALLS:
            calls.append(SaidCall(str(item.get("call_id") or ""), str(item.get("name") or ""),
                                  str(item.get(CALLS[kind]) or ""), kind == CUSTOM))  # fmt: skip
        elif kind != "reasoning":
            said.append(item.get("content"))
    refused = bool(said) and all(map(_refuses, said))
    return message_of("".join(map(_text, said)), calls, refused=refused)


def _refuses(content: Any) -> bool:
    kinds = [part.get("type") for part in _parts_of(content)]
    return bool(kinds) and set(kinds) == {"refusal"}


def _parts_of(content: Any) -> list[Mapping[str, Any]]:
    found = content if isinstance(content, list) else []
    return [part for part in found if isinstance(part, Mapping)]


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    if not isinstance(content, list):
        return as_json(content)
    return "\n".join(str(p.get("text") or p.get("refusal") or f"[{p.get('type', 'part')}]")
                     for p in _parts_of(content))  # fmt: skip


def _reply(data: Mapping[str, Any]) -> dict[str, Any]:
    items = [item for item in data.get("output") or () if isinstance(item, Mapping)]
    said = _assistant([i for i in items if i.get("type") in (*CALLS, "message")])
    cut = (data.get("incomplete_details") or {}).get("reason")
    finish = "tool_calls" if said.get("tool_calls") else "stop"
    if data.get("status") == "incomplete":
        finish = CUT.get(str(cut), str(cut))
    rest = {"id": data.get("id"), "model": data.get("model"), "usage": _usage(data.get("usage")),
            "error": data.get("error")}  # fmt: skip
    if "output" not in data:
        return {key: value for key, value in rest.items() if value}
    return completion(said, finish, rest, _left_in(items))


def _left_in(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a recording has no place for."""
    kinds = []
    for item in items:
        kind = str(item.get("type"))
        if kind in CALLS:
            kinds.append("call")
        elif kind != "message":
            yield REASONING if kind == "reasoning" else kind
        for part in _parts_of(item.get("content")) if kind == "message" else ():
            kinds.append("text")
            yield from (name for name in ("annotations", "logprobs") if part.get(name))
    yield from order_in(kinds)


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
        elif kind in _TEXTS:
            _add(items.setdefault(at, {"type": "message"}), *_TEXTS[kind], each.get("delta"))
        elif kind in _PARTS:
            call = items.setdefault(at, {"type": _PARTS[kind][0]})
            key = _PARTS[kind][1]
            call[key] = (call.get(key) or "") + str(each.get("delta") or "")
        elif kind == "error":
            error = each.get("error") or {k: each.get(k) for k in ("message", "code", "param")}
    if not ended or not response.get("output"):
        response["output"] = [items[n] for n in sorted(items)]
    made = _reply({**response, "error": error or response.get("error")})
    if not ended:
        made["choices"][0]["finish_reason"] = None
    return made


def _add(item: dict[str, Any], kind: str, key: str, text: Any) -> None:
    content = item.get("content") or [{"type": kind, key: ""}]
    first = {**content[0], key: (content[0].get(key) or "") + str(text or "")}
    item["content"] = [first, *content[1:]]


RESPONSES = Format(
    name="responses",
    route="/responses",
    request=_request,
    reply=_reply,
    streamed=_streamed,
    last=begins(*_ENDS, "error"),
    body=body_of,
    events=events_of,
    failure=failure,
)
