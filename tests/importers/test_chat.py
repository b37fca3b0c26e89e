"""The importer of a user's own runs in chat messages."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings
from tests.importers.chat_runs import (
    ASK,
    DONE,
    FORMAT,
    HEAT,
    HOT,
    One,
    Refused,
    Write,
    call,
    read,
    run,
    say,
)


def test_a_run_becomes_steps(one: One) -> None:
    line = run(
        say("system", "You make tea."),
        ASK,
        say("user", "In the kettle."),
        say(
            "assistant",
            "Heating.",
            tool_calls=[call("a", "heat", '{"to": 100}'), call("b", "look", "not json")],
            usage={
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 60},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        ),
        say("tool", "Error: dark", tool_call_id="b"),
        say("tool", [{"type": "text", "text": "hot"}], tool_call_id="a"),
        say("user", "And now?"),
        say("assistant", "It boils.", finish_reason="stop", ms=40),
        id="tea 7",
        model="model-x",
        outcome="success",
        score=0.5,
    )
    assert one(line) == {
        "schema": "harness/scenario@1",
        "id": "runs/tea-7",
        "title": "tea 7",
        "source": "chat:runs.jsonl",
        "goal": "Boil water.",
        "tags": ["chat"],
        "tools": ["heat", "look"],
        "steps": [
            {
                "user": "In the kettle.",
                "reply": {
                    "text": "Heating.",
                    "model": "model-x",
                    "usage": {"input": 40, "cache_read": 60, "output": 15, "reasoning": 5},
                },
                "calls": [
                    {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True},
                    {
                        "tool": "look",
                        "args": {"unparsed": "not json"},
                        "result": "Error: dark",
                        "ok": False,
                    },
                ],
            },
            {
                "user": "And now?",
                "reply": {
                    "text": "It boils.",
                    "model": "model-x",
                    "finish_reason": "stop",
                    "ms": 40,
                },
                "score": 0.5,
            },
        ],
        "recorded": {
            "exit_reason": "agent_finished",
            "exit_reason_source": "inferred",
            "outcome": "success",
        },
    }


RESPONSE = {
    "model": "model-y",
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hot."}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2},
}
REPLY = {
    "text": "Hot.",
    "model": "model-y",
    "finish_reason": "stop",
    "usage": {"input": 5, "output": 2},
}


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ([ASK, say("assistant", "Hot.")], {"text": "Hot."}),
        (run(ASK, say("assistant", [{"type": "text", "text": "Hot."}])), {"text": "Hot."}),
        (run(ASK, say("assistant", ["Hot", "."])), {"text": "Hot\n."}),
        (
            run(ASK, say("assistant", [{"type": "thinking", "thinking": "h"}, {"text": "Hot."}])),
            {"text": "Hot."},
        ),
        (
            run(ASK, say("assistant", [{"type": "image_url", "image_url": {}}])),
            {"text": "[image_url]"},
        ),
        (
            {"conversations": [{"from": "human", "value": "Boil water."},
                               {"from": "gpt", "value": "Hot."}]},
            {"text": "Hot."},
        ),
        (run(ASK, RESPONSE), REPLY),
        (run(ASK, {"role": "assistant", "response": RESPONSE}), REPLY),
        (run(ASK, **RESPONSE), REPLY),
        (run(ASK, response=RESPONSE), REPLY),
        (run(ASK, DONE, response="Hot."), {"text": "It boils."}),
        ({"request": {"messages": [ASK]}, "response": RESPONSE}, REPLY),
        ({"input": [ASK], "output": say("assistant", "Hot.")}, {"text": "Hot."}),
        ({"input": {"messages": [ASK]}, "output": {"content": "Hot."}}, {"text": "Hot."}),
        ({"input": "Boil water.", "output": "Hot."}, {"text": "Hot."}),
        ({"input": [ASK], "output": [say("ai", "Hot.")]}, {"text": "Hot."}),
        (run(ASK, say("assistant", "", error={"message": "HTTP 500"})), {"error": "HTTP 500"}),
        (run(ASK, {"type": "ai", "content": "Hot."}), {"text": "Hot."}),
    ],
)  # fmt: skip
def test_variants_in_the_wild(one: One, line: Any, reply: dict[str, Any]) -> None:
    recording = one(line)
    assert recording["goal"] == "Boil water."
    assert [step["reply"] for step in recording["steps"]] == [reply]


HEATED = {"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True}


@pytest.mark.parametrize(
    "messages",
    [
        (HEAT, HOT),
        (say("assistant", tool_calls=[call("a", "heat", {"to": 100})]), HOT),
        (say("assistant", tool_calls=[{"id": "a", "name": "heat", "args": {"to": 100}}]), HOT),
        (say("assistant", tool_calls=[call("a", "heat", '{"to": 100}')]), say("tool", "hot")),
        (
            say("assistant", function_call={"name": "heat", "arguments": '{"to": 100}'}),
            say("function", "hot", name="heat"),
        ),
        (
            say("assistant", [{"type": "tool_use", "id": "a", "name": "heat",
                               "input": {"to": 100}}]),
            say("user", [{"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "text", "text": "hot"}]}]),
        ),
        (
            {"from": "function_call", "value": '{"name": "heat", "arguments": {"to": 100}}'},
            {"from": "observation", "value": "hot"},
        ),
    ],
)  # fmt: skip
def test_shapes_of_a_call(one: One, messages: tuple[Any, ...]) -> None:
    steps = one(run(ASK, *messages, DONE))["steps"]
    assert [step.get("calls") for step in steps] == [[HEATED], None]
    assert "user" not in steps[1]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"content": "fine"}, {"ok": True}),
        ({"content": "Errors are rare"}, {"ok": True}),
        ({"content": "Error: no water"}, {"ok": False}),
        ({"content": "Traceback (most recent call last):\n ..."}, {"ok": False}),
        ({"content": "x", "is_error": True}, {"ok": False}),
        ({"content": "x", "status": "error"}, {"ok": False}),
        ({"content": "x", "status": "success"}, {"ok": True}),
        ({"content": '{"exit_code": 2}'}, {"ok": False, "exit_code": 2}),
        ({"content": '{"exit_code": 0}'}, {"ok": True, "exit_code": 0}),
        ({"content": '{"isError": true}'}, {"ok": False}),
        ({"content": '{"exit_code": true, "broken'}, {"ok": True}),
        ({"content": {"exit_code": 3}}, {"ok": False, "exit_code": 3}),
        ({"content": None}, {"ok": True}),
    ],
)
def test_which_calls_failed(one: One, more: dict[str, Any], expected: dict[str, Any]) -> None:
    (made,) = one(run(ASK, HEAT, {**HOT, **more}, DONE))["steps"][0]["calls"]
    assert {key: made[key] for key in ("ok", "exit_code") if key in made} == expected


@pytest.mark.parametrize("arguments", ["[1]", '{"to": ', '{"to": NaN}', "[" * 100_000, 7])
def test_arguments_that_are_no_object_are_a_failed_call(one: One, arguments: Any) -> None:
    message = say("assistant", tool_calls=[call("a", "heat", arguments)])
    (made,) = one(run(ASK, message, HOT, DONE))["steps"][0]["calls"]
    assert (made["args"], made["ok"]) == ({"unparsed": arguments}, False)


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (["look"], ["look", "heat"]),
        ([{"type": "function", "function": {"name": "look"}}], ["look", "heat"]),
        ([{"name": "heat"}], ["heat"]),
        ({"look": {}}, ["look", "heat"]),
        (None, ["heat"]),
    ],
)
def test_tools(one: One, tools: Any, names: list[str]) -> None:
    assert one(run(tools=tools))["tools"] == names
    assert one(run(functions=tools))["tools"] == names


def test_goal_and_user(one: One) -> None:
    system = say("developer", "Not the goal.")
    assert one(run(system, DONE))["goal"] == ""
    named = one(run(ASK, DONE, goal="Tea."))
    assert (named["goal"], named["steps"][0]) == ("Tea.", {"reply": {"text": "It boils."}})
    greeted = one(run(say("assistant", "Hello."), ASK, DONE))
    assert greeted["goal"] == greeted["steps"][1]["user"] == "Boil water."


def test_ids_stay_unique(write_lines: Write) -> None:
    lines = [run(id="a"), run(id="a"), run(), run(id=7), {**run(), "metadata": {"run_id": "b"}}]
    ids = [found["id"] for found in read(write_lines(*lines, name="my runs.v2.jsonl"))]
    assert ids == ["my-runs/" + end for end in ("a", "a-2", "run-0003", "7", "b")]


HOSTILE = {"role": "user", "content": "\x1b[31m<script>'; DROP TABLE runs; -- ../../etc \ud800"}


def test_hostile_text_is_only_text(one: One) -> None:
    recording = one(json.dumps(run(HOSTILE, DONE, id="../../etc/passwd\x1b")))
    assert recording["goal"] == HOSTILE["content"].replace("\ud800", "\N{REPLACEMENT CHARACTER}")
    assert recording["id"] == "runs/etc-passwd"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("text", "not JSON"),
        ('"text"', "expected an object with key 'metadata', found 'text'"),
        ({"prompts": []}, "needs one of the keys messages, conversations, conversation, input, "),
        ({"prompts": []}, "found keys: 'prompts'"),
        ({"messages": "hello"}, "key 'messages' must be a list of messages, found 'hello'"),
        ({"messages": {}}, "key 'messages' is missing; found keys: none"),
        (run(ASK), "holds no assistant message"),
        ({"messages": []}, "holds no assistant message"),
        (run("hello"), "message 1: must be an object with 'role' and 'content', found 'hello'"),
        (run(ASK, say("asistant")), "message 2: key 'role': found 'asistant' (did you mean"),
        (run(ASK, {"content": "x"}), "message 2: key 'role': found None"),
        (run(ASK, say("assistant", 7)), "message 2: key 'content' must be a text, a list of"),
        (run(say("assistant", [7])), "part 1: expected an object with key 'type', found 7"),
        (run(ASK, HOT), "message 2: a tool result must answer an open call of the turn before"),
        (run(ASK, HEAT, HOT, HOT), "message 4: a tool result must answer an open call"),
        (run(ASK, HEAT, {**HOT, "tool_call_id": "z"}), "found 'z'; choose from: a"),
        (run(ASK, say("assistant", tool_calls=[{}])), "tool call 1: key 'name' is missing"),
        (run(ASK, say("assistant", tool_calls="x")), "key 'tool_calls' must be a list, found 'x'"),
        (run(ASK, {"choices": []}), "message 2: key 'message' is missing; found keys: none"),
        (run(outcome=0.5), "key 'outcome' must be success, failure, unknown, true, false, 1 or 0"),
        (run(outcome="maybe"), "found 'maybe'"),
        (run(outcome=[]), "found []"),
        (run(exit_reason="tired"), "key 'exit_reason': found 'tired'"),
        (run(direction="up"), "key 'direction': found 'up'; choose from: higher, lower"),
        (run(tools="heat"), "key 'tools' must be a list of names or of tools, found 'heat'"),
        (run(tools=[{}]), "tools: key 'name' is missing"),
        (run(limits=3), "key 'limits' must be an object, found 3"),
        (run(ASK, {**DONE, "model": 3}), "key 'model' must be a text, found 3"),
        (run(metadata=[]), "key 'metadata' must be an object, found []"),
        (run(goal=3), "key 'goal' must be a text, found 3"),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(run(), line))
    assert words in message
    assert ": line 2" in message or "recording 'runs/run-0002'" in message
    assert len(message) < 700


def test_runs_are_read_one_at_a_time(tmp_path: Path) -> None:
    """So that a file may be larger than the memory."""
    path = tmp_path / "runs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(run()) + "\n" for _ in range(2000))
        file.write("{broken\n")
    found = recordings(FORMAT, path)
    assert [r["id"] for r in itertools.islice(found, 3)] == [f"runs/run-000{n}" for n in (1, 2, 3)]


def test_the_command_says_what_is_missing(write_lines: Write, tmp_path: Path) -> None:
    path = write_lines(run(outcome=True), run(ASK, DONE))
    words = [sys.executable, "-m", "harness.cli", "import", "chat", str(path), "-o"]
    words.append(str(tmp_path / "out.jsonl"))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    told = " ".join(done.stdout.split())
    assert "outcome: success 1, unknown 1" in told
    assert "missing here, of 2: usage in 2; times in 2; scores in 2; outcome in 1;" in told


def test_real_conversations_read_as_their_own_importer_reads_them(
    corpora: Path, write_lines: Write
) -> None:
    file = corpora / "tau_bench" / "gpt-4o-airline.json"
    lines = [run(*entry["traj"]) for entry in json.loads(file.read_text())]
    found, expected = read(write_lines(*lines)), list(recordings("tau-bench", file))
    assert len(found) == len(expected) == 200
    for mine, theirs in zip(found, expected, strict=True):
        assert len(mine["steps"]) == len(theirs["steps"])
        for step, other in zip(mine["steps"], theirs["steps"], strict=True):
            assert step.get("reply", {}).get("text") == other.get("reply", {}).get("text")
            assert [_told(made) for made in step.get("calls", ())] == [
                _told(made) for made in other.get("calls", ())
            ]
        said = [step["user"] for step in mine["steps"] if "user" in step]
        assert said == [step["user"] for step in theirs["steps"][1:] if "user" in step]


def _told(made: dict[str, Any]) -> tuple[Any, ...]:
    return made["tool"], made.get("args") or {}, made.get("result"), made.get("ok")
