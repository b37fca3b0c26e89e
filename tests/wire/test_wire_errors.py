"""Errors keep the type and the code that agents branch on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from harness.record import Recorder
from harness.scenario import SCHEMA
from harness.wire import events_in
from harness.wire.errors import error_from, error_words
from tests.openai_server import KEY
from tests.wire.providers import (
    CHAT,
    MESSAGES,
    RESPONSES,
    URL,
    chat,
    events,
    record,
    replay,
    through,
)

LENGTH = {"message": "too\nlong", "type": "invalid_request_error", "param": "messages",
          "code": "context_length_exceeded"}  # fmt: skip
LENGTH_WORDS = (
    'HTTP 400: too long {"type":"invalid_request_error","code":"context_length_exceeded",'
    '"param":"messages"}'
)
QUOTA = {"message": "quota {}", "type": "insufficient_quota", "param": None,
         "code": "insufficient_quota"}  # fmt: skip
BUSY = {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.parametrize(
    ("route", "status", "body", "words", "answered"),
    [
        (CHAT, 400, {"error": LENGTH}, LENGTH_WORDS, {"error": {**LENGTH, "message": "too long"}}),
        # Some servers write the error itself, some of them a number as its code.
        (CHAT, 400, {**LENGTH, "code": 400, "object": "error"},
         LENGTH_WORDS.replace('"context_length_exceeded"', "400"),
         {"error": {**LENGTH, "message": "too long", "code": 400}}),
        (RESPONSES, 429, {"error": QUOTA},
         'HTTP 429: quota {} {"type":"insufficient_quota","code":"insufficient_quota"}',
         {"error": QUOTA}),
        (MESSAGES, 529, {"type": "error", "error": BUSY, "request_id": "req_1"},
         'HTTP 529: Overloaded {"type":"overloaded_error"}', {"type": "error", "error": BUSY}),
        (CHAT, 500, {"error": {"message": "oops"}}, "HTTP 500: oops",
         {"error": {"message": "oops", "type": "server_error", "param": None, "code": None}}),
    ],
)  # fmt: skip
def test_type_and_code_come_back(
    tmp_path: Path, route: str, status: int, body: Any, words: str, answered: Any
) -> None:
    path = tmp_path / "a.jsonl"
    step, _ = record(path, route, body, status=status)
    assert step.reply.error == words
    answer = replay(path, route)
    assert (answer.status_code, answer.json()) == (status, answered)
    # It would be no other one at another try.
    assert answer.headers["x-should-retry"] == "false"


def test_an_agent_that_branches_on_the_code_does_so_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def code(recorder: Recorder) -> str | None:
        with through(recorder, {"error": QUOTA}, status=429) as http:
            client = openai.OpenAI(base_url=URL, api_key=KEY, http_client=http, max_retries=0)
            with pytest.raises(openai.RateLimitError) as found:
                client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "Go."}]
                )
        return found.value.code

    assert (code(Recorder(path)), code(Recorder(path, mode="none"))) == (
        "insufficient_quota", "insufficient_quota",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("route", "body", "words", "said"),
    [
        (MESSAGES, events({"type": "error", "error": BUSY}),
         'Overloaded {"type":"overloaded_error"}', '"type":"overloaded_error"'),
        (CHAT, events({"choices": [{"index": 0, "delta": {"content": "a"}}]}, {"error": QUOTA}),
         'quota {} {"type":"insufficient_quota","code":"insufficient_quota"}',
         '"code":"insufficient_quota"'),
        (RESPONSES, events({"type": "error", "code": "rate_limit_exceeded", "message": "slow",
                            "param": None}),
         'slow {"code":"rate_limit_exceeded"}', '"error":{"code":"rate_limit_exceeded"'),
    ],
)  # fmt: skip
def test_errors_within_a_stream(
    tmp_path: Path, route: str, body: bytes, words: str, said: str
) -> None:
    path = tmp_path / "a.jsonl"
    step, _ = record(path, route, body, stream=True)
    assert step.reply.error == words
    assert said in replay(path, route, stream=True).text


@pytest.mark.parametrize(
    ("error", "words", "part"),
    [
        ({"message": "BadRequestError: too long", "code": 400},
         'BadRequestError: too long {"code":400}', "a"),
        ({"message": "BadRequestError: too long", "code": 400},
         'BadRequestError: too long {"code":400}', ""),
        ({"message": "ReadError: gone"}, "ReadError: gone", "a"),
        ({"message": "HTTP 503: gone", "type": "server_error"},
         'HTTP 503: gone {"type":"server_error"}', "a"),
    ],
)  # fmt: skip
def test_an_error_within_a_stream_is_none_before_it(
    tmp_path: Path, error: dict[str, Any], words: str, part: str
) -> None:
    """Whatever its words begin with: the part before it comes back, and then the error."""
    path = tmp_path / "a.jsonl"
    said = [{"choices": [{"index": 0, "delta": {"content": part}}]}] if part else []
    step, _ = record(path, CHAT, events(*said, {"error": error}), stream=True)
    assert (step.reply.text, step.reply.error) == (part, words)
    answer = replay(path, CHAT, stream=True)
    found = list(events_in(answer.text))
    deltas = [c["delta"].get("content") or "" for e in found for c in e.get("choices") or ()]
    assert (answer.status_code, "".join(deltas)) == (200, part)
    assert found[-1]["error"]["message"] == error["message"]


@pytest.mark.parametrize(
    "words", ["slow down", "a {}", 'a {"type":1', 'a {"type":"x","more":1}', "[]", ""]
)
def test_other_words_are_a_message(tmp_path: Path, words: str) -> None:
    assert error_from(words) == (words, {})
    path = tmp_path / "a.jsonl"
    step = {"reply": {"error": f"HTTP 429: {words}"}}
    path.write_text(json.dumps({"schema": SCHEMA, "id": "a/1", "goal": "Go.", "steps": [step]}))
    assert replay(path, CHAT).json()["error"] == {
        "message": words, "type": "invalid_request_error", "param": None, "code": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<html>", "<html>"),
        ('{"detail":"no"}', '{"detail":"no"}'),
        ('{"error":"no"}', "no"),
        ('[{"error":{"code":400}}]', '[{"error":{"code":400}}]'),
        ('{"error":{"type":"x"}}', '{"error":{"type":"x"}}'),
        (json.dumps({"error": {"message": "a" * 3000, "code": 1}}), f'{"a" * 2000} {{"code":1}}'),
    ],
)
def test_bodies_of_other_shapes(body: str, words: str) -> None:
    assert error_words(body) == words


def test_a_reply_without_an_error_has_none(tmp_path: Path) -> None:
    step, _ = record(tmp_path / "a.jsonl", CHAT, {**chat({"content": "a"}), "error": None})
    assert (step.reply.error, step.reply.text) == (None, "a")
