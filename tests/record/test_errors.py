"""What fails is recorded, and reaches the agent as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness import HarnessError, load_preset, prepare, run_episode
from harness.clock import VirtualClock
from harness.record import Recorder, RecordingTransport
from tests.openai_server import KEY, call, say, serving
from tests.record.agents import (
    REPLIES,
    START,
    agent,
    ask,
    client_of,
    recorded,
    result,
)


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

    recorder = Recorder(path, clock=clock)
    with serving(script=script) as server, client_of(server, recorder, max_retries=2) as client:
        first = ask(client, START)
        ask(client, [*START, first, {"role": "user", "content": "That."}])
    (found,) = recorded(path)
    assert [(s.reply.error, s.reply.text, s.user) for s in found.steps] == [
        (None, "Which?", None), (None, "Back.", "That."),
    ]  # fmt: skip
    assert found.steps[1].reply.ms == 3000
    assert (recorder.tally.recorded, recorder.tally.retried) == (4, 2)


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
    path = tmp_path / "folder" / "a.jsonl"
    recorder = Recorder(path)
    path.parent.write_text("no folder")
    with serving(*REPLIES) as server, client_of(server, recorder) as client:
        assert agent(client)[-1]["content"] == "It is open."
    assert "could not be recorded" in caplog.text
    assert (recorder.tally.calls, recorder.tally.recorded, recorder.tally.lost) == (3, 0, 3)


def test_what_could_not_be_written_goes_in_with_the_next_call(tmp_path: Path) -> None:
    path, away = tmp_path / "folder" / "a.jsonl", tmp_path / "away"
    recorder, told = Recorder(path), []
    with (
        serving(*(say(f"R{n}") for n in range(4))) as server,
        client_of(server, recorder) as client,
    ):
        talk: list[Any] = list(START)
        for number in range(4):
            if number == 1:
                path.parent.rename(away)
                path.parent.write_text("no folder")
            if number == 2:
                path.parent.unlink()
                away.rename(path.parent)
            talk += [ask(client, talk), {"role": "user", "content": f"U{number}"}]
            told.append((recorder.tally.recorded, recorder.tally.lost))
    (found,) = recorded(path)
    assert [(s.user, s.reply.text) for s in found.steps] == [
        (None, "R0"), ("U0", "R1"), ("U1", "R2"), ("U2", "R3"),
    ]  # fmt: skip
    assert (told, recorder.tally.cause) == ([(1, 0), (1, 1), (3, 0), (4, 0)], None)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file/a.jsonl", "Not a directory"),
        ("file/deep/a.jsonl", "Not a directory"),
        pytest.param("/proc/a.jsonl", "No such file or directory", marks=pytest.mark.skipif(
            not Path("/proc/self").exists(), reason="needs /proc")),
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, place: str, reason: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(HarnessError, match=f"a.jsonl: cannot be written: {reason}"):
        Recorder(tmp_path / place)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


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
            http.post("http://127.0.0.1:9/v1/embeddings", json={})
    assert caplog.text.count("calls of /v1/embeddings are not recorded") == 1
    assert not (tmp_path / "a.jsonl").exists()
