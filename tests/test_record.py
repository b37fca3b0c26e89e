"""Any agent on the openai client becomes scenarios: which calls belong together, what is kept."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness import load, load_preset, prepare, run_episode
from harness.clock import VirtualClock
from harness.episode_file import EpisodeFile
from harness.record import AsyncRecordingTransport, Recorder, RecordingTransport, recording
from harness.scenario import Scenario
from tests.openai_server import KEY, Server, call, say, serving

ROOT = Path(__file__).parent.parent
SECRET = "sk-" + "Ab1" * 8
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
START = [{"role": "system", "content": "Work."}, {"role": "user", "content": "Open the door."}]


def ask(client: openai.OpenAI, messages: list[Any], **extra: Any) -> dict[str, Any]:
    reply = client.chat.completions.create(model="gpt-4o-mini", messages=messages, **extra)
    return reply.choices[0].message.model_dump(exclude_none=True)


def result(text: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def agent(client: openai.OpenAI, goal: str = "Open the door.", turns: int = 3) -> list[Any]:
    """A loop that does what it is told until it is told nothing."""
    messages: list[Any] = [START[0], {"role": "user", "content": goal}]
    for number in range(turns):
        message = ask(client, messages, tools=TOOLS)
        messages.append(message)
        calls = message.get("tool_calls") or []
        messages += [result(f"closed {number}", each["id"]) for each in calls]
        if not calls:
            break
    return messages


def recorded(path: Path) -> list[Scenario]:
    return list(load([path]))


def client_of(server: Server, recorder: Recorder | Path, **options: Any) -> openai.OpenAI:
    http = httpx2.Client(transport=RecordingTransport(recorder))
    return server.client(http_client=http, **options)


REPLIES = (
    say("I look.", call("look", {"at": "door"}, "c1")),
    say("", call("look", {"at": "key"}, "c2"), call("look", {"at": "mat"}, "c3")),
    say("It is open."),
)


def check_steps(found: Scenario) -> None:
    assert found.goal == "Open the door."
    assert found.tools is not None
    assert list(found.tools) == ["look"]
    first, second, third = found.steps
    assert (first.reply.text, first.reply.model, first.reply.finish_reason) == (
        "I look.", "gpt-4o-mini", "tool_calls",
    )  # fmt: skip
    assert [(c.tool, c.args, c.result) for c in first.calls] == [
        ("look", {"at": "door"}, "closed 0")
    ]
    assert [(c.args, c.result) for c in second.calls] == [
        ({"at": "key"}, "closed 1"), ({"at": "mat"}, "closed 1"),
    ]  # fmt: skip
    assert (third.reply.text, third.calls, third.reply.finish_reason) == ("It is open.", [], "stop")
    assert all(step.user is None for step in found.steps)


def test_an_agent_with_our_transport(tmp_path: Path) -> None:
    with serving(*REPLIES) as server, client_of(server, tmp_path / "a.jsonl") as client:
        agent(client)
    (found,) = recorded(tmp_path / "a.jsonl")
    check_steps(found)
    usage = found.steps[0].reply.usage
    assert usage is not None
    assert usage.model_dump() == {
        "input": 36, "cache_read": 64, "cache_write": 0, "output": 15, "reasoning": 5,
    }  # fmt: skip
    episode = run_episode(prepare(found), load_preset("balanced"))
    assert (episode.exit_reason, episode.exit_reason_source) == ("agent_finished", "inferred")
    assert all(ms is not None for ms in episode.elapsed)


def test_a_block_records_clients_that_somebody_else_makes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    before = httpx2.HTTPTransport.handle_request
    with serving(*REPLIES, say("Not recorded.")) as server:
        with recording(path, name="mine"), server.client() as client:
            agent(client)
        assert httpx2.HTTPTransport.handle_request is before
        with server.client() as client:
            ask(client, START)
    (found,) = recorded(path)
    check_steps(found)
    assert found.family == "mine"


def test_one_call_is_noted_once_although_it_passes_twice(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.jsonl")
    http = httpx2.Client(transport=RecordingTransport(recorder, RecordingTransport(recorder)))
    with serving(*REPLIES) as server, server.client(http_client=http) as client:
        agent(client)
    check_steps(recorded(tmp_path / "a.jsonl")[0])


@pytest.mark.parametrize("streamed", [False, True])
def test_async(tmp_path: Path, streamed: bool) -> None:
    async def run(server: Server) -> None:
        http = httpx2.AsyncClient(transport=AsyncRecordingTransport(tmp_path / "a.jsonl"))
        async with server.async_client(http_client=http) as client:
            messages: list[Any] = list(START)
            for number, reply in enumerate(REPLIES):
                if streamed:
                    stream = await client.chat.completions.create(
                        model="gpt-4o-mini", messages=messages, tools=TOOLS, stream=True
                    )
                    async for _ in stream:
                        pass
                else:
                    await client.chat.completions.create(
                        model="gpt-4o-mini", messages=messages, tools=TOOLS
                    )
                messages.append({"role": "assistant", "content": reply["text"],
                                 "tool_calls": reply["calls"]})  # fmt: skip
                messages += [result(f"closed {number}", c["id"]) for c in reply["calls"]]

    with serving(*REPLIES) as server:
        asyncio.run(run(server))
    check_steps(recorded(tmp_path / "a.jsonl")[0])


def test_streams(tmp_path: Path) -> None:
    with serving(*REPLIES) as server, client_of(server, tmp_path / "a.jsonl") as client:
        messages: list[Any] = list(START)
        for number, reply in enumerate(REPLIES):
            list(client.chat.completions.create(
                model="gpt-4o-mini", messages=messages, tools=TOOLS, stream=True,
                stream_options={"include_usage": number == 0},
            ))  # fmt: skip
            messages.append({"role": "assistant", "content": reply["text"],
                             "tool_calls": reply["calls"]})  # fmt: skip
            messages += [result(f"closed {number}", c["id"]) for c in reply["calls"]]
    (found,) = recorded(tmp_path / "a.jsonl")
    check_steps(found)
    first, second, _ = found.steps
    assert first.reply.usage is not None
    assert first.reply.usage.cache_read == 64
    assert second.reply.usage is None  # the stream did not say: unknown, not zero


def test_a_stream_that_is_left_early_or_tears(tmp_path: Path) -> None:
    long = say("word " * 200)
    with (
        serving(long, say("half of it", torn=True)) as server,
        client_of(server, tmp_path / "a.jsonl") as client,
    ):
        with client.chat.completions.create(model="m", messages=START, stream=True) as stream:
            for chunk in stream:
                if chunk.choices[0].delta.content:
                    break
        with pytest.raises(openai.APIError):
            list(client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Another task."}], stream=True
            ))  # fmt: skip
    left, torn = recorded(tmp_path / "a.jsonl")
    assert left.steps[0].reply.finish_reason in ("cut", "stop")
    assert left.steps[0].reply.text.startswith("word")
    assert torn.steps[0].reply.error == "the engine went away"


def test_compressed_bodies(tmp_path: Path) -> None:
    with (
        serving(say("Small.", gzip=True)) as server,
        client_of(server, tmp_path / "a.jsonl") as client,
    ):
        ask(client, START)
    assert recorded(tmp_path / "a.jsonl")[0].steps[0].reply.text == "Small."


# Which calls belong together


def test_two_conversations_at_once(tmp_path: Path) -> None:
    """Same first messages, taken turn about: each reply tells where the next request belongs."""
    path = tmp_path / "a.jsonl"
    script = [say("I am A.", call("look", {}, "a")), say("I am B.", call("look", {}, "b")),
              say("Still A."), say("Still B.")]  # fmt: skip
    with serving(*script) as server, client_of(server, path) as client:
        one, two = list(START), list(START)
        one.append(ask(client, one))
        two.append(ask(client, two))
        ask(client, [*one, result("for A", "a")])
        ask(client, [*two, result("for B", "b")])
    found = recorded(path)
    assert [[s.reply.text for s in each.steps] for each in found] == [
        ["I am A.", "Still A."], ["I am B.", "Still B."],
    ]  # fmt: skip
    assert [each.steps[0].calls[0].result for each in found] == ["for A", "for B"]


def test_the_same_task_again_is_another_episode(tmp_path: Path) -> None:
    with serving(*REPLIES, *REPLIES) as server, client_of(server, tmp_path / "a.jsonl") as client:
        agent(client)
        agent(client)
    one, two = recorded(tmp_path / "a.jsonl")
    check_steps(one)
    check_steps(two)
    assert one.id != two.id


def test_system_messages_may_change_and_replies_be_written_otherwise(tmp_path: Path) -> None:
    with serving(*REPLIES) as server, client_of(server, tmp_path / "a.jsonl") as client:
        messages: list[Any] = list(START)
        for number, reply in enumerate(REPLIES):
            ask(client, [{"role": "system", "content": f"Order {number}"}, *messages[1:]],
                tools=TOOLS)  # fmt: skip
            # Without its text, with arguments spaced otherwise, as some agents write it back.
            calls = [
                call(c["function"]["name"], json.dumps(json.loads(c["function"]["arguments"]),
                                                       indent=2), c["id"])
                for c in reply["calls"]
            ]  # fmt: skip
            messages.append({"role": "assistant", "content": "(thought left out)",
                             "tool_calls": calls})  # fmt: skip
            messages += [result(f"closed {number}", c["id"]) for c in reply["calls"]]
    check_steps(recorded(tmp_path / "a.jsonl")[0])


def test_a_shortened_history_is_known_by_its_call(tmp_path: Path) -> None:
    with serving(*REPLIES[:2]) as server, client_of(server, tmp_path / "a.jsonl") as client:
        first = ask(client, START, tools=TOOLS)
        ask(client, [{"role": "user", "content": "Summary so far: a door."}, first,
                     result("closed 0", "c1")])  # fmt: skip
    (found,) = recorded(tmp_path / "a.jsonl")
    assert [c.result for c in found.steps[0].calls] == ["closed 0"]
    assert len(found.steps) == 2


def test_what_a_person_says_later(tmp_path: Path) -> None:
    for said in ("user", "nudge"):
        path = tmp_path / f"{said}.jsonl"
        with (
            serving(say("Which door?"), say("Done.")) as server,
            client_of(server, Recorder(path, said=said)) as client,  # type: ignore[arg-type]
        ):
            first = ask(client, START)
            parts = [{"type": "text", "text": "The red one."},
                     {"type": "image_url", "image_url": {"url": "data:,"}}]  # fmt: skip
            ask(client, [*START, first, {"role": "user", "content": parts}])
        step = recorded(path)[0].steps[1]
        assert getattr(step, said) == "The red one.\n[image_url]"


def test_time_is_the_replies_and_what_lies_between(tmp_path: Path) -> None:
    clock = VirtualClock()
    left = [*REPLIES, say("Again.")]

    def script(body: dict[str, Any]) -> dict[str, Any]:
        clock.advance(1000)
        return left.pop(0)

    with (
        serving(script=script) as server,
        client_of(server, Recorder(tmp_path / "a.jsonl", clock=clock)) as client,
    ):
        messages: list[Any] = list(START)
        for _ in range(2):
            messages.append(ask(client, messages))
            clock.advance(70)
            messages += [result("r", c["id"]) for c in messages[-1]["tool_calls"]]
        messages.append(ask(client, messages))
        clock.advance(5000)
        ask(client, [*messages, {"role": "user", "content": "And now close it."}])
    (found,) = recorded(tmp_path / "a.jsonl")
    assert [step.reply.ms for step in found.steps] == [1000] * 4
    assert [[c.ms for c in step.calls] for step in found.steps] == [[70], [70, 70], [], []]
    assert [step.idle_ms for step in found.steps] == [0, 0, 0, 5000]
    assert [turn.ms for turn in prepare(found).trunk] == [1070, 1070, 1000, 6000]


# Errors


def test_errors_are_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    script = [say("slow down", status=429), say("I am back.")]
    with serving(*script) as server, client_of(server, path) as client:
        with pytest.raises(openai.RateLimitError):
            ask(client, START)
        ask(client, START)  # the agent's own second try
    (found,) = recorded(path)
    assert [(s.reply.error, s.reply.text) for s in found.steps] == [
        ("HTTP 429: slow down", ""), (None, "I am back."),
    ]  # fmt: skip
    assert run_episode(prepare(found), load_preset("engine")).exit_reason == "infrastructure"


def test_a_client_that_tries_again_by_itself_made_one_call(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    clock = VirtualClock()
    left = [say("Which?"), say("slow down", status=429), say("oops", status=500), say("Back.")]

    def script(body: dict[str, Any]) -> dict[str, Any]:
        clock.advance(1000)
        return left.pop(0)

    with (
        serving(script=script) as server,
        client_of(server, Recorder(path, clock=clock), max_retries=2) as client,
    ):
        first = ask(client, START)
        ask(client, [*START, first, {"role": "user", "content": "That."}])
    (found,) = recorded(path)
    assert [(s.reply.error, s.reply.text, s.user) for s in found.steps] == [
        (None, "Which?", None), (None, "Back.", "That."),
    ]  # fmt: skip
    assert found.steps[1].reply.ms == 3000


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    http = httpx2.Client(transport=RecordingTransport(tmp_path / "a.jsonl"))
    with (
        openai.OpenAI(base_url="http://127.0.0.1:1/v1", api_key=KEY, max_retries=0,
                      http_client=http) as client,
        pytest.raises(openai.APIConnectionError),
    ):  # fmt: skip
        ask(client, START)
    error = recorded(tmp_path / "a.jsonl")[0].steps[0].reply.error
    assert error is not None
    assert error.startswith("ConnectError")


def test_failed_tools_are_told_by_facts_or_by_the_caller(tmp_path: Path) -> None:
    results = ['{"exit_code": 2, "out": "no"}', '{"isError": true}', "Error: no such door", "{"]
    expected: list[tuple[str, Any, list[Any]]] = [
        ("facts", None, [(None, 2), (False, None), (None, None), (None, None)]),
        ("own", lambda tool, text: text.startswith("Error"),
         [(None, None), (None, None), (False, None), (None, None)]),
    ]  # fmt: skip
    calls = [call("look", {"n": n}, f"c{n}") for n in range(len(results))]
    for name, failed, found in expected:
        path = tmp_path / f"{name}.jsonl"
        with (
            serving(say("", *calls), say("End.")) as server,
            client_of(server, Recorder(path, failed=failed)) as client,
        ):
            first = ask(client, START)
            ask(client, [*START, first, *(result(r, f"c{n}") for n, r in enumerate(results))])
        assert [(c.ok, c.exit_code) for c in recorded(path)[0].steps[0].calls] == found


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ({"choices": []}, "the server sent no choice"),
        ({"error": {"message": "no such model"}}, "no such model"),
        ([1], "unreadable"),
    ],
)
def test_whatever_a_server_sends_reaches_the_agent(tmp_path: Path, raw: Any, error: str) -> None:
    with serving(say(raw=raw)) as server, client_of(server, tmp_path / "a.jsonl") as client:
        client.chat.completions.with_raw_response.create(model="m", messages=START)  # type: ignore[arg-type]
    found = recorded(tmp_path / "a.jsonl")[0].steps[0].reply.error
    assert found is not None
    assert error in found


def test_a_recorder_that_cannot_write_leaves_the_agent_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    with serving(*REPLIES) as server, client_of(server, tmp_path / "file" / "a.jsonl") as client:
        assert agent(client)[-1]["content"] == "It is open."
    assert "could not be recorded" in caplog.text


def test_other_routes_are_none_of_its_business(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"object": "list", "data": []})

    http = httpx2.Client(
        transport=RecordingTransport(tmp_path / "a.jsonl", httpx2.MockTransport(handle))
    )
    with openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:9/v1", http_client=http) as client:
        client.models.list()
        http.post("http://127.0.0.1:9/v1/chat/completions", content=b"not json")
        for _ in range(2):
            http.post("http://127.0.0.1:9/v1/responses", json={})
    assert caplog.text.count("calls of /v1/responses are not recorded") == 1
    assert not (tmp_path / "a.jsonl").exists()


# Secrets


@pytest.mark.parametrize("streamed", [False, True])
def test_no_secret_is_written(tmp_path: Path, streamed: bool) -> None:
    path = tmp_path / "a.jsonl"
    reply = say(f"I use {SECRET} now.",
                call("look", {"api_key": "short", "url": "https://u:pass12@h/"}, "c1"))  # fmt: skip
    script = [reply, say(f"bad key {KEY}", status=401)]
    with serving(*script) as server, client_of(server, path) as client:
        goal = [{"role": "user", "content": f"Log in with {SECRET}"}]
        made = client.chat.completions.create(model="m", messages=goal, stream=streamed)  # type: ignore[call-overload]
        if streamed:
            list(made)
        message = {"role": "assistant", "content": reply["text"], "tool_calls": reply["calls"]}
        with pytest.raises(openai.AuthenticationError):
            ask(client, [*goal, message, result(f"Authorization: Bearer {'q' * 24}", "c1")])
    text = path.read_text()
    for secret in (SECRET, SECRET[4:], KEY, "short", "pass12", "q" * 24):
        assert secret not in text
    (found,) = recorded(path)
    # Equal secrets, equal placeholders: what repeated itself still does.
    word = found.goal.removeprefix("Log in with ")
    assert found.steps[0].reply.text == f"I use {word} now."


# The file


def test_lines_that_are_there_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "old"}\n')
    file, other = EpisodeFile(path), EpisodeFile(path)
    file.put("a", '{"id":"a","n":1}')
    other.put("b", '{"id":"b","n":1}')
    file.put("a", '{"id":"a","n":2}')
    other.put("b", '{"id":"b","n":2}')
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((d["id"], d.get("n")) for d in lines) == [("a", 2), ("b", 2), ("old", None)]
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_odd_texts_keep_their_line(tmp_path: Path) -> None:
    odd = "a\u2028b\u0085c\x1b[31m\ud800\0"
    with (
        serving(say(odd), say("Done.")) as server,
        client_of(server, tmp_path / "a.jsonl") as client,
    ):
        list(client.chat.completions.create(model="m", messages=START, stream=True))  # type: ignore[call-overload]
    (found,) = recorded(tmp_path / "a.jsonl")
    assert found.steps[0].reply.text == odd.replace("\ud800", "\N{REPLACEMENT CHARACTER}")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    program = textwrap.dedent(
        """
        import sys, openai
        from harness.record import recording
        url, path = sys.argv[1:]
        with recording(path):
            client = openai.OpenAI(base_url=url, api_key="none")
            talk = [{"role": "user", "content": "Never stop. " + "x" * 5000}]
            while True:
                reply = client.chat.completions.create(model="m", messages=talk)
                talk.append(reply.choices[0].message.model_dump(exclude_none=True))
                talk.append({"role": "user", "content": "go on " + "y" * 5000})
        """
    )
    with serving(script=lambda _: say("z" * 5000)) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", program, server.url, str(path)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        deadline = time.monotonic() + 60
        while len(server.requests) < 12 and time.monotonic() < deadline:
            if path.exists():  # whole at every moment, not only at the end
                json.loads(path.read_text())
            time.sleep(0.005)
        child.kill()
        child.wait()
    (found,) = recorded(path)
    assert len(found.steps) >= 10
