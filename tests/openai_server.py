"""A tiny scripted server that speaks the OpenAI protocol, for tests that have to be exact."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai

from tests.other_formats import events, messages, responses

Script = Callable[[dict[str, Any]], Mapping[str, Any]]
KEY = "my-very-own-key-of-no-known-shape"


def call(name: str, arguments: Any = None, call_id: str = "call_1") -> dict[str, Any]:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": raw}}


def say(text: str = "", *calls: dict[str, Any], **extra: Any) -> dict[str, Any]:
    """One reply of a script."""
    return {"text": text, "calls": list(calls), **extra}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        self.server.paths.append(self.path)
        found = self.server.script(body)
        route = self.path.partition("?")[0].rpartition("/")[2]
        made = {"responses": responses, "messages": messages}.get(route)
        if made is not None and "status" not in found:
            whole = made(body, found, len(self.server.requests))
            if body.get("stream"):
                self._events(events(whole))
            else:
                self._send(200, whole)
        elif "status" in found:
            self._send(found["status"], {"error": {"message": found["text"]}})
        elif body.get("stream"):
            self._stream(body, found)
        else:
            data = found.get("raw") or _completion(body, found)
            self._send(200, data, found.get("gzip", False), found.get("short", 0))

    def _send(self, status: int, data: Any, zipped: bool = False, short: int = 0) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        if zipped:
            raw = gzip.compress(raw)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) - short])
        self.close_connection = short > 0

    def _stream(self, body: dict[str, Any], found: Mapping[str, Any]) -> None:
        lines = [f"data: {json.dumps(data)}\n\n".encode() for data in _chunks(body, found)]
        self._events([*lines, *([] if found.get("torn") else [b"data: [DONE]\n\n"])])

    def _events(self, parts: Iterable[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        # Whoever reads may go away.
        with suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                self.wfile.write(part)
                self.wfile.flush()
                self.server.paused()


class Server(ThreadingHTTPServer):
    """Answers each request by its script and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.clients: list[openai.OpenAI] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        #: Called after each event of a stream.
        self.paused: Callable[[], object] = lambda: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def client(self, **options: Any) -> openai.OpenAI:
        made = openai.OpenAI(**{"base_url": self.url, "api_key": KEY, "max_retries": 0, **options})
        self.clients.append(made)
        return made

    def async_client(self, **options: Any) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            **{"base_url": self.url, "api_key": KEY, "max_retries": 0, **options}
        )


@contextmanager
def serving(*replies: Mapping[str, Any], script: Script | None = None) -> Iterator[Server]:
    """A server that gives the replies in order, or those of a script."""
    left = list(replies)
    server = Server(script or (lambda _: left.pop(0)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        for client in server.clients:
            client.close()
        server.shutdown()
        thread.join()
        server.server_close()


def _usage(found: Mapping[str, Any]) -> dict[str, Any]:
    return found.get("usage") or {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }  # fmt: skip


def _finish(found: Mapping[str, Any]) -> str:
    return found.get("finish") or ("tool_calls" if found["calls"] else "stop")


def _completion(body: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": found["text"] or None}
    if found["calls"]:
        message["tool_calls"] = found["calls"]
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(found)}],
        "usage": _usage(found),
    }  # fmt: skip


def _chunks(body: dict[str, Any], found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for at in range(0, len(found["text"]), 7):
        yield chunk({"content": found["text"][at : at + 7]})
    for index, each in enumerate(found["calls"]):
        function = each["function"]
        yield chunk({"tool_calls": [{**each, "index": index, "function": {
            "name": function["name"], "arguments": ""}}]})  # fmt: skip
        for at in range(0, len(function["arguments"]), 5):
            part = {"arguments": function["arguments"][at : at + 5]}
            yield chunk({"tool_calls": [{"index": index, "function": part}]})
    if found.get("torn"):
        yield {"error": {"message": "the engine went away", "code": 500}}
        return
    yield chunk({}, _finish(found))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**base, "choices": [], "usage": _usage(found)}
