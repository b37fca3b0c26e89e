"""Recording -> scenario file -> recording: imported ones, and those of live loops."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.export.files import line_of, plain, yaml_of
from harness.files import Raw, bundled_scenarios, load, parse
from harness.importers import available, recordings
from harness.live import LoopGuard
from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario, Step
from harness.turns import prepare
from harness.yamlfile import load_yaml
from tests.examples import call


def as_scenarios(recording: dict[str, Any]) -> list[Scenario]:
    """A recording written in both forms and read as a scenario."""
    lines = [("x.jsonl", line_of(recording)), ("x.yaml", yaml_of(recording))]
    return [scenario for name, text in lines for scenario in parse(Raw(name, 1, text))]


def as_read(recording: dict[str, Any]) -> list[Any]:
    """A recording's data, written in both forms and read again."""
    return [json.loads(line_of(recording)), load_yaml(yaml_of(recording), "x.yaml")]


CORPORA = {
    "autoresearch": "autoresearch",
    "gepa": "gepa_confidence",
    "loopgain": "loopgain_bench",
    "mini-swe-agent": "mini_swe_agent_gemini3",
    "react": "react_webshop_fever",
    "reflexion": "reflexion",
    "tau-bench": "tau_bench",
    "textgrad": "textgrad",
}
#: Recordings of each file that are looked at; YAML is slow to read.
SAMPLE = 1


@pytest.mark.parametrize("importer", CORPORA)
def test_an_imported_recording(corpora: Path, importer: str) -> None:
    assert importer in available()
    found = 0
    for path in sorted((corpora / CORPORA[importer]).rglob("*")):
        try:
            some = list(islice(recordings(importer, path), SAMPLE)) if path.is_file() else []
        except HarnessError:
            continue  # a file of another kind beside the recordings
        for recording in some:
            found += 1
            assert as_read(recording) == [recording, recording]
            scenario = Scenario.model_validate(recording)
            assert as_scenarios(plain(scenario)) == [scenario, scenario]
    assert found


LIVE = [
    {"text": "Read.", "calls": [call("read", {"path": "a\x85b"}, " two\n lines \n")], "ms": 5},
    {"text": "", "user": "Go \u2028 on.", "score": 0.25, "usage": {"input": 1}, "model": "m",
     "finish_reason": "length", "ms": 0},
    {"error": "timeout", "ms": 9, "judge": {"text": "no"}, "roles": {"verifier": ["maybe", "yes"]}},
    {"calls": [call("run", {"1e3": None, "on": [True, 1e-7]}, None, ok=False, exit_code=1, ms=3)],
     "ms": 1, "output": "x ", "plan": "p", "feedback": "", "writes": [], "idle_ms": 4, "loop": "b"},
]  # fmt: skip


def lived(iterations: list[dict[str, Any]]) -> LoopGuard:
    guard = LoopGuard("observe", goal="Do\tit.", task={"tools": {"run": {"effect": "external"}}})
    for iteration in iterations:
        guard.observe(**iteration)
    return guard


def test_the_recording_of_a_live_loop() -> None:
    recording = lived(LIVE).recording()
    assert as_read(recording) == [recording, recording]
    for found in as_scenarios(recording):
        assert found == Scenario.model_validate(recording)


def test_the_recording_of_a_live_loop_decides_the_same() -> None:
    """What nobody asked for live (answers that were handed in) is left aside."""
    own = ("judge", "roles", "writes")
    guard = lived([{k: v for k, v in each.items() if k not in own} for each in LIVE])
    for found in as_scenarios(guard.recording()):
        episode = run_episode(prepare(found), load_preset("observe"))
        assert episode.decisions == tuple(guard.session.course.decisions)


#: What a live loop is told about its task.
TASK = ("direction", "score_scale", "tools", "capabilities", "completion_marker", "limits",
        "phases", "init")  # fmt: skip


def fed(scenario: Scenario) -> dict[str, Any]:
    """The recording of a live loop that does what a scenario says."""
    data = plain(scenario)
    task = {key: data[key] for key in TASK if key in data}
    guard = LoopGuard("observe", goal=scenario.goal, task=task, name=scenario.id)
    for spec in data["steps"]:
        reply = {"ms": 0} | spec.get("reply", {})
        guard.observe(**reply, **{key: value for key, value in spec.items() if key != "reply"})
    return guard.recording()


def timed(scenario: Scenario) -> list[Step]:
    """The steps with a time for each reply: a live loop has always measured it."""
    steps = scenario.model_dump(by_alias=True)["steps"]
    for data in steps:
        data["reply"]["ms"] = data["reply"]["ms"] or 0
    return [Step.model_validate(data) for data in steps]


def test_a_scenario_that_is_lived_is_recorded_as_it_was() -> None:
    """Request hashes are the one thing that nobody can hand in: they are the recorder's."""
    number = 0
    for scenario in load([bundled_scenarios()]):
        if "request_hash" in str(plain(scenario)):
            continue
        number += 1
        again = Scenario.model_validate(fed(scenario))
        assert again.steps == timed(scenario)
        head = set(Scenario.model_fields) & {*TASK, "id", "goal"}
        assert again.model_dump(include=head) == scenario.model_dump(include=head)
    assert number > 100
