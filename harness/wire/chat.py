"""Chat completions, ``POST .../chat/completions``: what all other ways are read as."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.openai_llm import Answer, calls_from, usage_from
from harness.scenario import Tokens
from harness.trace import Reply
from harness.wire.errors import error_from
from harness.wire.form import (
    REASONING,
    Format,
    Said,
    SaidCall,
    as_json,
    call_of,
    event,
    finish_with_refusal,
    message_of,
)

#: Keys of a message that a recording keeps, or that say nothing.
_KEPT = frozenset({"role", "name", "content", "refusal", "tool_calls", "function_call"})
_CHOICES = "choices beyond the first"
_REFUSAL = "refusal beside text"
#: A call of a stream in the making, with the index that the server gave it.
_Indexed = tuple[int, SaidCall]


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
    finish = choice.get("finish_reason")
    if message.get("refusal") and not message.get("content"):
        finish = finish_with_refusal(finish)
    if error is None and not choice:
        error = "the server sent no choice"
    reply = Reply(
        role="actor",
        text=text if isinstance(text, str) else as_json(text),
        model=str(data.get("model") or model) or None,
        usage=usage_from(data.get("usage")),
        finish_reason=finish,
        error=error,
    )
    return Answer(reply, calls_from(message), None if error else {**message, "role": "assistant"})


def completion(
    message: Mapping[str, Any],
    finish: str | None,
    rest: Mapping[str, Any],
    left_out: Iterable[str] = (),
) -> dict[str, Any]:
    """A chat completion of one choice.

    Args:
        message: What the assistant said.
        finish: Why it ended.
        rest: ``id``, ``model``, ``usage``, ``error``; what is empty is left out.
        left_out: What the reply held that a recording has no place for.
    """
    named = {"left_out": sorted(set(left_out))}
    found = {key: value for key, value in {**rest, **named}.items() if value}
    return {**found, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def usage_as(usage: Tokens | None) -> dict[str, Any] | None:
    """Token counts as chat completions give them; the way back of ``usage_from``."""
    if usage is None:
        return None
    prompt = usage.input + usage.cache_read + usage.cache_write
    output = usage.output + usage.reasoning
    return {
        "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read,
                                  "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }  # fmt: skip


def _request(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request whose ``functions``, as they were called once, are tools."""
    messages = [_with_calls(m) if isinstance(m, Mapping) else m for m in body.get("messages") or ()]
    functions = [{"type": "function", "function": each} for each in body.get("functions") or ()]
    return {**body, "messages": messages, "tools": body.get("tools") or functions}


