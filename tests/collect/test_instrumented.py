"""Agents under real instrumentations, exported to ``harness collect`` without further settings.

Runs with those that are installed: pip install -e ".[instrumentation]"
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness import load, load_preset, prepare, run_episode
from harness.scenario import Scenario
from tests.collect.instrumented import GOAL, STEPS
from tests.collect.test_command import COMMAND, environment

#: OpenTelemetry's own, its predecessor, OpenLLMetry's and OpenInference's.
GENAI = "opentelemetry.instrumentation.genai.openai"
V2 = "opentelemetry.instrumentation.openai_v2"
LLMETRY = "opentelemetry.instrumentation.openai"
INFERENCE = "openinference.instrumentation.openai"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
#: Of the scripted server: 100 tokens in, 64 of them cached, 20 out, 5 of them reasoning.
FULL = {"input": 36, "cache_read": 64, "output": 15, "reasoning": 5}
OUTER = {"input": 100, "output": 20}
NO_REASONING = {"input": 36, "cache_read": 64, "output": 20}


@cache
def problem(module: str) -> str:
    """Why an instrumentation cannot be used here; empty if it can."""
    program = f"import {module}; {module}.OpenAIInstrumentor"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    return found.stderr.strip().rpartition("\n")[2]


def collected(
    here: Path, module: str, how: str, around: str = "span", **variables: str
) -> Scenario:
    """The recording of the agent's run."""
    if why := problem(module):
        pytest.skip(f"{module}: {why}")
    agent = [sys.executable, "-m", "tests.collect.instrumented", module, how, around]
    found = subprocess.run(
        [*COMMAND, "--json", "--", *agent], cwd=here, env=environment(**variables),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    summary = json.loads(found.stdout)
    assert (summary["episodes"], summary["steps"], summary["rejected"]) == (1, 3, 0)
    (scenario,) = load([here / "recordings.jsonl"])
    return scenario


def told(scenario: Scenario) -> list[Any]:
    return [
        (
            step.reply.text or None,
            step.reply.finish_reason,
            [(call.tool, call.args, call.result) for call in step.calls],
        )
        for step in scenario.steps
    ]


@pytest.mark.parametrize("around", ["span", "alone"])
@pytest.mark.parametrize("how", ["plain", "stream"])
@pytest.mark.parametrize(
    ("module", "plain_usage", "stream_usage"),
    [
        (GENAI, FULL, FULL),
        (V2, OUTER, OUTER),
        (LLMETRY, FULL, NO_REASONING),
        (INFERENCE, FULL, FULL),
    ],
)
def test_the_recording_has_what_the_agent_did(
    tmp_path: Path, module: str, how: str, around: str, plain_usage: Any, stream_usage: Any
) -> None:
    scenario = collected(tmp_path, module, how, around)
    assert ("grouped:prefix" in scenario.tags) == (around == "alone")
    assert scenario.goal == GOAL
    expected = STEPS
    if module == LLMETRY:  # it has a word of its own for them
        expected = [(t, f.replace("tool_calls", "tool_call"), c) for t, f, c in STEPS]
    assert told(scenario) == expected
    usage = plain_usage if how == "plain" else stream_usage
    for step in scenario.steps:
        assert step.reply.usage is not None
        assert step.reply.usage.model_dump(exclude_defaults=True) == usage
        assert step.reply.model == "gpt-4o"
        assert step.reply.ms is not None
    assert sorted(scenario.tools or ()) == ["add", "mul"]
    assert scenario.recorded.exit_reason == "agent_finished"

    episode = run_episode(prepare(scenario), load_preset("balanced"))
    assert [len(iteration.turn.calls) for iteration in episode.iterations] == [2, 1, 0]
    assert (episode.exit_reason, episode.exit_guard) == ("agent_finished", None)


@pytest.mark.parametrize("how", ["responses", "kept"])
@pytest.mark.parametrize("module", [GENAI, INFERENCE])
def test_an_agent_on_responses_that_nobody_traces(tmp_path: Path, module: str, how: str) -> None:
    scenario = collected(tmp_path, module, how, "alone")
    assert scenario.goal == GOAL
    assert [calls for *_, calls in told(scenario)] == [calls for *_, calls in STEPS]
    assert "grouped:prefix" in scenario.tags
    assert scenario.recorded.exit_reason == "agent_finished"


@pytest.mark.parametrize("around", ["span", "alone"])
@pytest.mark.parametrize(
    ("module", "how"),
    [
        (GENAI, "plain"),
        (GENAI, "stream"),
        (V2, "plain"),  # streamed it tells no finish reasons
        (INFERENCE, "plain"),
        (INFERENCE, "stream"),
    ],
)
def test_without_content_it_has_iterations_usage_and_finish_reasons(
    tmp_path: Path, module: str, how: str, around: str
) -> None:
    hidden = {"OPENINFERENCE_HIDE_INPUTS": "true", "OPENINFERENCE_HIDE_OUTPUTS": "true"}
    scenario = collected(tmp_path, module, how, around, **{CONTENT: "NO_CONTENT", **hidden})
    assert "content:none" in scenario.tags
    assert ("grouped:process" in scenario.tags) == (around == "alone")
    assert [step.reply.finish_reason for step in scenario.steps] == [
        "tool_calls", "tool_calls", "stop",
    ]  # fmt: skip
    usages = [step.reply.usage.model_dump(exclude_defaults=True) for step in scenario.steps]  # type: ignore[union-attr]
    assert usages == [OUTER if module == V2 else FULL] * 3
    assert {step.reply.model for step in scenario.steps} == {"gpt-4o"}
    assert (scenario.goal, scenario.tools, scenario.recorded.exit_reason) == ("", None, None)


@pytest.mark.parametrize(
    ("content", "arguments", "results", "text"),
    [
        ("true", [{"a": 1, "b": 2}, {"a": 3, "b": 4}], ["3", "7"], "Let me add."),
        ("false", [None, None], [None, None], ""),
    ],
)
def test_messages_as_log_records(
    tmp_path: Path, content: str, arguments: Any, results: Any, text: str
) -> None:
    # The older conventions: messages beside the span; their names even without content.
    older = {CONTENT: content, "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai"}
    scenario = collected(tmp_path, V2, "plain", **older)
    first = scenario.steps[0]
    assert (first.reply.text, [call.tool for call in first.calls]) == (text, ["add", "add"])
    assert [call.args for call in first.calls] == arguments
    assert [call.result for call in first.calls] == results
    assert sorted(scenario.tools or ()) == ["add", "mul"]
