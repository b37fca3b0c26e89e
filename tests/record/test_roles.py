"""Who sends the same messages again: the same agent, or another one with the same task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from harness.clock import VirtualClock
from harness.record import Recorder
from harness.record.exchange import Exchange
from tests.openai_server import say
from tests.record.agents import TOOLS, recorded
from tests.record.test_leaving import NOWHERE, Way, part_of, stopping, ways
from tests.wire.providers import deltas, events, responses, says, text

TASK = [{"role": "user", "content": "Go."}]
#: One request: when in seconds, what else it says, what comes of it.
Sent = tuple[float, dict[str, Any], str]
#: What is recorded of a reply: its text, its finish reason, whether it is an error.
Told = tuple[str, str | None, bool]
CUT: Told = ("Half", "cut", False)
UNUSED: Told = ("Half", None, True)
FAILED: Told = ("", None, True)
WHOLE: Told = ("Whole", "stop", False)
PLAN, CODE = {"system": "Plan."}, {"system": "Code."}


def begin(recorder: Recorder, said: dict[str, Any], **headers: str) -> Exchange:
    rest = dict(said)
    system, talk = rest.pop("system", None), rest.pop("talk", TASK)
    head = [] if system is None else [{"role": "system", "content": system}]
    body = {"model": "m", "stream": True, "messages": [*head, *talk], **rest}
    url, content = "/v1/chat/completions", json.dumps(body).encode()
    found = recorder.begin("POST", url, headers, content)
    assert isinstance(found, Exchange)
    return found


def finish(exchange: Exchange, end: str) -> None:
    """What comes of it: it is left (``cut``), it fails (``fail``), or it is whole."""
    if end == "fail":
        exchange.begin(500, {})
    else:
        exchange.begin(200, {"content-type": "text/event-stream"})
        half = deltas({"content": "Half"}).partition(b"\n\n")[0] + b"\n\n"
        exchange.chunk(half if end == "cut" else deltas({"content": "Whole"}))
    exchange.done(cut=end == "cut")


def told(path: Path) -> list[list[Told]]:
    replies = [[step.reply for step in each.steps] for each in recorded(path)]
    return [[(r.text, r.finish_reason, r.error is not None) for r in each] for each in replies]


def on(text: str, observed: str) -> dict[str, Any]:
    said = {"role": "assistant", "content": text}
    return {"talk": [*TASK, said, {"role": "user", "content": observed}]}


# Name, idle time, the requests, the episodes.
CASES: list[tuple[str, float | None, list[Sent], list[list[Told]]]] = [
    ("the same again", None, [(0, {}, "cut"), (1, {}, "")], [[UNUSED, WHOLE]]),
    ("a router and a specialist", None,
     [(0, {**PLAN, "model": "small"}, "cut"), (1, {**CODE, "model": "big"}, "")],
     [[CUT], [WHOLE]]),
    ("other tools", None, [(0, {}, "cut"), (1, {"tools": TOOLS}, "")], [[CUT], [WHOLE]]),
    ("best of three", None, [(0, {"seed": n}, "cut") for n in range(3)], [[CUT], [CUT], [CUT]]),
    ("after the idle time", 1, [(0, {}, "cut"), (3, {}, "")], [[CUT], [WHOLE]]),
    ("within the idle time", 5, [(0, {}, "cut"), (3, {}, "")], [[UNUSED, WHOLE]]),
    ("the first of two again", None,
     [(0, PLAN, "cut"), (1, CODE, "cut"), (2, PLAN, ""), (3, CODE, "")],
     [[UNUSED, WHOLE], [UNUSED, WHOLE]]),
    # More was read than used, so that the reply does not tell them apart.
    ("two that go on", None,
     [(0, PLAN, "cut"), (1, CODE, "cut"), (2, {**PLAN, **on("H", "P")}, "cut"),
      (3, {**CODE, **on("H", "C")}, ""), (4, {**PLAN, **on("H", "P")}, "")],
     [[CUT, UNUSED, WHOLE], [CUT, WHOLE]]),
    ("a role gives up", None, [(0, PLAN, "fail"), (1, CODE, "")], [[FAILED], [WHOLE]]),
    ("another model after a failure", None,
     [(0, {"model": "a"}, "fail"), (1, {"model": "b", "temperature": 0}, "")], [[FAILED, WHOLE]]),
    ("other tools after a failure", None,
     [(0, {}, "fail"), (1, {"tools": TOOLS}, "")], [[FAILED], [WHOLE]]),
    ("a failure on the way", None,
     [(0, PLAN, ""), (1, {**CODE, **on("Whole", "P")}, "fail"),
      (2, {**CODE, **on("Whole", "P")}, "")], [[WHOLE, FAILED, WHOLE]]),
    ("another role after a failure on the way", None,
     [(0, PLAN, ""), (1, {**PLAN, **on("Whole", "P")}, "fail"),
      (2, {**CODE, **on("Whole", "P")}, "")], [[WHOLE, FAILED], [WHOLE]]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "idle_s", "sent", "episodes"), CASES)
def test_the_same_messages_again(
    tmp_path: Path, name: str, idle_s: float | None, sent: list[Sent], episodes: list[list[Told]]
) -> None:
    clock = VirtualClock()
    recorder = Recorder(tmp_path / "a.jsonl", clock=clock, idle_s=idle_s)
    for at, said, end in sent:
        clock.advance(round(at * 1000) - clock.now_ms())
        finish(begin(recorder, said), end)
    assert told(tmp_path / "a.jsonl") == episodes


def test_of_two_that_failed_at_once_the_one_with_the_same_settings_goes_on(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.jsonl")
    for each in [begin(recorder, {"seed": seed}) for seed in (1, 2)]:
        finish(each, "fail")
    finish(begin(recorder, {"seed": 1}), "")
    assert told(tmp_path / "a.jsonl") == [[FAILED, WHOLE], [FAILED]]


def test_only_the_same_request_is_a_retry(tmp_path: Path) -> None:
    """A client repeats a request as it was; whoever asks otherwise failed before."""
    recorder = Recorder(tmp_path / "a.jsonl")
    for seed in (1, 1, 2):
        finish(begin(recorder, {"seed": seed}, **{"x-stainless-retry-count": "1"}), "fail")
    assert told(tmp_path / "a.jsonl") == [[FAILED, FAILED]]
    assert recorder.tally.retried == 1


def test_calls_at_once_under_one_header_leave_nothing_behind(tmp_path: Path) -> None:
    """One is left, the other ends: later the same messages are no longer the same again."""
    recorder = Recorder(tmp_path / "a.jsonl")
    both = [begin(recorder, {}, **{"x-harness-episode": "one"}) for _ in "ab"]
    for each, end in zip(both, ("cut", ""), strict=True):
        finish(each, end)
    finish(begin(recorder, {}), "")
    assert told(tmp_path / "a.jsonl") == [[CUT, WHOLE], [WHOLE]]


def stored(recorder: Recorder, name: str, *, end: str = "", **said: Any) -> None:
    """A request to a server that keeps the history, and its reply of a name."""
    body = {"model": "m", "input": "On.", **said}
    found = recorder.begin("POST", "/v1/responses", {}, json.dumps(body).encode())
    assert isinstance(found, Exchange)
    if end == "cut":
        found.begin(200, {"content-type": "text/event-stream"})
        found.chunk(events({"type": "response.created", "response": {"id": name}},
                           {"type": "response.output_text.delta", "delta": "Half"}))  # fmt: skip
    elif end == "fail":
        found.begin(500, {})
    else:
        found.begin(200, {})
        found.chunk(json.dumps({**responses(says(text("Whole"))), "id": name}).encode())
    found.done(cut=end == "cut")


A: dict[str, Any] = {"previous_response_id": "a"}


@pytest.mark.parametrize(
    ("idle_s", "second", "third", "episodes"),
    [
        (None, {**A, "end": "cut"}, A, [[WHOLE, UNUSED, WHOLE]]),
        (None, {**A, "end": "cut", "top_p": 0}, {**A, "top_p": 1}, [[WHOLE, CUT], [WHOLE]]),
        # A person broke it off, and says something else.
        (None, {**A, "end": "cut"}, {**A, "input": "No."}, [[WHOLE, CUT, WHOLE]]),
        (None, {**A, "end": "fail"}, {**A, "top_p": 1}, [[WHOLE, FAILED, WHOLE]]),
        (None, {**A, "end": "fail"}, {**A, "instructions": "Code."}, [[WHOLE, FAILED], [WHOLE]]),
        (5, A, {"previous_response_id": "b"}, [[WHOLE, WHOLE], [WHOLE]]),
        (50, A, {"previous_response_id": "b"}, [[WHOLE, WHOLE, WHOLE]]),
    ],
)
def test_where_the_server_keeps_the_history(
    tmp_path: Path, idle_s: float | None, second: dict[str, Any], third: dict[str, Any],
    episodes: list[list[Told]],
) -> None:  # fmt: skip
    clock = VirtualClock()
    recorder = Recorder(tmp_path / "a.jsonl", clock=clock, idle_s=idle_s)
    stored(recorder, "a", input="Go.")
    stored(recorder, "b", **second)
    clock.advance(9000)
    stored(recorder, "c", **third)
    assert told(tmp_path / "a.jsonl") == episodes


async def routes(client: openai.AsyncOpenAI) -> str:
    """A router reads the first word of a stream; a specialist gets the same task."""
    await part_of(client, enough=1)
    made = await client.chat.completions.create(
        model="big",
        messages=[{"role": "system", "content": "Solve."},
                  {"role": "user", "content": "Open the door."}],
    )  # fmt: skip
    return str(made.choices[0].message.content)


@ways
def test_a_router_and_a_specialist(tmp_path: Path, way: Way) -> None:
    path = tmp_path / "a.jsonl"
    with stopping(say("word " * 20), say("The end."), events=12) as server:
        assert way(Recorder(path), server.url, routes) == "The end."
    assert [[finish for _, finish, _ in each] for each in told(path)] == [["cut"], ["stop"]]
    tape = Recorder(path, mode="none")
    assert way(tape, NOWHERE, routes) == "The end."
    assert (tape.tally.answered, tape.tally.missed, tape.tally.drifted) == (2, [], [])
