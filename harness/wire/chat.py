"""Chat completions, ``POST .../chat/completions``: what all other ways are read as."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.openai_llm import Answer, calls_from, usage_from
from harness.scenario import Tokens
from harness.trace import Reply
from harness.wire.form import Format, Said, as_json, event, message_of


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


def completion(
    message: Mapping[str, Any], finish: str | None, rest: Mapping[str, Any]
) -> dict[str, Any]:
    """A chat completion of one choice.

    Args:
        message: What the assistant said.
        finish: Why it ended.
        rest: ``id``, ``model``, ``usage``, ``error``; what is empty is left out.
    """
    found = {key: value for key, value in rest.items() if value}
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


def _streamed(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    text: list[str] = []
    calls: dict[int, dict[str, str]] = {}
    finish = None
    for each in events:
        found.update({k: each[k] for k in ("id", "model", "usage", "error") if each.get(k)})
        for choice in each.get("choices") or ():
            if choice.get("index"):
                continue
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            text.append(delta.get("content") or delta.get("refusal") or "")
            for part in delta.get("tool_calls") or ():
                _add(calls, part)
    return completion(message_of("".join(text), [calls[n] for n in sorted(calls)]), finish, found)


def _add(calls: dict[int, dict[str, str]], part: Mapping[str, Any]) -> None:
    call = calls.setdefault(part.get("index") or 0, {"id": "", "name": "", "arguments": ""})
    function = part.get("function") or {}
    call["id"] = part.get("id") or call["id"]
    call["name"] += function.get("name") or ""
    call["arguments"] += function.get("arguments") or ""


def _body(said: Said) -> dict[str, Any]:
    if said.error is not None:
        return failure(500, said.error)
    calls = [{"id": c.id, "name": c.tool, "arguments": c.arguments} for c in said.calls]
    message = message_of(said.text, calls)
    message["content"] = said.text or (None if calls else "")
    rest = {"id": f"chatcmpl-{said.id}", "object": "chat.completion", "model": said.model,
            "usage": usage_as(said.usage)}  # fmt: skip
    return {**completion(message, said.finish, rest), "created": 0}


def _events(said: Said, request: Mapping[str, Any]) -> Iterator[bytes]:
    base = {"id": f"chatcmpl-{said.id}", "object": "chat.completion.chunk", "created": 0,
            "model": said.model}  # fmt: skip

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    if said.text:
        yield chunk({"content": said.text})
    for index, call in enumerate(said.calls):
        function = {"name": call.tool, "arguments": call.arguments}
        part = {"index": index, "id": call.id, "type": "function", "function": function}
        yield chunk({"tool_calls": [part]})
    if said.error is not None:
        yield event(failure(500, said.error))
        return
    yield chunk({}, said.finish)
    if said.usage and (request.get("stream_options") or {}).get("include_usage"):
        yield event({**base, "choices": [], "usage": usage_as(said.usage)})
    yield b"data: [DONE]\n\n"


def failure(status: int, message: str) -> dict[str, Any]:
    """The body of an error, as OpenAI writes it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


CHAT = Format(
    name="chat completions",
    route="/chat/completions",
    request=dict,
    reply=dict,
    streamed=_streamed,
    last=re.compile(rb"(?m)^data: ?\[DONE\]"),
    body=_body,
    events=_events,
    failure=failure,
)
