"""Logs of Inspect: both files, packed in both ways, whole and broken off."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import load_preset, prepare, run_episode
from harness.errors import ImportFormatError
from harness.importers import Intake, recordings
from harness.scenario import Scenario

FORMAT = "inspect"
HEAD = {"version": 2, "status": "success", "eval": {"task": "maze"}}
ASKED = {"id": "m0", "source": "input", "role": "user", "content": "Find the door."}


def call(name: str = "look", call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "function": name, "arguments": arguments, "type": "function"}


def said(name: str, content: str, *calls: dict[str, Any], **extra: Any) -> dict[str, Any]:
    message = {"id": name, "role": "assistant", "source": "generate", "content": content, **extra}
    return {**message, "tool_calls": list(calls)} if calls else message


def result(content: str, call_id: str = "c1", **extra: Any) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "function": "look",
        "content": content,
        **extra,
    }


def event(message: dict[str, Any], **output: Any) -> dict[str, Any]:
    stop = "tool_calls" if message.get("tool_calls") else "stop"
    return {
        "event": "model",
        "tools": [{"name": "look"}, {"name": "submit"}],
        "output": {
            "model": "m-1",
            "choices": [{"message": message, "stop_reason": stop}],
            **output,
        },
    }


LOOK, OPEN = said("m1", "", call(at="wall")), said("m2", "It is open.")
MESSAGES = [ASKED, LOOK, result("a wall"), OPEN]


def sample(*messages: dict[str, Any], **extra: Any) -> dict[str, Any]:
    found = {"id": 1, "epoch": 1, "messages": list(messages or MESSAGES), "scores": {}}
    return {**found, "events": [event(LOOK), event(OPEN)], **extra}


def log(*samples: dict[str, Any]) -> dict[str, Any]:
    return {**HEAD, "samples": list(samples)}


@pytest.fixture
def imported(write_json: Callable[..., Path]) -> Callable[..., dict[str, Any]]:
    def imported(*messages: dict[str, Any], **extra: Any) -> dict[str, Any]:
        (found,) = recordings(FORMAT, write_json(log(sample(*messages, **extra)), "log.json"))
        return found

    return imported


Imported = Callable[..., dict[str, Any]]


def test_a_sample(imported: Imported) -> None:
    found = imported()
    assert (found["id"], found["goal"]) == ("inspect/maze-1-1", "Find the door.")
    assert found["tools"] == ["look", "submit"]
    assert found["recorded"] == {
        "exit_reason": "agent_finished", "exit_reason_source": "inferred",
    }  # fmt: skip
    assert found["steps"] == [
        {
            "reply": {"model": "m-1", "finish_reason": "tool_calls"},
            "calls": [{"tool": "look", "args": {"at": "wall"}, "result": "a wall", "ok": True}],
        },
        {"reply": {"text": "It is open.", "model": "m-1", "finish_reason": "stop"}},
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # OpenAI: what was read from the cache is within the input, and the total says so.
        (
            {"input_tokens": 100, "output_tokens": 30, "total_tokens": 130,
             "input_tokens_cache_read": 64, "reasoning_tokens": 10},
            {"input": 36, "cache_read": 64, "output": 20, "reasoning": 10},
        ),
        # Anthropic: it stands beside it.
        (
            {"input_tokens": 100, "output_tokens": 30, "total_tokens": 201,
             "input_tokens_cache_read": 64, "input_tokens_cache_write": 7},
            {"input": 100, "cache_read": 64, "cache_write": 7, "output": 30},
        ),
        (
            {"input_tokens": 5, "output_tokens": 1, "total_tokens": 0,
             "input_tokens_cache_read": 64},
            {"input": 5, "cache_read": 64, "output": 1},
        ),
        ({"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}, {"input": 5}),
        # Gemini in older logs: the reasoning stands beside the output.
        (
            {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1900,
             "reasoning_tokens": 400},
            {"input": 1000, "output": 500, "reasoning": 400},
        ),
        # Grok in older logs: the cache stands beside the input, too.
        (
            {"input_tokens": 1000, "output_tokens": 50, "total_tokens": 1750,
             "input_tokens_cache_read": 400, "reasoning_tokens": 300},
            {"input": 1000, "cache_read": 400, "output": 50, "reasoning": 300},
        ),
        # The total explains nothing, but output cannot hold more than it has.
        (
            {"input_tokens": 10, "output_tokens": 5, "total_tokens": 99, "reasoning_tokens": 7},
            {"input": 10, "output": 5, "reasoning": 7},
        ),
    ],
)  # fmt: skip
def test_tokens(imported: Imported, usage: dict[str, int], expected: dict[str, int]) -> None:
    found = imported(events=[event(LOOK, usage=usage)])
    assert [step["reply"].get("usage") for step in found["steps"]] == [expected, None]


def test_times(imported: Imported) -> None:
    tool = {
        "event": "tool", "id": "c1",
        "timestamp": "2026-01-01T10:00:00+00:00", "completed": "2026-01-01T10:00:01.5+00:00",
    }  # fmt: skip
    found = imported(events=[event(LOOK, time=0.75), tool, {**event(OPEN), "working_time": 2.0}])
    first, second = found["steps"]
    assert (first["reply"]["ms"], first["calls"][0]["ms"], second["reply"]["ms"]) == (
        750, 1500, 2000,
    )  # fmt: skip


def test_a_graders_call_is_no_step_and_measures_none(imported: Imported) -> None:
    grader = event(said("g", "GRADE: C"), usage={"input_tokens": 9, "output_tokens": 9})
    assert "usage" not in str(imported(events=[event(LOOK), event(OPEN), grader])["steps"])


def test_messages_without_ids_are_found_by_what_they_say(imported: Imported) -> None:
    old = [{k: v for k, v in m.items() if k != "id"} for m in MESSAGES]
    usage = {"input_tokens": 5, "output_tokens": 1}
    hidden = {**old[3], "content": "attachment://abc"}
    found = imported(*old, events=[event(hidden, usage=usage)], attachments={"abc": "It is open."})
    assert [step.get("reply", {}).get("usage") for step in found["steps"]] == [
        None, {"input": 5, "output": 1},
    ]  # fmt: skip


def test_what_the_dataset_says_is_no_step(imported: Imported) -> None:
    shown = said("x", "An example.", source="input")
    assert len(imported(ASKED, shown, *MESSAGES[1:])["steps"]) == 2


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (result("a wall"), (True, "a wall")),
        (result("", error={"type": "timeout", "message": "too slow"}), (False, "too slow")),
        (result("part", error={"type": "limit", "message": "too long"}), (False, "part")),
    ],
)
def test_a_result(imported: Imported, message: dict[str, Any], expected: tuple[bool, str]) -> None:
    (made,) = imported(ASKED, LOOK, message, OPEN)["steps"][0]["calls"]
    assert (made["ok"], made["result"]) == expected


INFERRED = {"exit_reason": "agent_finished", "exit_reason_source": "inferred"}


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, INFERRED),
        ({"limit": {"type": "message", "limit": 20}}, {"exit_reason": "max_iterations"}),
        (
            {"limit": {"type": "token", "limit": 500.0}},
            {"exit_reason": "token_budget", "limits": {"token_budget": 500}},
        ),
        (
            {"limit": {"type": "working", "limit": 2.5}},
            {"exit_reason": "time_budget", "limits": {"time_budget_s": 2.5}},
        ),
        ({"limit": {"type": "operator", "limit": 1}}, {"exit_reason_source": "unknown"}),
        ({"error": {"message": "boom", "traceback": ""}}, {"exit_reason": "error"}),
        (
            {"error": {"message": "boom"}, "scores": {"a": {"value": "I"}}},
            {"exit_reason": "error"},
        ),
        ({"scores": {"a": {"value": "C"}}}, {**INFERRED, "outcome": "success"}),
        ({"scores": {"a": {"value": "N"}}}, {**INFERRED, "outcome": "failure"}),
        ({"scores": {"a": {"value": False}}}, {**INFERRED, "outcome": "failure"}),
        ({"scores": {"a": {"value": "P"}}}, INFERRED),
        ({"scores": {"a": {"value": 0.0}}}, INFERRED),
        ({"scores": {"a": {"value": "C"}, "b": {"value": "I"}}}, INFERRED),
        ({"scores": {"a": {"value": {"x": 1}}}}, INFERRED),
    ],
)
def test_how_it_ended(
    imported: Imported, extra: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert imported(**extra).get("recorded") == expected


@pytest.mark.parametrize(
    ("value", "score"), [("C", 1.0), ("P", 0.5), (0.25, 0.25), (7, None), ("x", None)]
)
def test_the_last_step_has_the_score(imported: Imported, value: Any, score: float | None) -> None:
    found = imported(scores={"a": {"value": value}})
    assert [step.get("score") for step in found["steps"]] == [None, score]


def test_an_end_by_submit(imported: Imported) -> None:
    last = said("m2", "", call("submit", "c2", answer="door"))
    found = imported(ASKED, last, result("door", "c2"), events=[])
    assert found["recorded"] == INFERRED


SUBMIT = said("m2", "Done.", call("submit", "c2", answer="door"))
#: react takes the call that submits, and its result, out of the messages at the end.
SHOWN = said("m2", "Done.\n\ndoor")
RAN = {"event": "tool", "id": "c2", "function": "submit", "result": "door", "working_time": 0.5}


def test_a_call_that_was_taken_out_of_the_messages_is_put_back(imported: Imported) -> None:
    found = imported(*MESSAGES[:3], SHOWN, events=[event(LOOK), event(SUBMIT), RAN])
    assert found["steps"][1] == {
        "reply": {"text": "Done.\n\ndoor", "model": "m-1", "finish_reason": "tool_calls"},
        "calls": [{"tool": "submit", "args": {"answer": "door"}, "result": "door"}
                  | {"ok": True, "ms": 500}],
    }  # fmt: skip
    assert found["recorded"] == INFERRED


@pytest.mark.parametrize(
    ("ran", "made", "recorded"),
    [
        # Never carried out: the agent or a limit cut it off.
        ([], None, None),
        ([{**RAN, "error": {"type": "parsing", "message": "no door"}, "result": ""}],
         {"ok": False, "result": "no door"}, None),
        ([{**RAN, "pending": True, "result": None}], {}, INFERRED),
        ([{**RAN, "result": None}], {}, INFERRED),
        ([{**RAN, "result": 7}], {"ok": True, "result": "7"}, INFERRED),
        ([{**RAN, "result": [{"type": "text", "text": "door"}, {"type": "image"}]}],
         {"ok": True, "result": "door\n[image]"}, INFERRED),
        ([{**RAN, "result": "attachment://abc"}], {"ok": True, "result": "long"}, INFERRED),
    ],
)  # fmt: skip
def test_what_the_tool_event_says_of_it(
    imported: Imported,
    ran: list[dict[str, Any]],
    made: dict[str, Any] | None,
    recorded: dict[str, str] | None,
) -> None:
    events = [event(LOOK), event(SUBMIT), *ran]
    found = imported(*MESSAGES[:3], SHOWN, events=events, attachments={"abc": "long"})
    (*_, last) = found["steps"]
    base = {"tool": "submit", "args": {"answer": "door"}, "ms": 500}
    assert last.get("calls") == (None if made is None else [{**base, **made}])
    assert found.get("recorded") == recorded


def test_a_call_without_its_message_has_the_result_of_its_event(imported: Imported) -> None:
    """A limit ended the sample before the result was said."""
    ran = {"event": "tool", "id": "c1", "function": "look", "result": "a wall"}
    found = imported(ASKED, LOOK, events=[event(LOOK), ran], limit={"type": "token", "limit": 9})
    assert [c["result"] for c in found["steps"][0]["calls"]] == ["a wall"]


def test_nothing_is_inferred_without_tools(imported: Imported) -> None:
    assert "recorded" not in imported(ASKED, OPEN, events=[])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({**HEAD, "samples": []}, "the log holds no samples; write it without --no-log-samples"),
        ({"samples": []}, "key 'eval' is missing"),
        (log(sample(ASKED)), "holds no assistant message: nothing was generated"),
        (log(sample(result("x"))), "holds no assistant message: nothing was generated"),
        (log(sample(ASKED, result("x"), OPEN)), "message 2: a tool result must answer"),
        (log(sample(events=[{"event": 3}])), "event 1: key 'event' must be a text"),
        (log(sample(scores={"a": {}})), "score a: expected an object with key 'value', found {}"),
        (log(sample(limit={"type": "token", "limit": "x"})), "key 'limit' must be a number"),
    ],
)
def test_refused(
    write_json: Callable[..., Path], refused: Callable[[Path], str], value: Any, words: str
) -> None:
    assert words in refused(write_json(value, "log.json"))


ZSTANDARD = 93


def archive(path: Path, *samples: Any, method: int = zipfile.ZIP_DEFLATED) -> Path:
    if sys.version_info >= (3, 14):
        module = zipfile
    else:
        from backports.zstd import zipfile as module
    with module.ZipFile(path, "w", method) as file:
        file.writestr("_journal/start.json", json.dumps(HEAD))
        for number, value in enumerate(samples, 1):
            text = value if isinstance(value, str) else json.dumps({**value, "id": number})
            file.writestr(f"samples/{number}_epoch_1.json", text)
        file.writestr("header.json", json.dumps(HEAD))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD])
def test_an_archive_is_the_same_as_a_log(tmp_path: Path, imported: Imported, method: int) -> None:
    path = archive(tmp_path / "x_maze_y.eval", sample(), sample(), method=method)
    first, second = recordings(FORMAT, path)
    assert first == {**imported(), "source": "inspect:x_maze_y.eval"}
    assert second["id"] == "inspect/maze-2-1"


def test_an_archive_that_broke_off_has_what_came_before(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", *[sample() for _ in range(5)])
    raw = path.read_bytes()
    path.write_bytes(raw[: raw.index(b"samples/4_epoch_1.json") + 60])
    intake = Intake()
    assert [r["id"] for r in recordings(FORMAT, path, intake)] == [
        f"inspect/maze-{number}-1" for number in (1, 2, 3)
    ]
    assert [problem.removeprefix(f"{path}: ") for problem in intake.problems] == [
        "directory: the archive broke off: File is not a zip file",
        "samples/4_epoch_1.json: the archive breaks off within it",
    ]


def test_a_damaged_member_loses_itself_only(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", sample(), "{", sample())
    raw = bytearray(path.read_bytes())
    start = raw.index(b"samples/1_epoch_1.json") + 30
    raw[start : start + 20] = b"\xff" * 20
    path.write_bytes(raw)
    intake = Intake()
    assert [r["id"] for r in recordings(FORMAT, path, intake)] == ["inspect/maze-3-1"]
    assert intake.broken == 2
    assert "samples/1_epoch_1.json: cannot be unpacked" in intake.problems[0]
    assert "samples/2_epoch_1.json: not JSON" in intake.problems[1]


def raw_samples(path: Path) -> list[dict[str, Any]]:
    """Read without the importer."""
    if path.suffix == ".json":
        return list(json.loads(path.read_text("utf-8")).get("samples") or ())
    with zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.startswith("samples/")]
        return [json.loads(file.read(name)) for name in names]


def test_the_real_ones(corpora: Path) -> None:
    files = [p for p in sorted((corpora / "inspect_logs").rglob("*")) if p.suffix != ".md"]
    refused = []
    for file in (path for path in files if path.is_file()):
        samples = raw_samples(file)
        intake = Intake()
        try:
            found = list(recordings(FORMAT, file, intake))
        except ImportFormatError as error:
            refused.append(f"{file.name}: {str(error).partition(': ')[2]}")
            continue
        assert len(found) == len(samples)
        for recording, raw in zip(found, samples, strict=True):
            steps = recording["steps"]
            spoken = [m for m in raw["messages"] if m["role"] == "assistant"]
            assert len(steps) == len(spoken)
            events = raw.get("events") or raw.get("transcript", {}).get("events", ())
            usages = [e["output"].get("usage") or {} for e in events if e["event"] == "model"]
            # Graders answer after the agent.
            expected = sum(u.get("total_tokens", 0) for u in usages[: len(spoken)])
            told = sum(sum(s["reply"].get("usage", {}).values()) for s in steps)
            assert told == expected
            values = {score["value"] for score in raw["scores"].values()}
            outcomes = {("C",): "success", ("I",): "failure"}
            recorded = recording.get("recorded", {})
            assert recorded.get("outcome") == outcomes.get(tuple(values))
            episode = run_episode(
                prepare(Scenario.model_validate(recording)), load_preset("balanced").observed()
            )
            assert len(episode.iterations) == len(steps)
    assert refused == [
        "log_tool_call_error.json: sample 1: holds no assistant message: nothing was generated"
    ]
