"""What OpenAI's APIs of today write: custom calls, Responses, batches, refusals, audio."""

from __future__ import annotations

from typing import Any

import pytest

from harness.importers import detect
from tests.importers.chat_runs import ASK, DONE, HEAT, HOT, One, Refused, Write, read, run, say

FORMAT = "chat"
CUSTOM = {"id": "a", "type": "custom", "custom": {"name": "py", "input": "print(1)"}}
PY = [{"tool": "py", "args": {"input": "print(1)"}, "result": "hot", "ok": True}]


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def said(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return item("message", id="m", role="assistant", content=content, **more)


THINK = item("reasoning", id="r", summary=[])
LOOK = item("function_call", call_id="a", name="look", arguments='{"at": "pot"}')
POUR = item("custom_tool_call", call_id="b", name="pour", input="all of it")
SEEN = item("function_call_output", call_id="a", output="full")
POURED = item("custom_tool_call_output", call_id="b",
              output=[{"type": "input_text", "text": "done"}])  # fmt: skip
LOOKED = {"tool": "look", "args": {"at": "pot"}, "result": "full", "ok": True}
POURS = {"tool": "pour", "args": {"input": "all of it"}, "result": "done", "ok": True}
USAGE = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3}
COUNTED = {"input": 6, "cache_read": 4, "output": 3}


def test_custom_calls(one: One) -> None:
    tools = [{"type": "custom", "custom": {"name": "py"}}, {"type": "function", "name": "heat"},
             {"type": "web_search"}]  # fmt: skip
    made = one(run(ASK, say("assistant", None, tool_calls=[CUSTOM]), HOT, DONE, tools=tools))
    assert made["steps"][0]["calls"] == PY
    assert made["tools"] == ["py", "heat", "web_search"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (say("assistant", None, refusal="I cannot."), "I cannot."),
        (say("assistant", "", refusal="I cannot."), "I cannot."),
        (say("assistant", "It boils.", refusal=None), "It boils."),
        (say("assistant", [{"type": "refusal", "refusal": "I cannot."}]), "I cannot."),
        (say("assistant", [{"type": "refusal"}]), "[refusal]"),
        (say("assistant", None, audio={"id": "x", "transcript": "It boils."}), "It boils."),
        (say("assistant", None, audio={"id": "x"}), None),
        (say("assistant", [{"type": "output_audio", "transcript": "It boils."}]), "It boils."),
    ],
)
def test_what_is_said(one: One, message: dict[str, Any], text: str | None) -> None:
    (step,) = one(run(ASK, message))["steps"]
    assert step.get("reply", {}).get("text") == text


@pytest.mark.parametrize(
    ("items", "steps"),
    [
        ([ASK, LOOK, SEEN], [{"calls": [LOOKED]}]),
        # All of a reply is one step.
        ([ASK, THINK, said("I look."), LOOK, POUR, SEEN, POURED, said("Full.")],
         [{"reply": {"text": "I look."}, "calls": [LOOKED, POURS]}, {"reply": {"text": "Full."}}]),
        ([ASK, POUR, POURED, say("user", "And?"), say("assistant", "Full.")],
         [{"calls": [POURS]}, {"user": "And?", "reply": {"text": "Full."}}]),
        # What the provider's own tools did is said by nobody.
        ([ASK, item("web_search_call", id="w", status="completed"), said("Full.")],
         [{"reply": {"text": "Full."}}]),
        ([ASK, item("item_reference", id="i"), said("I look."),
          item("file_search_call", id="f"), LOOK, SEEN],
         [{"reply": {"text": "I look."}, "calls": [LOOKED]}]),
        ([say("system", "Cook."), ASK, LOOK, SEEN, said("Fu", status="incomplete")],
         [{"calls": [LOOKED]}, {"reply": {"text": "Fu", "finish_reason": "incomplete"}}]),
        # An order of no meaning: two replies with nothing between are one.
        ([ASK, LOOK, POUR, SEEN, POURED], [{"calls": [LOOKED, POURS]}]),
    ],
)  # fmt: skip
def test_items_of_responses(one: One, items: list[Any], steps: list[Any]) -> None:
    for line in ({"input": items}, {"messages": items}, {"input": items[:2], "output": items[2:]}):
        found = one(line)
        assert found["steps"] == steps
        assert found["goal"] == "Boil water."


