"""Programs that do not wait for an answer, or leave it in the middle: by transport and by proxy."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness.record import AsyncRecordingTransport, Recorder
from harness.record.proxy import proxy
from tests.openai_server import KEY, Server, say, serving
from tests.record.agents import START, recorded

NOWHERE = "http://127.0.0.1:9/v1"
AGAIN = {"x-stainless-retry-count": "1"}
Program = Callable[[openai.AsyncOpenAI], Awaitable[str]]
#: By transport or by proxy: runs a program, and gives what it heard last.
Way = Callable[[Recorder, str, Program], str]


def by_transport(recorder: Recorder, url: str, program: Program) -> str:
    http = httpx2.AsyncClient(transport=AsyncRecordingTransport(recorder))
    return asyncio.run(_run(program, url, http_client=http))


def by_proxy(recorder: Recorder, url: str, program: Program) -> str:
    with proxy(recorder, {"OPENAI_BASE_URL": url}) as variables:
        return asyncio.run(_run(program, variables["OPENAI_BASE_URL"]))


async def _run(program: Program, url: str, **options: Any) -> str:
    async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, **options) as client:
        return await program(client)


async def ask(client: openai.AsyncOpenAI, messages: Any = START, **extra: Any) -> str:
    made = await client.chat.completions.create(model="m", messages=messages, **extra)
    return str(made.choices[0].message.content)


async def unless(given_up: Callable[[], Awaitable[object]], work: Awaitable[str]) -> str | None:
    """What comes of it, or nothing where it failed or was given up."""
    working, giving_up = asyncio.ensure_future(work), asyncio.ensure_future(given_up())
    await asyncio.wait((working, giving_up), return_when=asyncio.FIRST_COMPLETED)
    giving_up.cancel()
    working.cancel()
    with suppress(asyncio.CancelledError, openai.APIError):
        return await working
    return None


def again(path: Path, program: Program, answers: int) -> None:
    """The program hears the same from its recording, by either way."""
    for way in (by_transport, by_proxy):
        tape = Recorder(path, mode="none")
        assert way(tape, NOWHERE, program) == "The end."
        assert (tape.tally.answered, tape.tally.missed, tape.tally.drifted) == (answers, [], [])


ways = pytest.mark.parametrize("way", [by_transport, by_proxy])


@ways
@pytest.mark.parametrize("retry", [True, False])
def test_an_answer_that_nobody_waited_for(tmp_path: Path, way: Way, retry: bool) -> None:
    path = tmp_path / "a.jsonl"
    came, let = threading.Event(), threading.Event()

    def script(body: dict[str, Any]) -> Any:
        if came.is_set():
            return say("The end.")
        came.set()
        assert let.wait(60)
        return say("Too late.")

    async def asked() -> None:
        # The server has it; nobody gives up before.
        await asyncio.to_thread(came.wait, 60)

    async def patiently() -> None:
        await asyncio.Future[None]()

    def program(given_up: Callable[[], Awaitable[object]]) -> Program:
        async def run(client: openai.AsyncOpenAI) -> str:
            extra = {"extra_headers": AGAIN} if retry else {}
            return await unless(given_up, ask(client)) or await ask(client, **extra)

        return run

    recorder = Recorder(path)
    with serving(script=script) as server:
        assert way(recorder, server.url, program(asked)) == "The end."
        let.set()
    (found,) = recorded(path)
    texts = ["The end."] if retry else ["", "The end."]
    assert ([step.reply.text for step in found.steps], recorder.tally.retried) == (texts, retry)
    assert [bool(step.reply.error) for step in found.steps] == [not text for text in texts]
    again(path, program(patiently), len(texts))


@contextmanager
def stopping(*replies: Any, events: int) -> Iterator[Server]:
    """A server whose first stream stops after so many events."""
    let, seen = threading.Event(), list[int]()

    def paused() -> None:
        seen.append(1)
        if len(seen) == events:
            assert let.wait(60)

    with serving(*replies) as server:
        server.paused = paused
        try:
            yield server
        finally:
            let.set()


async def part_of(client: openai.AsyncOpenAI, *, enough: int) -> str:
    """What had come when it was enough of it, or when nothing more came."""
    got: list[str] = []
    some = asyncio.Event()

    async def read() -> str:
        made = await client.chat.completions.create(model="m", messages=START, stream=True)  # type: ignore[call-overload]
        async with made as stream:
            async for chunk in stream:
                got.append(chunk.choices[0].delta.content or "")
                if "".join(got):
                    some.set()
                if len("".join(got)) > enough:
                    break
        return ""

    async def waited() -> None:
        await some.wait()
        if enough < 1000:
            await asyncio.Future[None]()

    await unless(waited, read())
    return "".join(got)


async def goes_on(client: openai.AsyncOpenAI) -> str:
    """Had enough, and makes use of it."""
    said = {"role": "assistant", "content": await part_of(client, enough=40)}
    return await ask(client, [*START, said, {"role": "user", "content": "And?"}])


async def wants_another(client: openai.AsyncOpenAI) -> str:
    """Had enough, and wants another one."""
    await part_of(client, enough=40)
    return await ask(client)


async def gives_up(client: openai.AsyncOpenAI) -> str:
    """Waited too long for the rest."""
    await part_of(client, enough=1000)
    return await ask(client)


@ways
@pytest.mark.parametrize(
    ("program", "events", "first"),
    [(goes_on, 12, "cut"), (wants_another, 12, None), (gives_up, 3, None)],
)
def test_a_stream_that_is_left(
    tmp_path: Path, way: Way, program: Program, events: int, first: str | None
) -> None:
    path = tmp_path / "a.jsonl"
    with stopping(say("word " * 20), say("The end."), events=events) as server:
        assert way(Recorder(path), server.url, program) == "The end."
    (found,) = recorded(path)
    assert [step.reply.finish_reason for step in found.steps] == [first, "stop"]
    assert [step.reply.error is None for step in found.steps] == [first == "cut", True]
    assert ("word " * 20).startswith(found.steps[0].reply.text)
    again(path, program, 2)


async def keeps_its_history_there(client: openai.AsyncOpenAI) -> str:
    first = await client.responses.create(model="m", input="Go.")
    asked: dict[str, Any] = {"model": "m", "input": "On.", "previous_response_id": first.id}
    with suppress(openai.APIError):
        async with await client.responses.create(**asked, stream=True) as stream:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    break
    return str((await client.responses.create(**asked)).output_text)


@ways
def test_nothing_goes_on_from_a_reply_that_was_left(tmp_path: Path, way: Way) -> None:
    path = tmp_path / "a.jsonl"
    with stopping(say("Gone."), say("word " * 20), say("The end."), events=5) as server:
        assert way(Recorder(path), server.url, keeps_its_history_there) == "The end."
    (found,) = recorded(path)
    assert [(step.user, step.reply.error is None) for step in found.steps] == [
        (None, True), ("On.", False), (None, True),
    ]  # fmt: skip
    again(path, keeps_its_history_there, 3)


def test_the_provider_is_left_where_the_program_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as provider:

        async def program(client: openai.AsyncOpenAI) -> str:
            asked: list[socket.socket] = []

            async def came() -> None:
                asked.append((await asyncio.to_thread(provider.accept))[0])

            await unless(came, ask(client))
            asked[0].settimeout(60)
            with asked[0]:
                while await asyncio.to_thread(asked[0].recv, 65536):
                    pass
            return "It has closed."

        url = f"http://127.0.0.1:{provider.getsockname()[1]}/v1"
        assert by_proxy(Recorder(path), url, program) == "It has closed."
    (found,) = recorded(path)
    assert [step.reply.error for step in found.steps] == [
        "ConnectionAbortedError: the program did not wait for the answer"
    ]
