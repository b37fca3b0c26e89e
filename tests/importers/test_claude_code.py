"""The importer of Claude Code's sessions and stream-json output."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, claude_code, recordings
from harness.importers._rawfacts import raw_facts
from tests.importers.event_runs import (
    Refused,
    Write,
    calls,
    fitting,
    lenient,
    observed,
    read,
    tokens,
)

FORMAT = "claude-code"
USAGE = {
    "input_tokens": 5,
    "cache_read_input_tokens": 70,
    "cache_creation_input_tokens": 9,
    "output_tokens": 3,
    "service_tier": "standard",
    "cache_creation": {"ephemeral_5m_input_tokens": 9},
}
_NUMBERS = count()
COUNTS = {"input": 5, "cache_read": 70, "cache_write": 9, "output": 3}


def line(kind: str, content: Any, second: int | None = None, **more: Any) -> dict[str, Any]:
    """A line of a session; ``message`` holds what is said of the message itself."""
    message = {"role": kind, "content": content, **more.pop("message", {})}
    stamp = {} if second is None else {"timestamp": f"2026-01-31T10:00:{second:02d}.000Z"}
    about = {"sessionId": "s-1", "uuid": f"u-{next(_NUMBERS)}", **stamp}
    return {"type": kind, **about, "message": message, **more}


def said(text: str, second: int | None = None, **more: Any) -> dict[str, Any]:
    return line("user", text, second, **more)


def answer(
    name: str,
    *parts: Any,
    second: int | None = None,
    stop: str | None = None,
    model: str = "claude-x",
    **more: Any,
) -> dict[str, Any]:
    about = {"id": name, "model": model, "stop_reason": stop, "usage": USAGE}
    return line("assistant", list(parts), second, message=about, **more)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def use(call_id: str, name: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(call_id: str, content: Any, second: int, **more: Any) -> dict[str, Any]:
    part = {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}
    return line("user", [part], second)


DONE = answer("m9", text("Done."), second=50, stop="end_turn")


def test_a_session_becomes_steps(write_lines: Write) -> None:
    """A message stands in several lines, between which results already come in."""
    path = write_lines(
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        said("Fix it.", 0),
        answer("m1", {"type": "thinking", "thinking": "hm"}, second=2),
        answer("m1", text("Looking."), second=3),
        answer("m1", use("a", "Read", path="x"), second=4),
        result("a", [text("one"), {"type": "image"}], 5),
        answer("m1", use("b", "Bash", command="ls"), second=6, stop="tool_use"),
        result("b", "no such file", 9, is_error=True),
        DONE,
        said("Thanks, and the other?", 55),
        answer("m10", text("Also done."), second=58, stop="end_turn"),
    )
    model = {"model": "claude-x", "usage": COUNTS}
    assert read(FORMAT, path) == [
        {
            "schema": "harness/scenario@1",
            "id": "claude-code/s-1",
            "title": "Claude Code session s-1",
            "source": "claude-code:runs.jsonl",
            "goal": "Fix it.",
            "tags": ["claude-code"],
            "tools": ["Bash", "Read"],
            "steps": [
                {
                    "reply": {
                        "text": "Looking.",
                        "finish_reason": "tool_use",
                        "ms": 6000,
                        **model,
                    },
                    "calls": [
                        {"tool": "Read", "args": {"path": "x"}, "result": "one\n[image]"}
                        | {"ms": 1000},
                        {"tool": "Bash", "args": {"command": "ls"}, "result": "no such file"}
                        | {"ok": False, "ms": 3000},
                    ],
                },
                {"reply": {"text": "Done.", "finish_reason": "end_turn", "ms": 41000, **model}},
                {
                    "user": "Thanks, and the other?",
                    "idle_ms": 5000,
                    "reply": {
                        "text": "Also done.",
                        "finish_reason": "end_turn",
                        "ms": 3000,
                        **model,
                    },
                },
            ],
            "recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
        }
    ]


@pytest.mark.parametrize(
    ("between", "step"),
    [
        ([said("Go on.")], {"user": "Go on."}),
        ([said("Go on.", isMeta=True)], {"nudge": "Go on."}),
        ([said("It was so.", isCompactSummary=True)], {"nudge": "It was so."}),
        ([said("<system-reminder>Tests!</system-reminder>")], {"nudge": "<system-reminder>Tests!"
         "</system-reminder>"}),
        (
            [said("[Request interrupted by user for tool use]"), said("Stop that.")],
            {"user": "Stop that.", "interrupted": True},
        ),
        (
            [
                said("<command-name>/fix</command-name>\n<command-args>all</command-args>"),
                said("You fix things.", isMeta=True),
            ],
            {"user": "/fix all", "nudge": "You fix things."},
        ),
        (
            [
                said("<command-name>/model</command-name><command-args>x</command-args>"),
                said("<local-command-stdout>Set.</local-command-stdout>"),
                said("Go on."),
            ],
            {"user": "Go on."},
        ),
        ([line("system", "Conversation compacted", subtype="compact_boundary")], {}),
        ([{"type": "progress", "sessionId": "s-1", "data": None}], {}),
        ([answer("m2", text("No response requested."), model="<synthetic>")], {}),
    ],
)  # fmt: skip
def test_what_comes_between(
    write_lines: Write, between: list[dict[str, Any]], step: dict[str, Any]
) -> None:
    first = answer("m1", text("Well."), stop="end_turn")
    (found,) = read(FORMAT, write_lines(said("Fix it."), first, *between, DONE))
    del found["steps"][1]["reply"]
    assert found["steps"][1] == step
    assert found["goal"] == "Fix it."


def test_clear_begins_another_run(write_lines: Write) -> None:
    clear = said("<command-name>/clear</command-name>\n<command-message>clear</command-message>", 3)
    later = said("<command-message>clear</command-message>\n<command-name>/clear</command-name>", 6)
    path = write_lines(
        said("One.", 0), answer("m1", text("1"), second=1), clear, said("Two.", 4),
        answer("m2", text("2"), second=5), later, said("Three.", 7),
    )  # fmt: skip
    assert [(found["id"], found["goal"]) for found in read(FORMAT, path)] == [
        ("claude-code/s-1", "One."),
        ("claude-code/s-1-2", "Two."),
    ]


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({"isSidechain": True, "agentId": "a7"}, "claude-code/s-1-a7"),
        ({"parent_tool_use_id": "toolu_1"}, "claude-code/s-1-toolu_1"),
        ({"isSidechain": True}, "claude-code/s-1-runs"),
    ],
)
def test_a_sub_agent_is_a_run_of_its_own(
    write_lines: Write, about: dict[str, Any], name: str
) -> None:
    path = write_lines(
        said("Fix it.", 0),
        answer("m1", use("t", "Task", prompt="Look."), second=1),
        {**said("Look.", 2), "uuid": "u-a", "parentUuid": None, **about},
        {**answer("n1", text("Seen."), second=3, stop="end_turn"), "parentUuid": "u-a", **about},
        result("t", "Seen.", 4),
        DONE,
    )
    main, sub = read(FORMAT, path)
    assert [len(main["steps"]), len(sub["steps"])] == [2, 1]
    assert calls(main)[0]["ms"] == 3000
    assert (sub["id"], sub["goal"], sub["tags"]) == (name, "Look.", ["claude-code", "sub-agent"])


def test_sidechains_without_ids_are_told_apart_by_their_first_message(write_lines: Write) -> None:
    lines = []
    for root in ("x", "y"):
        above = {"isSidechain": True, "parentUuid": None}
        below = {"isSidechain": True, "parentUuid": f"u-{root}"}
        lines.append({**said(f"Look {root}.", 1), **above, "uuid": f"u-{root}"})
        lines.append({**answer(f"m-{root}", text("Seen."), second=2), **below})
    found = read(FORMAT, write_lines(*lines[::2], *lines[1::2]))
    assert [recording["goal"] for recording in found] == ["Look x.", "Look y."]


INFERRED = {"exit_reason_source": "inferred"}
FAILED = answer("m3", text("API Error: 529"), second=9, isApiErrorMessage=True)


@pytest.mark.parametrize(
    ("lines", "recorded"),
    [
        ([DONE], {"exit_reason": "agent_finished", **INFERRED}),
        # Null stands in whole messages of some versions, and in those that broke off.
        ([answer("m1", text("So."), second=1)], None),
        ([answer("m1", text("So."), second=1, stop="max_tokens")], None),
        ([answer("m1", use("a", "Read"), second=1, stop="tool_use")], None),
        ([DONE, said("And?", 55)], None),
        ([answer("m1", text("So."), second=1), said("[Request interrupted by user]", 2)], None),
        ([FAILED], {"exit_reason": "error", **INFERRED}),
        ([DONE, {"type": "result", "subtype": "success"}], {"exit_reason": "agent_finished"}),
        ([DONE, {"type": "result", "subtype": "success", "is_error": True}],
         {"exit_reason": "error"}),
        ([DONE, {"type": "result", "subtype": "error_max_turns", "is_error": True}],
         {"exit_reason": "max_iterations"}),
        ([DONE, {"type": "result", "subtype": "error_max_budget_usd"}],
         {"exit_reason": "cost_budget"}),
        ([DONE, {"type": "result", "subtype": "error_during_execution"}],
         {"exit_reason": "error"}),
        ([DONE, {"type": "result", "subtype": "odd"}],
         {"exit_reason": "agent_finished", **INFERRED}),
    ],
)  # fmt: skip
def test_the_end(
    write_lines: Write, lines: list[dict[str, Any]], recorded: dict[str, str] | None
) -> None:
    (found,) = read(FORMAT, write_lines(said("Fix it.", 0), *lines))
    assert found.get("recorded") == recorded


def test_a_line_that_comes_again_counts_once(write_lines: Write) -> None:
    """Its id is in the record twice, which the lint tells."""
    asks = answer("m1", use("a", "Bash", command="ls"), text("Hm."), second=1, stop="tool_use")
    lines = [said("Fix it.", 0), asks, result("a", "x", 2)]
    intake = Intake()
    path = write_lines(*lines, *lines, DONE)
    ((found, raw),) = [(one, intake.raw) for one in recordings(FORMAT, path, intake)]
    assert [step["reply"].get("text") for step in found["steps"]] == ["Hm.", "Done."]
    assert calls(found) == [
        {"tool": "Bash", "args": {"command": "ls"}, "result": "x", "ms": 1000}
    ]  # fmt: skip
    assert raw_facts(raw).repeated == 3
    assert (intake.broken, found["steps"][1].get("user")) == (0, None)


def test_an_error_of_the_api_has_no_tokens(write_lines: Write) -> None:
    (found,) = read(FORMAT, write_lines(said("Fix it.", 0), FAILED))
    assert found["steps"] == [{"reply": {"error": "API Error: 529", "ms": 9000}}]


def test_a_stream_lists_its_tools(write_lines: Write) -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s-2", "tools": ["Bash", "Read"]}
    first = {**DONE, "session_id": "s-2"}
    del first["sessionId"], first["timestamp"]
    path = write_lines(init, first)
    (found,) = read(FORMAT, path)
    assert found["tools"] == ["Bash", "Read"]
    assert found["id"] == "claude-code/s-2"
    assert "ms" not in found["steps"][0]["reply"]


def test_a_folder_is_read_file_by_file(tmp_path: Path, write_lines: Write) -> None:
    write_lines(said("One.", 0), DONE, name="b.jsonl")
    write_lines({"type": "summary", "summary": "x", "leafUuid": "y"}, name="a.jsonl")
    write_lines(said("Two.", 0, slug="green-tea"), DONE, name="c.jsonl")
    found, problems = lenient(FORMAT, tmp_path)
    assert [recording["goal"] for recording in found] == ["One.", "Two."]
    assert [recording["id"] for recording in found] == ["claude-code/s-1", "claude-code/s-1-2"]
    assert found[1]["tags"] == ["claude-code", "slug:green-tea"]
    where = tmp_path / "a.jsonl"
    words = "holds no message of the model (a line of type 'assistant')"
    assert problems == [f"{where}: {words}"]


def test_only_the_broken_line_is_lost(write_lines: Write) -> None:
    path = write_lines(
        said("Fix it.", 0),
        "{broken",
        {**answer("m2", text("So."), second=3), "message": "So."},
        {**answer("m3", text("So."), second=3), "timestamp": "soon"},
        answer("m4", text("So."), second=3) | {"message": {"content": 5, "id": "m4"}},
        answer("m5", {"type": "tool_use", "id": "a", "name": None}, second=4),
        DONE,
    )  # fmt: skip
    found, problems = lenient(FORMAT, path)
    assert len(found) == 1
    assert [problem.removeprefix(f"{path}: ").partition(": ")[0] for problem in problems] == [
        "line 2",
        "line 3",
        "line 4",
        "line 5",
        "line 6",
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"type": "summary", "summary": "x", "leafUuid": "y"}], "holds no message of the model"),
        ([said("Fix it.")], "holds no message of the model"),
        ([[1]], "expected an object with key 'type'"),
        ([{"uuid": "x"}], "key 'type' is missing"),
        ([{**DONE, "message": {**DONE["message"], "usage": {"input_tokens": 2**60}}}],
         "key 'input_tokens' must be 0 to"),
        (['{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": 7}]}}'],
         "key 'name' must be a text"),
    ],
)  # fmt: skip
def test_refused(write_lines: Write, refused: Refused, lines: list[Any], words: str) -> None:
    assert words in refused(write_lines(*lines))


def test_arguments_no_json_can_hold_fail_the_call(write_lines: Write) -> None:
    part = '{"type": "tool_use", "id": "a", "name": "Bash", "input": {"x": NaN}}'
    raw = f'{{"type": "assistant", "uuid": "u", "message": {{"id": "m", "content": [{part}]}}}}'
    (found,) = read(FORMAT, write_lines(raw))
    assert calls(found) == [{"tool": "Bash", "args": {"unparsed": "no JSON"}, "ok": False}]


def _counts(path: Path) -> tuple[dict[str, dict[str, int]], int]:
    """Usage by message id, and calls, counted from the file itself."""
    usage: dict[str, dict[str, int]] = {}
    used = 0
    for raw in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(raw)
        if line["type"] == "assistant":
            message = line["message"]
            usage[message["id"]] = message["usage"]
            used += sum(part["type"] == "tool_use" for part in message["content"])
    return usage, used


def test_real_sessions(corpora: Path) -> None:
    files = sorted((corpora / "atif_and_others").glob("claude_code_source__*.jsonl"))
    assert len(files) == 12
    runs = 0
    for path in files:
        usage, used = _counts(path)
        found = read(FORMAT, path)
        runs += len(found)
        assert sum(len(recording["steps"]) for recording in found) == len(usage)
        assert sum(len(calls(recording)) for recording in found) == used
        total = sum(sum(tokens(recording).values()) for recording in found)
        assert total == sum(n for counts in usage.values() for n in counts.values())
        for recording in found:
            assert observed(recording) == len(recording["steps"])
            assert recording["recorded"]["exit_reason"] == "agent_finished"
    # Four files hold a /clear.
    assert runs == 12 + 4


def test_it_takes_only_its_own_files(corpora: Path) -> None:
    own = {path.name for path in (corpora / "atif_and_others").glob("claude_code_source__*")}
    assert fitting(claude_code, corpora) == own
