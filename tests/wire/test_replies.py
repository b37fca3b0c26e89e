"""Rare kinds of replies are answered again as they were, and what cannot be is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness import load
from harness.record import Recorder
from harness.scenario import SCHEMA
from harness.wire import FORMATS, events_in
from tests.openai_server import KEY, call
from tests.wire.providers import (
    CHAT,
    MESSAGES,
    RESPONSES,
    URL,
    chat,
    core,
    deltas,
    events,
    messages,
    record,
    replay,
    responses,
    says,
    text,
    through,
)

REFUSAL = {"type": "refusal", "refusal": "I cannot."}
SQL = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": '{"a": 1}'}}
CHAT_SQL = {"tools": [{"type": "custom", "custom": {"name": "sql"}}]}
PATCH = {"type": "custom_tool_call", "id": "ct", "call_id": "c1", "status": "completed",
         "name": "patch", "input": "*** Begin"}  # fmt: skip
PATCH_TOOL = {"tools": [{"type": "custom", "name": "patch"}]}
LOOK = {"name": "look", "arguments": '{"at":"door"}'}
TOOL_USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
#: Anthropic calls its ordinary tools custom.
LOOK_TOOL = {"tools": [{"type": "custom", "name": "look", "input_schema": {"type": "object"}}]}


def _text_block(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


# Name, route, what else is asked, the reply, its recorded finish reason and calls.
KEPT: list[tuple[str, str, dict[str, Any], dict[str, Any], str, list[Any]]] = [
    ("chat refusal", CHAT, {}, chat({"content": None, "refusal": "I cannot."}), "stop: refusal",
     []),
    ("responses refusal", RESPONSES, {}, responses(says(REFUSAL)), "stop: refusal", []),
    ("chat custom", CHAT, CHAT_SQL, chat({"content": None, "tool_calls": [SQL]}, "tool_calls"),
     "tool_calls", [("sql", '{"a": 1}')]),
    ("responses custom", RESPONSES, PATCH_TOOL, responses(PATCH), "tool_calls",
     [("patch", "*** Begin")]),
    ("responses custom, empty", RESPONSES, PATCH_TOOL, responses({**PATCH, "input": ""}),
     "tool_calls", [("patch", None)]),
    ("chat function", CHAT, {"functions": [{"name": "look"}]},
     chat({"content": None, "function_call": LOOK}, "function_call"), "function_call",
     [("look", {"at": "door"})]),
    ("messages stop sequence", MESSAGES, {"stop_sequences": ["Observation:", "\n\n: x"]},
     messages(_text_block("Hm."), stop="stop_sequence", sequence="\n\n: x"),
     "stop_sequence: \n\n: x", []),
    ("messages refusal", MESSAGES, {}, messages(_text_block("I cannot."), stop="refusal"),
     "content_filter", []),
    ("messages custom", MESSAGES, LOOK_TOOL, messages(TOOL_USE, stop="tool_use"), "tool_calls",
     [("look", None)]),
    ("chat, a text for arguments", CHAT, {},
     chat({"content": None, "tool_calls": [call("look", '"door"')]}, "tool_calls"), "tool_calls",
     [("look", '"door"')]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "route", "more", "body", "finish", "calls"), KEPT)
def test_a_reply_comes_back_as_it_was(
    tmp_path: Path, name: str, route: str, more: dict[str, Any], body: dict[str, Any],
    finish: str, calls: list[Any],
) -> None:  # fmt: skip
    path = tmp_path / "a.jsonl"
    step, recorder = record(path, route, body, **more)
    assert (step.reply.finish_reason, [(c.tool, c.args) for c in step.calls]) == (finish, calls)
    assert recorder.tally.others == {}
    found = core(replay(path, route, **more).json())
    said = "choices" if route == CHAT else "output" if route == RESPONSES else "content"
    about = ("stop_reason", "stop_sequence") if route == MESSAGES else ()
    assert {key: found[key] for key in (said, *about)} == {
        key: core(body)[key] for key in (said, *about)
    }
    # Streamed it is the same reply.
    form = next(each for each in FORMATS if route in each.route)
    whole = replay(path, route, **more).json()
    streamed = form.streamed(events_in(replay(path, route, **more, stream=True).text))
    (before,), (after,) = form.reply(whole)["choices"], streamed["choices"]
    # No text is null or empty.
    before["message"]["content"] = before["message"]["content"] or after["message"]["content"]
    assert after == before


def _part(name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": arguments}}


_AT, _DOOR = '{"at":', '"door"}'
# Two calls in parts, as servers number them, or do not: by index, by id, by neither.
PARTS: list[tuple[str, list[dict[str, Any]]]] = [
    ("chat calls by index",
     [_part("open", "", index=1, id="b"), _part("look", _AT, index=0, id="a"),
      _part(None, "{}", index=1), _part(None, _DOOR, index=0)]),
    ("chat calls of one index",
     [_part("look", _AT, index=0, id="a"), _part(None, _DOOR, index=0),
      _part("open", "{}", index=0, id="b")]),
    ("chat calls without index",
     [_part("look", _AT, id="a"), _part(None, _DOOR), _part("open", "{}", id="b")]),
    ("chat calls without index, mixed",
     [_part("look", _AT, id="a"), _part("open", "{", id="b"), _part(None, _DOOR, id="a"),
      _part(None, "}", id="b")]),
    ("chat calls with an id for each part",
     [_part("look", _AT, index=0, id="a"), _part(None, _DOOR, index=0, id="a2"),
      _part("open", "", index=1, id="b"), _part(None, "{}", index=1, id="b2")]),
]  # fmt: skip


# Name, route, the events of a reply, its recorded finish reason, text and calls.
STREAMED: list[tuple[str, str, bytes, str | None, str, list[Any]]] = [
    ("chat refusal", CHAT, deltas({"role": "assistant", "content": "", "refusal": None},
                                  {"refusal": "I can"}, {"refusal": "not."}),
     "stop: refusal", "I cannot.", []),
    ("chat custom", CHAT,
     deltas({"tool_calls": [{"index": 0, **SQL, "custom": {"name": "sql", "input": ""}}]},
            {"tool_calls": [{"index": 0, "custom": {"input": '{"a": '}}]},
            {"tool_calls": [{"index": 0, "custom": {"input": "1}"}}]}, finish="tool_calls"),
     "tool_calls", "", [("sql", '{"a": 1}')]),
    *(
        (name, CHAT, deltas(*({"tool_calls": [each]} for each in parts), finish="tool_calls"),
         "tool_calls", "", [("look", {"at": "door"}), ("open", None)])
        for name, parts in PARTS
    ),
    ("chat function", CHAT, deltas({"function_call": {"name": "look", "arguments": ""}},
                                   {"function_call": {"arguments": '{"at":"door"}'}},
                                   finish="function_call"),
     "function_call", "", [("look", {"at": "door"})]),
    ("responses refusal, torn", RESPONSES,
     events({"type": "response.refusal.delta", "delta": "I can"},
            {"type": "response.refusal.delta", "delta": "not."}), None, "I cannot.", []),
    ("responses custom, torn", RESPONSES,
     events({"type": "response.output_item.added", "output_index": 0,
             "item": {**PATCH, "input": ""}},
            {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "***"}),
     None, "", [("patch", "***")]),
    ("messages stop sequence", MESSAGES,
     events({"type": "message_start", "message": messages()},
            {"type": "content_block_start", "index": 0, "content_block": _text_block("")},
            {"type": "content_block_delta", "index": 0,
             "delta": {"type": "text_delta", "text": "Hm."}},
            {"type": "message_delta",
             "delta": {"stop_reason": "stop_sequence", "stop_sequence": "Observation:"}},
            {"type": "message_stop"}),
     "stop_sequence: Observation:", "Hm.", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "route", "body", "finish", "said", "calls"), STREAMED)
def test_streamed_replies_are_read_the_same(
    tmp_path: Path, name: str, route: str, body: bytes, finish: str | None, said: str,
    calls: list[Any],
) -> None:  # fmt: skip
    reply = (step := record(tmp_path / "a.jsonl", route, body, stream=True)[0]).reply
    assert (reply.finish_reason, reply.text, [(c.tool, c.args) for c in step.calls]) == (
        finish, said, calls,
    )  # fmt: skip


def test_the_client_of_openai_reads_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, RESPONSES, responses(says(REFUSAL)))
    found: list[str] = []
    for _ in range(2):
        with through(Recorder(path, mode="none")) as http:
            client = openai.OpenAI(base_url=URL, api_key=KEY, http_client=http)
            if not found:
                made = client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "Go."}]
                )
                found.append(made.choices[0].message.refusal or "")
            else:
                with client.responses.stream(model="m", input="Go.") as stream:
                    found += [e.delta for e in stream if e.type == "response.refusal.delta"]
    assert found == ["I cannot.", "I cannot."]


def test_results_of_functions_go_to_their_calls(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    script = [chat({"content": None, "function_call": LOOK}, "function_call"),
              chat({"content": "It is open."})]  # fmt: skip

    def agent(recorder: Recorder) -> list[Any]:
        talk: list[Any] = [{"role": "user", "content": "Open the door."}]
        for made in script:
            with through(recorder, made) as http:
                body = {"model": "m", "messages": talk, "functions": [{"name": "look"}]}
                answer = http.post(f"{URL}/{CHAT}", json=body).json()["choices"][0]["message"]
            talk += [answer, {"role": "function", "name": "look", "content": "closed"}]
        return core(talk[:-1])

    before = agent(Recorder(path))
    (found,) = load([path])
    assert [(c.tool, c.args, c.result) for c in found.steps[0].calls] == [
        ("look", {"at": "door"}, "closed")
    ]
    assert (list(found.tools or ()), found.steps[1].reply.text) == (["look"], "It is open.")
    replayer = Recorder(path, mode="none")
    assert agent(replayer) == before
    assert (replayer.tally.answered, replayer.tally.drifted) == (2, [])


# Route, the reply, what of it is left out.
LEFT: list[tuple[str, Any, list[str]]] = [
    (CHAT, chat({"content": "a", "reasoning_content": "Hm.", "reasoning": "Hm."}), ["reasoning"]),
    (CHAT, chat({"content": None, "audio": {"id": "a"}, "images": []}), ["audio"]),
    (CHAT, chat({"content": "a", "refusal": "b"}, logprobs={"content": []}),
     ["logprobs", "refusal beside text"]),
    (CHAT, chat({"content": [_text_block("a")]}), ["content in parts"]),
    (CHAT, {**chat({}), "choices": [{"index": n, "message": {"content": "a"}} for n in (0, 1)]},
     ["choices beyond the first"]),
    (CHAT, events(*({"choices": [{"index": n, "delta": {"content": "a"}}]} for n in (0, 1))),
     ["choices beyond the first"]),
    (CHAT, deltas({"content": "a"}, {"reasoning": "Hm."}, {"refusal": "b"}),
     ["reasoning", "refusal beside text"]),
    (RESPONSES, responses({"type": "reasoning", "id": "r"}, says(text("a"))), ["reasoning"]),
    (RESPONSES, responses({"type": "shell_call", "call_id": "c"}, {"type": "web_search_call"}),
     ["shell_call", "web_search_call"]),
    (RESPONSES, responses(PATCH, says(text("a"))), ["order of texts and calls"]),
    (RESPONSES, responses(says(text("a"), REFUSAL)), ["order of texts and calls"]),
    (RESPONSES, responses(says(text("a", annotations=[{}], logprobs=[{}]))),
     ["annotations", "logprobs"]),
    (MESSAGES, messages(_text_block("A"), TOOL_USE, _text_block("B"), stop="tool_use"),
     ["order of texts and calls"]),
    (MESSAGES, messages({"type": "thinking"}, _text_block("A", citations=[{}]), TOOL_USE,
                        _text_block("")), ["citations", "reasoning"]),
    (MESSAGES, messages({"type": "server_tool_use"}, {"type": "redacted_thinking"}),
     ["reasoning", "server_tool_use"]),
    (MESSAGES, events({"type": "content_block_start", "content_block": _text_block("")},
                      {"type": "content_block_delta",
                       "delta": {"type": "text_delta", "text": "A"}},
                      {"type": "content_block_delta",
                       "delta": {"type": "citations_delta", "citation": {}}},
                      {"type": "message_stop"}), ["citations"]),
]  # fmt: skip


@pytest.mark.parametrize(("route", "body", "names"), LEFT)
def test_what_cannot_be_recorded_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, route: str, body: Any, names: list[str]
) -> None:
    recorder = Recorder(tmp_path / "a.jsonl")
    with through(recorder, body) as http:
        for goal in ("Go.", "Go on."):
            told = {"messages": [{"role": "user", "content": goal}], "input": goal}
            http.post(f"{URL}/{route}", json={"model": "m", **told})
    assert recorder.tally.others == {f"{name} of replies": 2 for name in names}
    assert [r.getMessage() for r in caplog.records] == [
        f"recorder: {name} of replies cannot be recorded" for name in names
    ]


# Finish reasons of recordings from elsewhere or before are said as they are.
@pytest.mark.parametrize(
    ("route", "finish", "found"),
    [
        (CHAT, "stop", "stop"), (CHAT, "a: b", "a: b"), (CHAT, "function_call", "function_call"),
        (CHAT, "stop_sequence", "stop_sequence"), (CHAT, "stop_sequence: Hm:", "stop"),
        (MESSAGES, "stop", "end_turn"), (MESSAGES, "stop_sequence", "stop_sequence"),
        (MESSAGES, "stop: refusal", "end_turn"), (MESSAGES, "stop_sequence: Hm:", "stop_sequence"),
    ],
)  # fmt: skip
def test_finish_reasons_of_other_recordings(
    tmp_path: Path, route: str, finish: str, found: str
) -> None:
    path = tmp_path / "a.jsonl"
    step = {"reply": {"text": "Hm.", "finish_reason": finish}}
    path.write_text(json.dumps({"schema": SCHEMA, "id": "a/1", "goal": "Go.", "steps": [step]}))
    answer: httpx2.Response = replay(path, route)
    data = answer.json()
    assert (data["stop_reason"] if route == MESSAGES else data["choices"][0]["finish_reason"]) == (
        found
    )
