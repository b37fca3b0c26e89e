"""Langfuse exports of real runs, against what the raw files count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, available, recordings
from harness.importers._head import head_of
from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare

#: Calls that were carried out, by file, as its observations show them.
EXECUTED = {
    "agno-2025-06-11": ["duckduckgo_search"],
    "autogen-2025-06-06": [],
    "beeai-2025-08-01": ["tool.search.wikipedia"],
    "google-adk-2025-08-28": ["say_hello"],
    "google-gemini-2025-08-01": [],
    "google-vertex-tools-langchain-2025-09-19": [],
    "koog-2025-08-26": ["HelloTool", "ByeTool"],
    "langfuse-1": [],
    "langfuse-2": ["searchLangfuseDocs"],
    "langfuse-3": ["searchLangfuseDocs"],
    "langgraph-2025-08-22": ["Web-Search"],
    "llamaindex-2025-06-05": [],
    "microsoft-agent-2025-10-14": ["get_weather"],
    "openai-agents-2025-09-30": ["get_weather"],
    "openai-assistants-2024-05-29": [],
    "pydantic-ai-tools-2025-12-04": [
        "get_pun_suggestion", "get_dad_joke_suggestion", "get_one_liner_suggestion",
    ],
}  # fmt: skip
FINISHED = {
    "agno-2025-06-11", "google-adk-2025-08-28", "google-vertex-tools-langchain-2025-09-19",
    "koog-2025-08-26", "langfuse-1", "langgraph-2025-08-22", "microsoft-agent-2025-10-14",
    "openai-agents-2025-09-30",
}  # fmt: skip


def files(corpora: Path) -> list[Path]:
    return sorted((corpora / "langfuse").rglob("*.json"))


def run(raw: dict[str, Any]) -> str:
    """The session, else the conversation that an instrumentation named, else the trace."""
    kept = [each.get("metadata") or {} for each in raw["observations"]]
    kept = [json.loads(each) if isinstance(each, str) else each for each in kept]
    named = (each.get("attributes", {}).get("gen_ai.conversation.id") for each in kept)
    session: str | None = raw["trace"].get("sessionId") or next(filter(None, named), None)
    return session or raw["trace"]["id"]


def generations(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that tell something and have no other inside."""
    told = [
        each
        for each in raw["observations"]
        if each["type"] == "GENERATION"
        and (each.get("input") or each.get("output") or each.get("usageDetails"))
    ]
    parents = {each["id"]: each.get("parentObservationId") for each in raw["observations"]}
    around: set[str] = set()
    for each in told:
        above = parents[each["id"]]
        while above is not None:
            around.add(above)
            above = parents.get(above)
    return [each for each in told if each["id"] not in around]


def test_steps_and_tokens_are_those_of_the_raw_file(corpora: Path) -> None:
    assert {path.stem for path in files(corpora)} == set(EXECUTED)
    for path in files(corpora):
        raw = json.loads(path.read_text())
        (recording,) = recordings("langfuse", path)
        counted = generations(raw)
        usages = [each["usageDetails"] for each in counted if each.get("usageDetails")]
        replies = [step.get("reply", {}) for step in recording["steps"]]
        known = [reply["usage"] for reply in replies if "usage" in reply]
        assert (path.stem, len(replies)) == (path.stem, len(counted))
        assert sum(sum(usage.values()) for usage in known) == sum(u["total"] for u in usages)
        assert [reply.get("model") for reply in replies] == [
            each["model"] for each in sorted(counted, key=lambda each: each["startTime"])
        ]
        assert recording["id"] == f"langfuse/{run(raw)}"


def test_calls_and_endings(corpora: Path) -> None:
    for path in files(corpora):
        raw = json.loads(path.read_text())
        (recording,) = recordings("langfuse", path)
        made = [call for step in recording["steps"] for call in step.get("calls", ())]
        done = [call["tool"] for call in made if "result" in call]
        assert (path.stem, done) == (path.stem, EXECUTED[path.stem])
        tools = [each for each in raw["observations"] if each["type"] == "TOOL"]
        assert len(done) >= len(tools)
        failed = [each for each in raw["observations"] if each["level"] == "ERROR"]
        assert [call for call in made if call.get("ok") is False] == failed == []
        ended = recording["recorded"].get("exit_reason")
        assert (path.stem, ended) == (
            path.stem,
            "agent_finished" if path.stem in FINISHED else None,
        )


def test_a_whole_folder_has_one_recording_for_each_session(corpora: Path) -> None:
    raws = [json.loads(path.read_text()) for path in files(corpora)]
    runs = {run(raw) for raw in raws}
    intake = Intake()
    found = list(recordings("langfuse", corpora / "langfuse", intake))
    assert {each["id"] for each in found} == {f"langfuse/{name}" for name in runs}
    assert sum(len(each["steps"]) for each in found) == sum(len(generations(raw)) for raw in raws)
    assert intake.problems == []


def test_the_three_importers_take_their_own_files_and_no_others(corpora: Path) -> None:
    own = set(files(corpora))
    importers = available()
    for path in sorted(corpora.rglob("*")):
        if path.is_file():
            head = head_of(path)
            names = ("langfuse", "langsmith", "openai-agents")
            fit = [name for name in names if importers[name].fits(head)]
            assert (path, fit) == (path, ["langfuse"] if path in own else [])


@pytest.mark.parametrize("preset", ["balanced", "strict"])
def test_all_recordings_run_in_observe_mode(corpora: Path, preset: str) -> None:
    observed = load_preset(preset).observed()
    for path in files(corpora):
        for recording in recordings("langfuse", path):
            episode = run_episode(prepare(Scenario.model_validate(recording)), observed)
            assert len(episode.iterations) == len(recording["steps"])
