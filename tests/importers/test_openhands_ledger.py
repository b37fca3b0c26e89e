"""Tokens of OpenHands by response: the condenser's too, and where a conversation keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers.event_runs import Write, lenient, read
from tests.importers.openhands_runs import action, person, response, row, seen
from tests.importers.test_openhands_sdk import acts, message, sdk, sees, stats, told

FORMAT = "openhands"
UNKNOWN = {"exit_reason_source": "unknown"}


def took(name: str, prompt: int, completion: int) -> dict[str, Any]:
    return {"response_id": name, "prompt_tokens": prompt, "completion_tokens": completion}


def metrics(*usages: dict[str, Any]) -> dict[str, Any]:
    return {"token_usages": list(usages)}


def runs(number: int, name: str) -> dict[str, Any]:
    return action(number, "run", number, **response(name, f"c{number}", "bash", "{}"))


V0 = [person(0, "Fix it."), runs(1, "r1"), seen(2, "run", 1), runs(3, "r2"), seen(4, "run", 3)]
R1, R2 = took("r1", 100, 20), took("r2", 100, 20)
CONDENSED = took("condenser", 70, 7)


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([R1, R2], [(100, 20), (100, 20)]),
        ([CONDENSED, R1, R2], [(170, 27), (100, 20)]),
        ([R1, CONDENSED, R2], [(100, 20), (170, 27)]),
        ([R1, R2, CONDENSED], [(100, 20), (170, 27)]),
        ([R1, CONDENSED, took("title", 5, 1), R2], [(100, 20), (175, 28)]),
    ],
)
def test_what_the_condenser_took_counts_to_the_reply_behind_it(
    write_lines: Write, usages: list[dict[str, Any]], expected: list[tuple[int, int]]
) -> None:
    (found,) = read(FORMAT, write_lines(row(*V0, metrics=metrics(*usages))))
    told = [step["reply"]["usage"] for step in found["steps"]]
    assert [(one["input"], one["output"]) for one in told] == expected


def test_without_ids_nobody_knows_whose_a_response_is(write_lines: Write) -> None:
    history = [person(0, "Fix it."), action(1, "run", 1), action(2, "message", 2)]
    (found,) = read(FORMAT, write_lines(row(*history, metrics=metrics(R1, R2))))
    assert [step["reply"].get("usage") for step in found["steps"]] == [
        None, {"input": 100, "output": 20},
    ]  # fmt: skip


SDK = [
    message(1, "user", "Fix it."),
    acts(4, "a", "terminal", "{}", "r1"),
    sees(5, "a", "x"),
    sdk("Condensation", 6, llm_response_id="condenser"),
    message(9, "agent", "Done.", llm_response_id="r2"),
]


def conversation(folder: Path, *events: dict[str, Any], state: Any) -> Path:
    (folder / "run" / "events").mkdir(parents=True)
    for number, event in enumerate(events):
        file = folder / "run" / "events" / f"event-{number:05d}-{event['id']}.json"
        file.write_text(json.dumps(event), encoding="utf-8")
    (folder / "run" / "base_state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder / "run"


def state(status: str, **uses: list[dict[str, Any]]) -> dict[str, Any]:
    told = {name: {"model_name": "m", "token_usages": usages} for name, usages in uses.items()}
    return {"execution_status": status, "stats": {"usage_to_metrics": told}}


def test_a_conversation_keeps_the_tokens_of_each_response(tmp_path: Path) -> None:
    used = state("finished", agent=[{**R1, "model": "proxy/m"}, R2], condenser=[CONDENSED])
    # Running totals say the same again.
    path = conversation(tmp_path, SDK[0], stats(3, 277, 47), *SDK[1:], state=used)
    (found,) = read(FORMAT, path)
    assert [step["reply"].get("usage") for step in found["steps"]] == [
        {"input": 100, "output": 20}, {"input": 170, "output": 27},
    ]  # fmt: skip
    assert [step["reply"]["model"] for step in found["steps"]] == ["m", "model-y"]
    assert found["recorded"] == {"exit_reason": "agent_finished"}
    # Asked for the events alone, nothing around them is read.
    (alone,) = read(FORMAT, path / "events")
    assert alone["recorded"] == UNKNOWN


@pytest.mark.parametrize(
    ("events", "status", "recorded"),
    [
        (SDK, "stuck", {"exit_reason": "spin", "exit_reason_source": "inferred"}),
        (SDK, "paused", UNKNOWN),
        ([*SDK, told(10, "execution_status", "running")], "finished",
         {"exit_reason": "agent_finished"}),
        ([*SDK, sdk("ConversationErrorEvent", 10, code="LLMError", detail="")], "error",
         {"exit_reason": "error"}),
    ],
)  # fmt: skip
def test_the_state_says_how_it_ended(
    tmp_path: Path, events: list[dict[str, Any]], status: str, recorded: dict[str, str]
) -> None:
    (found,) = read(FORMAT, conversation(tmp_path, *events, state=state(status)))
    assert found.get("recorded") == recorded


def test_a_broken_state_loses_itself_only(tmp_path: Path) -> None:
    path = conversation(tmp_path, *SDK, state={"stats": 5})
    (found,), problems = lenient(FORMAT, path)
    assert len(found["steps"]) == 2
    assert problems == [
        f"{path / 'base_state.json'}: document: key 'stats' must be an object, found 5"
    ]