def _with_calls(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose function call or result is a tool's; the older ones have no ids."""
    if message.get("role") == "function":
        return {"role": "tool", "tool_call_id": "", "content": message.get("content")}
    function = message.get("function_call")
    if not isinstance(function, Mapping) or message.get("tool_calls"):
        return dict(message)
    rest = {key: value for key, value in message.items() if key != "function_call"}
    return {**rest, "tool_calls": [{"id": "", "type": "function", "function": function}]}


def _reply(data: Mapping[str, Any]) -> dict[str, Any]:
    first, *others = data.get("choices") or [None]
    if first is None:
        return dict(data)
    message = first.get("message") or {}
    left = [*_left_in(first, message), *([_CHOICES] if others else ())]
    made = completion(_with_calls(message), first.get("finish_reason"), {}, left)
    return {**data, **made}


def _left_in(choice: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[str]:
    """What a recording has no place for, in a whole reply or in a part of one."""
    for key in (key for key, value in message.items() if value and key not in _KEPT):
        yield REASONING if key.startswith("reasoning") else key
    if isinstance(message.get("content"), list):
        yield "content in parts"
    if message.get("content") and message.get("refusal"):
        yield _REFUSAL
    if choice.get("logprobs"):
        yield "logprobs"


def _streamed(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    said: dict[str, str] = {"content": "", "refusal": ""}
    calls: list[_Indexed] = []
    left: list[str] = []
    finish = None
    for each in events:
        found.update({k: each[k] for k in ("id", "model", "usage", "error") if each.get(k)})
        for choice in each.get("choices") or ():
            if choice.get("index"):
                left.append(_CHOICES)
                continue
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            left += _left_in(choice, delta)
            for key in said:
                said[key] += delta.get(key) or ""
            for part in _with_calls(delta).get("tool_calls") or ():
                _add(calls, part)
    refused = bool(said["refusal"]) and not said["content"]
    if said["refusal"] and not refused:
        left.append(_REFUSAL)
    text = said["refusal"] if refused else said["content"]
    # As the server numbers them; those without a number where they came.
    made = [call for _, call in sorted(calls, key=lambda each: each[0])]
    message = message_of(text, made, refused=refused)
    return completion(message, finish, found, left)


def _add(calls: list[_Indexed], part: Mapping[str, Any]) -> None:
    """Take in a part of a call: of one that is there, or of a new one."""
    inner = part.get("function") or part.get("custom") or {}
    at = _place(calls, part.get("index"), part.get("id"), named=bool(inner.get("name")))
    if at == len(calls):
        last = calls[-1][0] if calls else 0
        calls.append((last if part.get("index") is None else part["index"], SaidCall("", "", "")))
    index, call = calls[at]
    made = SaidCall(
        part.get("id") or call.id,
        call.tool + (inner.get("name") or ""),
        call.arguments + (inner.get("arguments") or inner.get("input") or ""),
        call.custom or part.get("type") == "custom" or "custom" in part,
    )
    calls[at] = (index, made)


def _place(calls: list[_Indexed], index: int | None, call_id: str | None, *, named: bool) -> int:
    """Where the call stands of which a part came; behind the last where it is a new one.

    Some servers give all calls one index, or none: then the id tells. Others give each part another
    id: a call begins only where its tool is named.
    """
    held = [at for at, (each, _) in enumerate(calls) if index in (None, each)]
    known = [at for at in held if call_id and calls[at][1].id == call_id]
    if known:
        return known[-1]
    if not held or (call_id and named and calls[held[-1]][1].id):
        return len(calls)
    return held[-1]


def _function_call(said: Said) -> dict[str, Any] | None:
    """The one call of a reply, where it is a function call as they were once."""
    if said.finish != "function_call" or not said.calls:
        return None
    return {"name": said.calls[0].tool, "arguments": said.calls[0].arguments}


def _body(said: Said) -> dict[str, Any]:
    if said.error is not None:
        return failure(500, said.error)
    function = _function_call(said)
    message = message_of(said.text, () if function else said.calls, refused=said.refused)
    if not said.refused:
        message["content"] = said.text or (None if said.calls else "")
    if function:
        message["function_call"] = function
    rest = {"id": f"chatcmpl-{said.id}", "object": "chat.completion", "model": said.model,
            "usage": usage_as(said.usage)}  # fmt: skip
    return {**completion(message, said.finish, rest), "created": 0}


def _events(said: Said, request: Mapping[str, Any]) -> Iterator[bytes]:
    base = {"id": f"chatcmpl-{said.id}", "object": "chat.completion.chunk", "created": 0,
            "model": said.model}  # fmt: skip

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": None if said.refused else ""})
    if said.text:
        yield chunk({"refusal" if said.refused else "content": said.text})
    function = _function_call(said)
    if function:
        yield chunk({"function_call": function})
    for index, call in enumerate(() if function else said.calls):
        yield chunk({"tool_calls": [{"index": index, **call_of(call)}]})
    if said.error is not None:
        yield event(failure(500, said.error))
        return
    yield chunk({}, said.finish)
    if said.usage and (request.get("stream_options") or {}).get("include_usage"):
        yield event({**base, "choices": [], "usage": usage_as(said.usage)})
    yield b"data: [DONE]\n\n"


def failure(status: int, words: str) -> dict[str, Any]:
    """The body of an error, as OpenAI writes it.

    Args:
        status: Tells the type where the words do not.
        words: As ``error_words`` makes them.
    """
    message, marks = error_from(words)
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None, **marks}}


CHAT = Format(
    name="chat completions",
    route="/chat/completions",
    request=_request,
    reply=_reply,
    streamed=_streamed,
    last=re.compile(rb"(?m)^data: ?\[DONE\]"),
    body=_body,
    events=_events,
    failure=failure,
)
