"""What each part of the product writes is the same from a file, and in a live loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.clock import VirtualClock
from harness.collect import Collector
from harness.continuing import Continuation
from harness.importers import recordings
from harness.loop import run_episode
from harness.preset import load_preset
from harness.record import Recorder
from harness.rejudge import FunctionJudge, ModelJudge, Moment, rejudge
from harness.turns import prepare
from tests.collect.spans import plain_spans, request, run_spans
from tests.examples import PRICED, call, scenario, step
from tests.openai_server import call as asks
from tests.openai_server import say, serving
from tests.record.agents import REPLIES
from tests.record.test_formats import AGENTS, through
from tests.round_trips import check_files, check_live
from tests.stored import jsonl

PRESETS = [load_preset(name) for name in ("balanced", "observe")]
VERDICT = {"done": False, "score": 0.5, "reason": "half", "evidence": ["a.txt"]}
WORK = scenario(
    [step(call("read", {"at": n}, "x"), text=text, ms=1, user="On." if n else None)
     for n, text in enumerate(("one", "two", "done"))],
    id="made/work", tools=["read"], recorded={"outcome": "success"},
)  # fmt: skip
CHAT = {
    "id": "a", "messages": [
        {"role": "user", "content": "Open the door."},
        {"role": "assistant", "content": "I look.", "tool_calls": [asks("look", {"at": "door"})]},
        {"role": "tool", "tool_call_id": "call_1", "content": "closed"},
        {"role": "assistant", "content": "It is closed."},
    ],
}  # fmt: skip


def recorded_by(name: str) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        path = folder / "a.jsonl"
        with serving(*REPLIES) as server, through(Recorder(path)) as http:
            AGENTS[name](http, server.url)
        return path

    return made


def collected(folder: Path) -> Path:
    path = folder / "a.jsonl"
    collector = Collector(path, clock=VirtualClock(), tell=lambda _: None)
    for spans in (run_spans(), plain_spans()):
        collector.spans(request(spans), 1000)
    collector.close()
    return path


def judged_by_a_model(folder: Path) -> Path:
    path = folder / "out.jsonl"
    with serving(script=lambda _: say(json.dumps(VERDICT))) as server:
        judge = ModelJudge(server.client(), PRICED)
        rejudge([jsonl(folder / "in.jsonl", WORK)], path, judge)
    return path


def verdict(moment: Moment) -> dict[str, Any]:
    return {**VERDICT, "done": moment.step.reply.text == "done"}


def score(moment: Moment) -> float:
    return len(moment.step.reply.text) / 10


def judged_by(function: Callable[[Moment], Any]) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        path = folder / "out.jsonl"
        rejudge([jsonl(folder / "in.jsonl", WORK)], path, FunctionJudge(function, "own"))
        return path

    return made


def continued(folder: Path) -> Path:
    """A recording that a live model went on with, with a live judge."""
    path = folder / "made.jsonl"
    under = PRESETS[0]
    tape = prepare(WORK, wait_ms=under.wait_ms)

    def script(body: dict[str, Any]) -> dict[str, Any]:
        if not body.get("tools"):
            return say(json.dumps(VERDICT))
        said = len(body["messages"])
        return say("", asks("read", {"at": said})) if said < 14 else say("Read.")

    with serving(script=script) as server:
        going = Continuation(server.client(), PRICED, record_to=path)
        going(tape, under, run_episode(tape, under))
    return path


def imported(folder: Path) -> Path:
    source = folder / "chat.jsonl"
    source.write_text(json.dumps(CHAT) + "\n")
    path = folder / "a.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in recordings("chat", source)))
    return path


SOURCES: dict[str, Callable[[Path], Path]] = {
    **{f"record: {name}": recorded_by(name) for name in AGENTS},
    "collect": collected,
    "rejudge: model": judged_by_a_model,
    "rejudge: verdict": judged_by(verdict),
    "rejudge: score": judged_by(score),
    "continue live": continued,
    "import": imported,
}


@pytest.fixture(params=SOURCES)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, Any]]:
    """What one part of the product has written."""
    path = SOURCES[request.param](tmp_path)
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert found
    return found


def test_nothing_is_lost(written: list[dict[str, Any]]) -> None:
    for data in written:
        found = check_files(data, PRESETS)
        for under in PRESETS:
            check_live(found, under)
