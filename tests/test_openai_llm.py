"""Roles answered by a live server: model by class, token counts, errors that stay replies."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from harness.clock import VirtualClock
from harness.llm import Request
from harness.openai_llm import OpenAILLM, calls_from, usage_from
from harness.preset import load_preset
from harness.trace import Usage
from tests.openai_server import KEY, call, say, serving

MESSAGES = ({"role": "system", "content": "Judge."}, {"role": "user", "content": "Done."})


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 100, "completion_tokens": 20}, Usage(100, 0, 0, 20, 0)),
        (
            {"prompt_tokens": 100, "completion_tokens": 20,
             "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
             "completion_tokens_details": {"reasoning_tokens": 5}},
            Usage(6, 64, 30, 15, 5),
        ),
        # Parts never exceed the whole, whatever a server sends.
        (
            {"prompt_tokens": 10, "completion_tokens": 2,
             "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 9},
             "completion_tokens_details": {"reasoning_tokens": 5}},
            Usage(0, 10, 0, 0, 2),
        ),
        ({"prompt_tokens": 7, "completion_tokens": None, "prompt_tokens_details": None}, Usage(7)),
    ],
)  # fmt: skip
def test_the_five_counts_do_not_overlap(data: Any, usage: Usage | None) -> None:
    assert usage_from(data) == usage


def test_each_role_is_asked_of_its_own_model() -> None:
    with serving(script=lambda body: say(body["model"])) as server, server.client() as client:
        llm = OpenAILLM.for_preset(client, load_preset("strict"), models={"fast": "small"})
        texts = {
            role: llm.ask(Request(role, 1, 1, MESSAGES)).text
            for role in ("judge", "reflection", "perception", "continuity")
        }
    assert texts == {
        "judge": "gpt-4o", "reflection": "gpt-4o", "perception": "small", "continuity": "small",
    }  # fmt: skip


def test_a_reply_has_price_time_and_what_it_was_asked_with() -> None:
    clock = VirtualClock()

    def script(body: dict[str, Any]) -> dict[str, Any]:
        clock.advance(250)
        return say("{}")

    with serving(script=script) as server, server.client() as client:
        llm = OpenAILLM(client, clock=clock, settings={"seed": 7, "max_tokens": None})
        request = Request("judge", 3, 1, MESSAGES, {"temperature": 0, "max_tokens": 4096})
        reply = llm.ask(request)
    assert (reply.role, reply.model, reply.ms, reply.finish_reason) == (
        "judge", "gpt-4o-mini", 250, "stop",
    )  # fmt: skip
    assert reply.usage == Usage(36, 64, 0, 15, 5)
    assert reply.cost is not None
    assert reply.cost > 0
    assert reply.request_hash == request.hash
    sent = server.requests[0]
    assert (sent["temperature"], sent["seed"]) == (0, 7)
    assert "max_tokens" not in sent


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (say("slow down", status=429), "HTTP 429"),
        (say("not that key", status=401), "not that key"),
        (say("oops", status=500), "HTTP 500"),
        (say(raw={"id": "c", "choices": []}), "IndexError"),
        (say(raw={"nothing": "here"}), "KeyError"),
        (say(raw=[1, 2]), "Error"),
    ],
)
def test_whatever_fails_is_a_reply_with_an_error(reply: dict[str, Any], words: str) -> None:
    with serving(reply) as server, server.client() as client:
        found = OpenAILLM(client).ask(Request("judge", 1, 1, MESSAGES))
    assert found.error is not None
    assert words in found.error
    assert "\n" not in found.error
    assert found.text == ""


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (httpx2.ReadTimeout("silence"), "timed out: APITimeoutError"),
        (httpx2.ConnectError("refused"), "APIConnectionError"),
        (ValueError("a transport of somebody's own"), "ValueError: a transport"),
    ],
)
def test_transport_errors_too(raised: Exception, words: str) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        raise raised

    http = httpx2.Client(transport=httpx2.MockTransport(handle))
    with openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:9/v1", max_retries=0,
                       http_client=http) as client:  # fmt: skip
        found = OpenAILLM(client).ask(Request("judge", 1, 1, MESSAGES))
    assert found.error is not None
    assert words in found.error


def test_roles_that_are_not_answered_abstain() -> None:
    with serving() as server, server.client() as client:
        llm = OpenAILLM(client, only=["judge"])
        assert llm.knows("judge", 9, 1)
        assert not llm.knows("perception", 1, 1)
        assert OpenAILLM(client).knows("perception", 1, 1)


def test_calls_are_read_whatever_their_arguments_are() -> None:
    message = {"tool_calls": [
        call("a", {"x": 1}), call("b", "{not json"), call("c", ""), call("d", "[1]"),
        {"id": "e", "type": "custom", "custom": {"name": "e", "input": "print()"}},
    ]}  # fmt: skip
    found = [(c.tool, c.args, c.valid) for c in calls_from(message)]
    assert found == [
        ("a", {"x": 1}, True), ("b", "{not json", False), ("c", {}, True), ("d", [1], False),
        ("e", "print()", False),
    ]  # fmt: skip
    assert calls_from({"content": "no calls", "tool_calls": None}) == ()
