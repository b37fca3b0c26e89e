"""What only stream-json of Claude Code says: exact counts, totals, the end of each query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import claude_code
from harness.importers._head import head_of
from tests.importers.event_runs import Write, read

FORMAT = "claude-code"
START = {"type": "system", "subtype": "init", "session_id": "s-1", "tools": ["Bash", "Task"]}


def line(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": "s-1", "parent_tool_use_id": None, **more}


def usage(output: int, fresh: int = 3, cached: int = 0) -> dict[str, Any]:
    counts = {"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": output}
    return {**counts, "cache_creation": {"ephemeral_5m_input_tokens": 0}}


def says(name: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """A message as it is written before it ended: with a placeholder for its output."""
    content = list(parts) or [{"type": "text", "text": name}]
    message = {"id": name, "content": content, "stop_reason": None, "usage": usage(1)}
    return line("assistant", message=message, **more)


def uses(name: str, tool: str) -> dict[str, Any]:
    return says(name, {"type": "tool_use", "id": f"call-{name}", "name": tool, "input": {}})


def asked(text: str) -> dict[str, Any]:
    return line("user", message={"role": "user", "content": text})


def begins(name: str) -> dict[str, Any]:
    return line("stream_event", event={"type": "message_start", "message": {"id": name}})


def ends(output: int, stop: str = "end_turn", **counts: int) -> dict[str, Any]:
    told = {"output_tokens": output, **counts}
    delta = {"stop_reason": stop}
    return line("stream_event", event={"type": "message_delta", "delta": delta, "usage": told})


def result(*counts: int, subtype: str = "success") -> dict[str, Any]:
    told = {"usage": usage(*counts)} if counts else {}
    return line("result", subtype=subtype, is_error=False, **told)


IN_AGENT = {"parent_tool_use_id": "call-a"}
CASES: list[tuple[str, list[dict[str, Any]], list[tuple[int, int]], bool]] = [
    ("one message has the whole total", [says("a"), result(150)], [(3, 150)], False),
    ("no total", [says("a"), says("b")], [(3, 1), (3, 1)], False),
    ("the total is shared out; what is exact stays",
     [says("a"), uses("b", "Bash"), result(151, 6)], [(3, 76), (3, 75)], True),
    ("a total of more in another key, too", [says("a"), says("b"), result(150, 9)],
     [(5, 75), (4, 75)], True),
    ("a total without a part of the messages", [says("a"), says("b"), result(150, 5)],
     [(3, 1), (3, 1)], False),
    ("the total says the same", [says("a"), result(1)], [(3, 1)], False),
    ("a total of less is of something else", [says("a"), says("b"), result(1, 6)],
     [(3, 1), (3, 1)], False),
    ("no usage in the result", [says("a"), result()], [(3, 1)], False),
    ("a total is of one query", [says("a"), result(50), asked("More."), says("b"), result(70)],
     [(3, 50), (3, 70)], False),
    ("exact counts go before", [begins("a"), says("a"), ends(40), begins("b"), says("b"),
     ends(60, input_tokens=4), result(100, 7)], [(3, 40), (4, 60)], False),
    ("a line behind the exact counts", [begins("a"), says("a"), ends(40), says("a")],
     [(3, 40)], False),
    ("a total may contain sub-agents", [says("a"), says("n", **IN_AGENT), result(99)],
     [(3, 1)], False),
    ("in the background, too", [uses("a", "Task"), result(99)], [(3, 1)], False),
    ("and only of that query", [uses("a", "Task"), result(99), asked("More."), says("b"),
     result(70)], [(3, 1), (3, 70)], False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "counts", "spread"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_tokens(
    write_lines: Write, lines: list[Any], counts: list[tuple[int, int]], spread: bool
) -> None:
    found, *_ = read(FORMAT, write_lines(START, asked("Fix it."), *lines))
    told = [step["reply"]["usage"] for step in found["steps"]]
    assert [(one["input"], one["output"]) for one in told] == counts
    assert ("spread:usage" in found["tags"]) is spread


DONE = {"exit_reason": "agent_finished"}
UNKNOWN = {"exit_reason_source": "unknown"}
ENDS: list[tuple[list[dict[str, Any]], dict[str, str] | None]] = [
    ([says("a"), result()], DONE),
    ([says("a")], UNKNOWN),
    ([says("a"), result(), asked("And the other?"), uses("b", "Bash")], None),
    ([says("a"), result(), asked("And the other?")], UNKNOWN),
    ([says("a"), result(), asked("And?"), says("b"), result(subtype="error_max_turns")],
     {"exit_reason": "max_iterations"}),
    ([begins("a"), says("a"), ends(9)], {**DONE, "exit_reason_source": "inferred"}),
    ([begins("a"), says("a"), ends(9, "max_tokens")], None),
    ([begins("a"), says("a"), ends(9), begins("b"), says("b")], UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "recorded"), ENDS)
def test_the_end(
    write_lines: Write, lines: list[dict[str, Any]], recorded: dict[str, str] | None
) -> None:
    (found,) = read(FORMAT, write_lines(START, asked("Fix it."), *lines))
    assert found.get("recorded") == recorded


def test_a_list_is_read_as_lines_are(tmp_path: Path, write_lines: Write) -> None:
    lines = [START, asked("Fix it."), says("a"), result(150)]
    (expected,) = read(FORMAT, write_lines(*lines))
    path = tmp_path / "run.json"
    for indent in (None, 2):
        path.write_text(json.dumps(lines, indent=indent), encoding="utf-8")
        assert claude_code.fits(head_of(path))
        assert read(FORMAT, path) == [{**expected, "source": "claude-code:run.json"}]
