"""The proxy: what goes through it unchanged, what it keeps, what it answers by itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness import HarnessError
from harness.record import Recorder
from harness.record.proxy import proxy
from tests.openai_server import KEY, Server, call, say, serving
from tests.record.agents import REPLIES, START, agent, ask, check_steps, recorded, result


@contextmanager
def proxied(server: Server, path: Path, **options: Any) -> Iterator[openai.OpenAI]:
    """A client that finds the proxy where it would find the server."""
    with (
        proxy(Recorder(path, **options), {"OPENAI_BASE_URL": server.url}) as variables,
        openai.OpenAI(base_url=variables["OPENAI_BASE_URL"], api_key=KEY, max_retries=0) as client,
    ):
        yield client


def test_an_agent_is_recorded_and_answered_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with serving(*REPLIES) as server, proxied(server, path) as client:
        live = agent(client)
    check_steps(recorded(path)[0])
    with serving() as server, proxied(server, path, mode="none") as client:
        again = agent(client)
    assert server.requests == []
    assert [m.get("content") for m in again] == [m.get("content") for m in live]


def test_the_request_goes_on_as_it_was(tmp_path: Path) -> None:
    with serving(say("Hi.")) as server, proxied(server, tmp_path / "a.jsonl") as client:
        ask(client, START, extra_headers={"X-Own": "yes", "x-harness-episode": "one"},
            extra_query={"a": "1 2"})  # fmt: skip
    (headers,) = server.headers
    assert (headers["x-own"], headers["authorization"]) == ("yes", f"Bearer {KEY}")
    assert "x-harness-episode" not in headers
    assert server.paths == ["/v1/chat/completions?a=1+2"]
    assert server.requests[0]["messages"] == START


def test_the_response_comes_back_as_it_was(tmp_path: Path) -> None:
    script = [say("Small.", gzip=True), say("slow down", status=429)]
    with serving(*script) as server, proxied(server, tmp_path / "a.jsonl") as client:
        good = client.chat.completions.with_raw_response.create(model="m", messages=START)  # type: ignore[arg-type]
        assert good.headers["content-encoding"] == "gzip"
        assert good.headers.get_list("server") == [good.headers["server"]]
        assert good.parse().choices[0].message.content == "Small."
        with pytest.raises(openai.RateLimitError, match="slow down"):
            ask(client, START)
    steps = [each.steps[0].reply for each in recorded(tmp_path / "a.jsonl")]
    assert [(r.text, r.error) for r in steps] == [("Small.", None), ("", "HTTP 429: slow down")]


def test_events_come_one_by_one(tmp_path: Path) -> None:
    """The server goes on only when the client has got what was sent before."""
    got = threading.Semaphore(0)
    with serving(say("word " * 5)) as server, proxied(server, tmp_path / "a.jsonl") as client:
        server.paused = lambda: got.acquire(timeout=60)
        text = ""
        for chunk in client.chat.completions.create(model="m", messages=START, stream=True):  # type: ignore[call-overload]
            text += chunk.choices[0].delta.content or ""
            got.release()
        got.release()
    assert text == "word " * 5
    assert recorded(tmp_path / "a.jsonl")[0].steps[0].reply.text == text


def test_the_next_request_may_come_before_the_stream_is_closed(tmp_path: Path) -> None:
    """After its last event a client goes on; some servers close only later."""
    events: list[int] = []
    over = threading.Event()

    def paused() -> None:
        events.append(1)
        if len(events) == 4:  # role, text, finish, done
            assert over.wait(60)

    path = tmp_path / "a.jsonl"
    with serving(say("Which?"), say("Done.")) as server, proxied(server, path) as client:
        server.paused = paused
        with client.chat.completions.create(model="m", messages=START, stream=True) as stream:  # type: ignore[call-overload]
            for chunk in stream:
                if chunk.choices[0].finish_reason:
                    break
            said = {"role": "assistant", "content": "Which?"}
            messages = [*START, said, {"role": "user", "content": "That one."}]
            while len(events) < 4:
                threading.Event().wait(0.001)
            ask(client, messages)
        over.set()
    (found,) = recorded(path)
    assert [(s.user, s.reply.text, s.reply.finish_reason) for s in found.steps] == [
        (None, "Which?", "stop"), ("That one.", "Done.", "stop"),
    ]  # fmt: skip


def test_a_client_that_goes_away(tmp_path: Path) -> None:
    gone = threading.Event()
    events: list[int] = []

    def paused() -> None:
        events.append(1)
        if len(events) == 3:
            assert gone.wait(60)

    with serving(say("word " * 200)) as server:
        server.paused = paused
        with proxied(server, tmp_path / "a.jsonl") as client:
            stream = client.chat.completions.create(model="m", messages=START, stream=True)  # type: ignore[call-overload]
            next(iter(stream))
            stream.close()
        gone.set()
    (found,) = recorded(tmp_path / "a.jsonl")
    reply = found.steps[0].reply
    assert (reply.finish_reason, reply.error) == ("cut", None)
    assert "word word word".startswith(reply.text)


def test_a_provider_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    environment = {"OPENAI_BASE_URL": "http://me:s3cret@127.0.0.1:1/v1"}
    with proxy(Recorder(path), environment) as variables:
        answer = httpx2.post(f"{variables['OPENAI_BASE_URL']}/chat/completions",
                             json={"model": "m", "messages": START})  # fmt: skip
    words = answer.json()["error"]["message"]
    assert (answer.status_code, words.partition(": Conn")[0]) == (
        502, "harness record: http://127.0.0.1:1 cannot be reached",
    )  # fmt: skip
    assert recorded(path)[0].steps[0].reply.error == f"HTTP 502: {words}"
    with proxy(Recorder(path, mode="none"), environment) as variables:
        again = httpx2.post(f"{variables['OPENAI_BASE_URL']}/chat/completions",
                            json={"model": "m", "messages": START})  # fmt: skip
    assert (again.status_code, again.json()) == (502, answer.json())


def test_what_breaks_off_breaks_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The server promises more than it sends; the program sees what it would have seen."""
    path = tmp_path / "a.jsonl"
    with (
        serving(say("Half", short=10)) as server,
        proxied(server, path) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        ask(client, START)
    error = recorded(path)[0].steps[0].reply.error
    assert error is not None
    assert "RemoteProtocolError" in error
    assert "a response broke off" in caplog.text


def test_other_paths(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.jsonl")
    with (
        serving(say(raw={"data": []})) as server,
        proxy(recorder, {"OPENAI_BASE_URL": server.url}) as variables,
    ):
        base = variables["OPENAI_BASE_URL"]
        assert httpx2.post(f"{base}/embeddings", json={"input": "x"}).json() == {"data": []}
        lost = httpx2.get(base.replace("/openai/", "/other/"))
    assert (lost.status_code, lost.json()["error"]["message"]) == (
        404, "harness record: paths begin with /openai, /anthropic",
    )  # fmt: skip
    assert recorder.tally.others == {"POST /v1/embeddings": 1}
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize(
    ("method", "path", "status", "refused"),
    [
        ("GET", "/models", 200, {}),
        ("GET", "/files", 404, {"GET /v1/files": 1}),
        ("POST", "/embeddings", 404, {"POST /v1/embeddings": 1}),
    ],
)
def test_other_paths_in_a_replay(
    tmp_path: Path, method: str, path: str, status: int, refused: dict[str, int]
) -> None:
    with serving(*REPLIES) as server, proxied(server, tmp_path / "a.jsonl") as client:
        agent(client)
    recorder = Recorder(tmp_path / "a.jsonl", mode="none")
    with proxy(recorder, {}) as variables:
        answer = httpx2.request(method, variables["OPENAI_BASE_URL"] + path)
    tally = recorder.tally
    assert (answer.status_code, tally.refused, tally.missed, tally.lost) == (
        status, refused, [], 0,
    )  # fmt: skip


def test_models_are_those_of_the_recording(tmp_path: Path) -> None:
    with serving(*REPLIES) as server, proxied(server, tmp_path / "a.jsonl") as client:
        agent(client)
    with proxy(Recorder(tmp_path / "a.jsonl", mode="none"), {}) as variables:
        with openai.OpenAI(base_url=variables["OPENAI_BASE_URL"], api_key=KEY) as client:
            found = [model.id for model in client.models.list()]
        # What Anthropic's client needs to be there.
        other = httpx2.get(variables["ANTHROPIC_BASE_URL"] + "/v1/models").json()
    assert found == ["gpt-4o-mini"]
    assert {name: other[name] for name in ("has_more", "first_id", "last_id")} == {
        "has_more": False, "first_id": "gpt-4o-mini", "last_id": "gpt-4o-mini",
    }  # fmt: skip
    assert {"type", "id", "display_name", "created_at"} <= other["data"][0].keys()


def test_where_a_program_is_told_to_look(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    found: dict[str, dict[str, str]] = {}
    cases: dict[str, tuple[dict[str, str], str | None]] = {
        "nothing set": ({}, None),
        "old variable": ({"OPENAI_API_BASE": "http://h/api/v2/", "HTTP_PROXY": "http://p"}, None),
        "upstream": ({"OPENAI_BASE_URL": "http://h/v1", "no_proxy": "x", "http_proxy": "p"},
                     "https://u.example/openai/v1"),
    }  # fmt: skip
    for name, (environment, upstream) in cases.items():
        with proxy(Recorder(path), environment, upstream) as variables:
            url = variables["ANTHROPIC_BASE_URL"].removesuffix("/anthropic")
            found[name] = {k: v.replace(url, "URL") for k, v in variables.items()}
    both = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    anthropic = {"ANTHROPIC_BASE_URL": "URL/anthropic"}
    no_proxy = ("no_proxy", "NO_PROXY")
    assert found == {
        "nothing set": {**dict.fromkeys(both, "URL/openai/v1"), **anthropic},
        "old variable": {**dict.fromkeys(both, "URL/openai/api/v2"), **anthropic,
                         **dict.fromkeys(no_proxy, "127.0.0.1")},
        "upstream": {**dict.fromkeys(both, "URL/openai/openai/v1"), **anthropic,
                     **dict.fromkeys(no_proxy, "x,127.0.0.1")},
    }  # fmt: skip


def test_an_address_that_is_none(tmp_path: Path) -> None:
    with (
        pytest.raises(HarnessError, match=r"address of openai must be http://.* found 'h:1'"),
        proxy(Recorder(tmp_path / "a.jsonl"), {}, "h:1"),
    ):
        pass


def test_without_a_key_a_program_is_still_answered(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with serving(*REPLIES) as server, proxied(server, path) as client:
        agent(client)
    with proxy(Recorder(path, mode="none"), {"ANTHROPIC_API_KEY": "own"}) as variables:
        keys = {name: value for name, value in variables.items() if name.endswith("_KEY")}
    assert keys == {"OPENAI_API_KEY": "recorded", "ANTHROPIC_API_KEY": "own"}


def test_conversations_at_once(tmp_path: Path) -> None:
    """Twenty agents at a time; each has its own episode, whole."""

    def script(body: dict[str, Any]) -> dict[str, Any]:
        goal = next(m["content"] for m in body["messages"] if m["role"] == "user")
        number = sum(m["role"] == "assistant" for m in body["messages"])
        return say(
            f"{goal} {number}", *([call("look", {}, f"{goal}{number}")] if number < 3 else [])
        )

    path = tmp_path / "a.jsonl"
    with serving(script=script) as server, proxied(server, path) as client:

        def run(goal: str) -> None:
            messages: list[Any] = [{"role": "user", "content": goal}]
            for _ in range(4):
                messages.append(ask(client, messages))
                messages += [result(goal, c["id"]) for c in messages[-1].get("tool_calls") or ()]

        threads = [threading.Thread(target=run, args=(f"goal{n}",)) for n in range(20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    found = {each.goal: each for each in recorded(path)}
    assert len(found) == 20
    for goal, each in found.items():
        assert [s.reply.text for s in each.steps] == [f"{goal} {n}" for n in range(4)]
        assert [c.result for s in each.steps for c in s.calls] == [goal] * 3
    assert json.loads(path.read_text().splitlines()[0])["tags"] == ["recorded", "grouped:prefix"]
