"""No secret reaches the disk: planted ones of common formats, wherever a call can carry them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.record import Recorder, RecordingTransport
from harness.record.proxy import proxy
from harness.redact import Redactor, find, places, secrets_in
from tests.openai_server import call, say, serving
from tests.record.agents import recorded
from tests.record.planted import PLANTED

Way = Callable[[Recorder, str], AbstractContextManager[tuple[httpx2.Client, str]]]
#: Of no known shape; only the place tells.
HEADER = "words-that-only-a-header-tells"


@contextmanager
def by_transport(recorder: Recorder, url: str) -> Iterator[tuple[httpx2.Client, str]]:
    with httpx2.Client(transport=RecordingTransport(recorder)) as client:
        yield client, url


@contextmanager
def by_proxy(recorder: Recorder, url: str) -> Iterator[tuple[httpx2.Client, str]]:
    with proxy(recorder, {"OPENAI_BASE_URL": url}) as variables, httpx2.Client() as client:
        yield client, variables["OPENAI_BASE_URL"]


def on_disk(folder: Path) -> str:
    """Everything that lies in a folder, decoded as JSON where it is, and names of files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    text = "\n".join(f"{path.name}\n{path.read_text()}" for path in files)
    return text + "\n" + text.replace("\\n", "\n").replace('\\"', '"')


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_found_and_taken_out(name: str) -> None:
    text, secret = PLANTED[name]
    assert secret not in Redactor().text(text)
    found = find(text)
    assert any(text[each.start : each.end] in secret or secret in text[each.start : each.end]
               for each in found)  # fmt: skip
    assert secrets_in({"a": ["b", text]}) == list(dict.fromkeys(each.rule for each in found))
    assert find(Redactor().text(text)) == []


@pytest.mark.parametrize("way", [by_transport, by_proxy])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ["chat/completions", "responses", "messages"])
def test_no_planted_secret_reaches_the_disk(
    tmp_path: Path, way: Way, stream: bool, route: str
) -> None:
    texts = [text for text, _ in PLANTED.values()]
    # Streamed seven characters at a time, so every secret is split.
    reply = say(" | ".join(texts), *(call("look", {"at": text}, f"c{n}")
                                     for n, text in enumerate(texts)))  # fmt: skip
    refused = say(f"bad key {HEADER} of " + " | ".join(texts), status=401)
    goal = {"role": "user", "content": "Use " + "\n".join(texts)}
    recorder = Recorder(tmp_path / "a.jsonl")
    with serving(reply, refused) as server, way(recorder, server.url) as (client, url):
        headers = {
            "authorization": f"Bearer {HEADER}",
            "x-api-key": HEADER,
            "cookie": f"s={HEADER}",
        }
        body = {"model": "m", "stream": stream, "messages": [goal], "input": [goal],
                "instructions": texts[0], "system": texts[1]}  # fmt: skip
        address = f"{url}/{route}?api-version=1&key={HEADER}&sig={HEADER}"
        first = client.post(address, json=body, headers=headers)
        assert first.status_code == 200
        after = {**body, **_after(route, goal, reply, texts), "stream": False}
        assert client.post(address, json=after, headers=headers).status_code == 401
        assert HEADER in server.paths[0]
        assert server.headers[0]["x-api-key"] == HEADER
    (found,) = recorded(tmp_path / "a.jsonl")
    assert len(found.steps[0].calls) == len(texts)
    assert all(c.result is not None for c in found.steps[0].calls)
    assert len(found.steps) == 2
    disk = on_disk(tmp_path)
    assert [name for name, (_, secret) in PLANTED.items() if secret in disk] == []
    assert HEADER not in disk
    assert secrets_in(found.model_dump(mode="json")) == []


def _after(route: str, goal: Any, reply: Any, texts: list[str]) -> dict[str, Any]:
    """The next request, which brings a secret with each result."""
    calls = reply["calls"]
    if route == "responses":
        said = {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": reply["text"]}]}  # fmt: skip
        asked = [{"type": "function_call", "call_id": c["id"], **c["function"]} for c in calls]
        results = [{"type": "function_call_output", "call_id": c["id"], "output": f"got {text}"}
                   for c, text in zip(calls, texts, strict=True)]  # fmt: skip
        return {"input": [goal, said, *asked, *results]}
    if route == "messages":
        uses = [{"type": "tool_use", "id": c["id"], "name": c["function"]["name"],
                 "input": json.loads(c["function"]["arguments"])} for c in calls]  # fmt: skip
        content = [{"type": "text", "text": reply["text"]}, *uses]
        results = [{"type": "tool_result", "tool_use_id": c["id"], "content": f"got {text}"}
                   for c, text in zip(calls, texts, strict=True)]  # fmt: skip
        return {"messages": [goal, {"role": "assistant", "content": content},
                             {"role": "user", "content": results}]}  # fmt: skip
    message = {"role": "assistant", "content": reply["text"], "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": c["id"], "content": f"got {text}"}
               for c, text in zip(calls, texts, strict=True)]  # fmt: skip
    return {"messages": [goal, message, *results]}


def test_keys_of_the_environment_are_secrets_of_any_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "plain.words.of.some.length")
    monkeypatch.setenv("DB_PASSWORD", "hunter2horse9")
    coded = base64.b64encode(b"me:hunter2horse9").decode()
    reply = say(f"The tool says plain.words.of.some.length, and so on; hunter2horse9 is {coded}.")
    with serving(reply) as server, by_transport(Recorder(tmp_path / "a.jsonl"), server.url) as way:
        way[0].post(f"{way[1]}/chat/completions", json={"model": "m", "messages": []})
    disk = on_disk(tmp_path)
    assert [word for word in ("plain.words", "hunter2", coded[4:]) if word in disk] == []


def test_equal_secrets_get_equal_placeholders(tmp_path: Path) -> None:
    text, _ = PLANTED["OpenAI"]
    with (
        serving(say(text)) as server,
        by_transport(Recorder(tmp_path / "a.jsonl"), server.url) as (client, url),
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        client.post(f"{url}/chat/completions", json=body)
    (found,) = recorded(tmp_path / "a.jsonl")
    # What repeated itself still does.
    assert found.goal == found.steps[0].reply.text


def test_places_name_where_a_secret_stands() -> None:
    text, secret = PLANTED["GitHub"]
    value = {"steps": [{"reply": {"text": text}}, {"args": {"password": "x", secret: [1, text]}}],
             "token": 5, "pin_password": 123456}  # fmt: skip
    assert list(places(value)) == [
        ("github", "steps[0].reply.text"),
        ("value", "steps[1].args.password"),
        ("github", "steps[1].args.(a name)"),
        ("github", "steps[1].args.(a name)[1]"),
        ("value", "pin_password"),
    ]
