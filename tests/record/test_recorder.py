"""Any agent on the openai client becomes scenarios: what is kept, and the file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness import load_preset, prepare, run_episode
from harness.episode_file import EpisodeFile
from harness.filelocks import ProcessLock
from harness.record import AsyncRecordingTransport, Recorder, RecordingTransport, recording
from tests.openai_server import Server, say, serving
from tests.record.agents import (
    REPLIES,
    START,
    TOOLS,
    agent,
    ask,
    check_steps,
    client_of,
    recorded,
    result,
)

ROOT = Path(__file__).parents[2]


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
    assert torn.steps[0].reply.error == 'the engine went away {"code":500}'


def test_compressed_bodies(tmp_path: Path) -> None:
    with (
        serving(say("Small.", gzip=True)) as server,
        client_of(server, tmp_path / "a.jsonl") as client,
    ):
        ask(client, START)
    assert recorded(tmp_path / "a.jsonl")[0].steps[0].reply.text == "Small."


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


def test_processes_that_write_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    program = textwrap.dedent(
        """
        import json, sys
        from harness.episode_file import EpisodeFile
        path, name = sys.argv[1:]
        file = EpisodeFile(path, wait_s=60)
        sys.stdin.readline()
        for number in range(26):
            file.put(name, json.dumps({"id": name, "n": number}))
        """
    )
    command = [sys.executable, "-c", program, str(path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with ExitStack() as running:
        children = [
            running.enter_context(
                subprocess.Popen([*command, name], env=env, stdin=subprocess.PIPE, text=True)
            )
            for name in "abcd"
        ]
        for child in children:
            assert child.stdin is not None
            child.stdin.write("\n")
            child.stdin.flush()
        assert [child.wait(120) for child in children] == [0] * 4
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((d["id"], d["n"]) for d in found) == [(name, 25) for name in "abcd"]
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_who_waits_too_long_is_told_and_loses_nothing(tmp_path: Path) -> None:
    file = EpisodeFile(tmp_path / "a.jsonl", wait_s=0.1)
    held = threading.Event()
    over = threading.Event()

    def hold() -> None:
        with ProcessLock(tmp_path / ".a.jsonl.lock", wait_s=5, stays=False).held():
            held.set()
            assert over.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(60)
    with pytest.raises(TimeoutError, match=r"\.a\.jsonl\.lock: held by another process for 0\.1 s"):
        file.put("a", '{"id":"a"}')
    over.set()
    other.join()
    file.put("b", '{"id":"b"}')
    assert (tmp_path / "a.jsonl").read_text() == '{"id":"a"}\n{"id":"b"}\n'


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder without new files")
def test_a_lock_that_cannot_be_made_is_nobody_elses(tmp_path: Path) -> None:
    lock = ProcessLock("/proc/a.lock", wait_s=600)
    with pytest.raises(FileNotFoundError), lock.held():
        pass


@pytest.mark.skipif(os.name == "nt", reason="needs links and modes of POSIX")
def test_a_link_and_who_may_read_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.touch(0o600)
    link.symlink_to(target)
    EpisodeFile(link).put("a", '{"id":"a"}')
    assert (link.is_symlink(), target.read_text()) == (True, '{"id":"a"}\n')
    assert target.stat().st_mode & 0o777 == 0o600


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
