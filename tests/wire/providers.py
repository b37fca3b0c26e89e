"""Bodies as the providers write them, a transport that gives them, and what is left to compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from harness import load
from harness.record import Recorder, RecordingTransport
from harness.scenario import Step

URL = "http://127.0.0.1:9/v1"
CHAT, RESPONSES, MESSAGES = "chat/completions", "responses", "messages"
#: What is another one at each reply, or is not what a reply says.
_PASSING = {"id", "created", "created_at", "call_id", "usage", "annotations"}


def chat(message: Mapping[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{**choice, **more}]}  # fmt: skip


def responses(*output: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
            "model": "m", "output": list(output)}  # fmt: skip


def says(*parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
            "content": list(parts)}  # fmt: skip


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": [], **more}


def messages(
    *content: Mapping[str, Any], stop: str = "end_turn", sequence: str | None = None
) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": list(content), "stop_reason": stop, "stop_sequence": sequence,
            "usage": {"input_tokens": 10, "output_tokens": 5}}  # fmt: skip


@contextmanager
def through(recorder: Recorder, body: Any = None, *, status: int = 200) -> Iterator[httpx2.Client]:
    """A client of a provider that always gives the same body: JSON, or events as bytes."""
    kind = "text/event-stream" if isinstance(body, bytes) else "application/json"
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    def give(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": kind}, content=raw)

    with httpx2.Client(transport=RecordingTransport(recorder, httpx2.MockTransport(give))) as http:
        yield http


def ask(http: httpx2.Client, route: str, **more: Any) -> httpx2.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "input": "Go.", **more}
    return http.post(f"{URL}/{route}", json=body)


def record(
    path: Path, route: str, body: Any, *, status: int = 200, **more: Any
) -> tuple[Step, Recorder]:
    """Record one reply; the step that it became."""
    recorder = Recorder(path)
    with through(recorder, body, status=status) as http:
        ask(http, route, **more)
    (found,) = load([path])
    return found.steps[0], recorder


def replay(path: Path, route: str, **more: Any) -> httpx2.Response:
    """The answer of a recording."""
    recorder = Recorder(path, mode="none")
    with through(recorder) as http:
        answer = ask(http, route, **more)
    assert (recorder.tally.answered, recorder.tally.drifted) == (1, [])
    return answer


def events(*data: Mapping[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in data)


def deltas(*data: Mapping[str, Any], finish: str = "stop") -> bytes:
    """A streamed chat completion."""
    choices = [*({"index": 0, "delta": each, "finish_reason": None} for each in data),
               {"index": 0, "delta": {}, "finish_reason": finish}]  # fmt: skip
    made = ({"id": "c1", "model": "m", "choices": [choice]} for choice in choices)
    return events(*made) + b"data: [DONE]\n\n"


def core(value: Any) -> Any:
    """What a reply says: without ids, times and the like."""
    if isinstance(value, Mapping):
        return {key: core(item) for key, item in value.items() if key not in _PASSING}
    return [core(item) for item in value] if isinstance(value, list) else value