@pytest.mark.parametrize("key", ["top", "response", "output"])
def test_a_whole_response_beside_its_input(one: One, key: str) -> None:
    whole = {"object": "response", "model": "gpt-5", "status": "incomplete", "usage": USAGE,
             "incomplete_details": {"reason": "max_output_tokens"}, "output": [said("Fu")],
             "tools": [{"type": "function", "name": "look"}], "error": None}  # fmt: skip
    line = {"input": [ASK, LOOK, SEEN], **(whole if key == "top" else {key: whole})}
    found = one(line)
    first, last = found["steps"]
    assert first["calls"] == [LOOKED]
    assert last["reply"] == {"text": "Fu", "model": "gpt-5", "usage": COUNTED,
                             "finish_reason": "max_output_tokens"}  # fmt: skip
    assert found["recorded"] == {}


COMPLETION = {"object": "chat.completion", "model": "gpt-4o",
              "choices": [{"index": 0, "message": DONE, "finish_reason": "stop"}],
              "usage": {"prompt_tokens": 3, "completion_tokens": 2}}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (COMPLETION, {"text": "It boils.", "model": "gpt-4o", "finish_reason": "stop",
                      "usage": {"input": 3, "output": 2}}),
        ({"object": "response", "status": "completed", "output": [said("It boils.")],
          "usage": USAGE}, {"text": "It boils.", "finish_reason": "completed", "usage": COUNTED}),
        ({"error": {"message": "too long", "code": "x"}}, {"error": "too long"}),
    ],
)  # fmt: skip
def test_a_batch(write_lines: Write, body: dict[str, Any], reply: dict[str, Any]) -> None:
    line = {"id": "batch_req_1", "custom_id": "kettle-1", "error": None,
            "response": {"status_code": 200, "request_id": "r", "body": body}}  # fmt: skip
    path = write_lines(line, {**line, "custom_id": "kettle-2"}, name="out.jsonl")
    found = read(path)
    assert [(one["id"], one["goal"], one["steps"]) for one in found] == [
        ("out/kettle-1", "", [{"reply": reply}]),
        ("out/kettle-2", "", [{"reply": reply}]),
    ]
    assert detect(path) == "chat"


EXPIRED = {"code": "batch_expired", "message": "This request could not be executed in time."}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"response": None, "error": EXPIRED}, EXPIRED["message"]),
        ({"error": EXPIRED}, EXPIRED["message"]),
        ({"response": {"status_code": 500, "body": None}, "error": EXPIRED}, EXPIRED["message"]),
        ({"response": None, "error": {"code": "batch_expired"}}, '{"code": "batch_expired"}'),
    ],
)
def test_a_batch_line_without_a_response(
    write_lines: Write, more: dict[str, Any], words: str
) -> None:
    """First of its file, as well as later on."""
    line = {"id": "b", "custom_id": "k", **more}
    good = {"id": "c", "custom_id": "l", "response": {"status_code": 200, "body": COMPLETION}}
    for lines in ((line, good), (good, line)):
        path = write_lines(*lines, name="out.jsonl")
        found = {one["title"]: one for one in read(path)}
        assert found["k"]["steps"] == [{"reply": {"error": words}}]
        assert found["k"]["recorded"] == {}
        assert len(found) == 2
        assert detect(path) == "chat"


@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "k", "response": None, "error": None},
        {"response": None, "error": EXPIRED},
    ],
)
def test_no_batch_line(write_lines: Write, refused: Refused, line: dict[str, Any]) -> None:
    assert "needs one of the keys messages" in refused(write_lines(line))


def test_a_response_outranks_an_error_beside_it(one: One) -> None:
    found = one(run(ASK, custom_id="k", error=EXPIRED, response="Hot."))
    assert found["steps"] == [{"reply": {"text": "Hot."}}]


def test_chats_stay_as_they_are(one: One) -> None:
    found = one(run(ASK, say("assistant", "I think."), say("assistant", "I act."), HEAT, HOT))
    assert [step.get("reply") for step in found["steps"]] == [
        {"text": "I think."}, {"text": "I act."}, None
    ]  # fmt: skip
