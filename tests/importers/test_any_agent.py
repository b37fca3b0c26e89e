"""any-agent's traces, one run a file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.importers import any_agent
from harness.importers._head import head_of
from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare
from tests.importers.otlp_requests import Refused, Write, read

FORMAT = "any-agent"
USER = '[{"role": "user", "content": "Boil water."}]'
MADE = '[{"tool.name": "heat", "tool.args": "{\\"to\\": 100}"}]'


def span(number: int, operation: str, parent: int | None = 1, **about: Any) -> dict[str, Any]:
    """A span as any-agent writes it, ids and times as numbers."""
    named = {f"gen_ai.{key.replace('__', '.')}": item for key, item in about.items()}
    return {
        "name": f"{operation} it",
        "context": {"trace_id": 7, "span_id": number},
        "parent": {"trace_id": 7, "span_id": parent},
        "start_time": 10**18 + number * 10**9,
        "end_time": 10**18 + number * 10**9 + 5 * 10**6,
        "status": {"status_code": "ok", "description": None},
        "attributes": {"gen_ai.operation.name": operation, **named},
        "events": [],
    }


def run(*spans: dict[str, Any], output: Any = "It boils.") -> dict[str, Any]:
    agent = span(1, "invoke_agent", None, agent__name="cook")
    return {"spans": [*spans, agent], "final_output": output}


ASKED = span(2, "call_llm", input__messages=USER, output=MADE, usage__input_tokens=9)
HEATED = span(3, "execute_tool", tool__name="heat", tool__args='{"to": 100}', output="hot")
SAID = span(4, "call_llm", output="It boils.", usage__input_tokens=12, usage__output_tokens=3)


def test_a_trace_is_a_recording(write_json: Write) -> None:
    (found,) = read(write_json(run(ASKED, HEATED, SAID), "runs.json"), FORMAT)
    assert (found["id"], found["goal"], found["tags"]) == (
        "any-agent/runs",
        "Boil water.",
        ["any-agent"],
    )
    assert found["steps"] == [
        {
            "reply": {"usage": {"input": 9}, "ms": 5},
            "calls": [{"tool": "heat", "args": {"to": 100}, "result": "hot", "ok": True, "ms": 5}],
        },
        {"reply": {"text": "It boils.", "usage": {"input": 12, "output": 3}, "ms": 5}},
    ]


@pytest.mark.parametrize(
    ("spans", "output", "recorded"),
    [
        (
            [ASKED, HEATED],
            "It boils.",
            {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
        ),
        ([ASKED, HEATED], None, {}),
        (
            [ASKED, HEATED, SAID],
            None,
            {"exit_reason": "agent_finished", "exit_reason_source": "inferred"},
        ),
    ],
)
def test_the_exit_reason(
    write_json: Write, spans: list[Any], output: str | None, recorded: dict[str, Any]
) -> None:
    (found,) = read(write_json(run(*spans, output=output)), FORMAT)
    assert found["recorded"] == recorded


def test_a_run_that_failed(write_json: Write) -> None:
    raw = run(ASKED)
    raw["spans"][-1]["status"] = {"status_code": "error", "description": "boom"}
    (found,) = read(write_json(raw), FORMAT)
    assert found["recorded"] == {"exit_reason": "error"}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"spans": []}, "key 'spans' is empty"),
        ({"spans": {}}, "key 'spans' must be a list"),
        ({"final_output": "x"}, "key 'spans' is missing"),
        ([], "expected an object with key 'spans'"),
        ({"spans": [HEATED]}, "none of its 1 spans is a model call"),
        (run(), "holds no model call; found spans: 1 agent"),
        (run({**ASKED, "context": 7}), "span 1: needs a name, attributes and a context"),
    ],
)
def test_what_is_refused(write_json: Write, refused: Refused, raw: Any, words: str) -> None:
    assert words in refused(write_json(raw))


def test_an_empty_folder_is_refused(tmp_path: Path, refused: Refused) -> None:
    assert "the folder holds no *.json file" in refused(tmp_path)


def test_all_frameworks(corpora: Path) -> None:
    """Model calls, tools and tokens of each file, against what its spans add up to."""
    folder = corpora / "otel/any_agent_genai"
    files = sorted(folder.glob("*.json"))
    found = read(folder, FORMAT)
    assert [one["id"] for one in found] == [f"any-agent/{file.stem}" for file in files]
    observed = load_preset("balanced").observed()
    for file, recording in zip(files, found, strict=True):
        assert any_agent.fits(head_of(file))
        about = [one["attributes"] for one in json.loads(file.read_text("utf-8"))["spans"]]
        kinds = Counter(one["gen_ai.operation.name"] for one in about)
        steps = recording["steps"]
        calls = [call for step in steps for call in step.get("calls", ())]
        assert (len(steps), len(calls)) == (kinds["call_llm"], kinds["execute_tool"])
        assert all("result" in call and "ms" in call and call["args"] for call in calls)
        for ours, theirs in (("input", "input_tokens"), ("output", "output_tokens")):
            total = sum(step["reply"]["usage"][ours] for step in steps)
            assert total == sum(one.get(f"gen_ai.usage.{theirs}", 0) for one in about)
        assert recording["recorded"]["exit_reason"] == "agent_finished"
        assert "Find what year it is" in recording["goal"]
        episode = run_episode(prepare(Scenario.model_validate(recording)), observed)
        assert episode.exit_iteration == len(steps)
