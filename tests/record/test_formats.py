"""Every way of asking a model gives the same recording, and is answered again from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness.record import Recorder, RecordingTransport
from tests.openai_server import KEY, Server, call, say, serving
from tests.record.agents import REPLIES, agent, check_steps, recorded

TOOL = {"name": "look", "parameters": {"type": "object"}}
Heard = list[tuple[str, list[tuple[str, Any]]]]
Agent = Callable[[httpx2.Client, str], Heard]


def chat(http: httpx2.Client, url: str) -> Heard:
    client = openai.OpenAI(base_url=url, api_key=KEY, http_client=http, max_retries=0)
    said = [m for m in agent(client) if m["role"] == "assistant"]
    return [
        (m.get("content") or "", [_call(c["function"]) for c in m.get("tool_calls") or ()])
        for m in said
    ]


def _call(function: dict[str, Any]) -> tuple[str, Any]:
    return function["name"], json.loads(function["arguments"])


def responses(http: httpx2.Client, url: str, *, stream: bool, kept: bool) -> Heard:
    """A loop on Responses: the history goes along, or is kept by the server."""
    client = openai.OpenAI(base_url=url, api_key=KEY, http_client=http, max_retries=0)
    talk: list[Any] = [{"role": "user", "content": "Open the door."}]
    heard: Heard = []
    previous = None
    for number in range(3):
        made: Any = client.responses.create(
            model="gpt-4o-mini", input=talk, instructions=f"Work {number}.", stream=stream,
            tools=[{"type": "function", **TOOL}], previous_response_id=previous,
        )  # type: ignore[call-overload]  # fmt: skip
        if stream:
            *_, last = made
            made = last.response
        calls = [item for item in made.output if item.type == "function_call"]
        heard.append((made.output_text, [(c.name, json.loads(c.arguments)) for c in calls]))
        results = [{"type": "function_call_output", "call_id": c.call_id,
                    "output": f"closed {number}"} for c in calls]  # fmt: skip
        if kept:
            talk, previous = results, made.id
        else:
            talk = [*talk, *(i.model_dump(exclude_none=True) for i in made.output), *results]
    return heard


def messages(http: httpx2.Client, url: str, *, stream: bool) -> Heard:
    talk: list[Any] = [{"role": "user", "content": "Open the door."}]
    heard: Heard = []
    for number in range(3):
        body = {"model": "gpt-4o-mini", "system": "Work.", "messages": talk, "max_tokens": 99,
                "tools": [{"name": "look", "input_schema": {}}], "stream": stream}  # fmt: skip
        answer = http.post(f"{url}/messages", json=body, headers={"x-api-key": KEY})
        content = _content(answer.text) if stream else answer.json()["content"]
        calls = [block for block in content if block["type"] == "tool_use"]
        text = "".join(block["text"] for block in content if block["type"] == "text")
        heard.append((text, [(c["name"], c["input"]) for c in calls]))
        part = {"type": "text", "text": f"closed {number}"}
        results = [{"type": "tool_result", "tool_use_id": c["id"], "content": [part]}
                   for c in calls]  # fmt: skip
        talk = [*talk, {"role": "assistant", "content": content},
                {"role": "user", "content": results}]  # fmt: skip
    return heard


def _content(body: str) -> list[dict[str, Any]]:
    """The blocks of a stream, as Anthropic's own client puts them together."""
    blocks: list[dict[str, Any]] = []
    for line in body.splitlines():
        data = json.loads(line[6:]) if line.startswith("data: ") else {}
        if data.get("type") == "content_block_start":
            blocks.append({**data["content_block"], "json": ""})
        delta = data.get("delta") or {}
        if delta.get("type") == "text_delta":
            blocks[-1]["text"] += delta["text"]
        if delta.get("type") == "input_json_delta":
            blocks[-1]["json"] += delta["partial_json"]
    for block in blocks:
        raw = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(raw)
    return blocks


AGENTS: dict[str, Agent] = {
    "chat": chat,
    "responses": lambda http, url: responses(http, url, stream=False, kept=False),
    "responses, streamed": lambda http, url: responses(http, url, stream=True, kept=False),
    "responses, kept": lambda http, url: responses(http, url, stream=False, kept=True),
    "responses, kept and streamed": lambda http, url: responses(http, url, stream=True, kept=True),
    "messages": lambda http, url: messages(http, url, stream=False),
    "messages, streamed": lambda http, url: messages(http, url, stream=True),
}
HEARD: Heard = [
    ("I look.", [("look", {"at": "door"})]),
    ("", [("look", {"at": "key"}), ("look", {"at": "mat"})]),
    ("It is open.", []),
]


@contextmanager
def through(recorder: Recorder) -> Iterator[httpx2.Client]:
    with httpx2.Client(transport=RecordingTransport(recorder)) as client:
        yield client


@pytest.mark.parametrize("name", AGENTS)
def test_recorded_and_answered_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    with serving(*REPLIES) as server, through(Recorder(path)) as http:
        assert AGENTS[name](http, server.url) == HEARD
    (found,) = recorded(path)
    check_steps(found)
    usage = found.steps[0].reply.usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.output + usage.reasoning) == (36, 64, 20)
    before = path.read_bytes()

    replayer = Recorder(path, mode="none")
    with through(replayer) as http:
        assert AGENTS[name](http, "http://127.0.0.1:9/v1") == HEARD
    assert (replayer.tally.answered, replayer.tally.drifted, replayer.tally.missed) == (3, [], [])
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", AGENTS)
def test_any_way_answers_what_was_recorded_another_way(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    with serving(*REPLIES) as server, through(Recorder(path)) as http:
        chat(http, server.url)
    with through(Recorder(path, mode="none")) as http:
        assert AGENTS[name](http, "http://127.0.0.1:9/v1") == HEARD


@pytest.mark.parametrize("route", ["chat/completions", "responses", "messages"])
def test_errors_of_every_way(tmp_path: Path, route: str) -> None:
    path = tmp_path / "a.jsonl"
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "input": "Go."}

    def ask(http: httpx2.Client, server: str) -> tuple[int, str]:
        answer = http.post(f"{server}/{route}", json=body)
        return answer.status_code, answer.json()["error"]["message"]

    with serving(say("slow down", status=429)) as server, through(Recorder(path)) as http:
        assert ask(http, server.url) == (429, "slow down")
    (found,) = recorded(path)
    assert (found.goal, found.steps[0].reply.error) == ("Go.", "HTTP 429: slow down")
    with through(Recorder(path, mode="none")) as http:
        assert ask(http, "http://127.0.0.1:9/v1") == (429, "slow down")


def test_arguments_that_are_no_json_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}]}

    def asked(http: httpx2.Client, server: str) -> Any:
        answer = http.post(f"{server}/chat/completions", json=body).json()
        return answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]

    def both(server: Server) -> Any:
        with through(Recorder(path)) as http:
            return asked(http, server.url)

    with serving(say("", call("look", '{"at": '))) as server:
        assert both(server) == '{"at": '
    with through(Recorder(path, mode="none")) as http:
        assert asked(http, "http://127.0.0.1:9/v1") == '{"at": '
