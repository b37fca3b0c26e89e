"""Model calls of agents that nobody traces, as they arrive: each is a trace of its own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from harness.importers import recordings
from harness.otlp import otlp_json
from harness.telemetry import Traced
from tests.collect.spans import STEPS, Made, lines, log_request, lone_calls, told
from tests.collect.test_collector import IDLE_MS, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "found.jsonl")


def agent(goal: str = "Add up.", calls: int = 3) -> list[ReadableSpan]:
    return list(lone_calls(Made().tracer, goal, calls))


def test_a_recording_grows_with_every_call(desk: Desk) -> None:
    found = []
    for span in lone_calls(Made().tracer, "Add up."):
        desk.send([span])
        (recording,) = desk.after(100 * IDLE_MS)
        found.append((recording["id"], len(recording["steps"])))
    (recording,) = lines(desk.path)
    assert found == [(recording["id"], steps) for steps in (1, 2, 3)]
    assert list(told(recording)) == STEPS
    assert recording["tags"] == ["otlp", "grouped:prefix"]
    assert recording["recorded"]["exit_reason"] == "agent_finished"
    assert desk.said == [f"{recording['id']}: 1 steps"]
    counts = desk.collector.counts
    assert (counts.episodes, counts.steps, counts.ignored_traces) == (1, 3, 0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_calls_arrive_in_any_order(desk: Desk, order: Sequence[int]) -> None:
    spans = agent()
    for index in order:
        desk.send([spans[index]])
        desk.after(100)
    (recording,) = lines(desk.path)
    assert list(told(recording)) == STEPS
    assert desk.collector.counts.episodes == 1


def test_agents_at_once_are_told_apart(desk: Desk) -> None:
    made = Made()
    both = zip(lone_calls(made.tracer, "Add up."), lone_calls(made.tracer, "Add."), strict=True)
    for pair in both:
        for span in pair:
            desk.send([span])
            desk.after(100)
    found = lines(desk.path)
    assert [(r["goal"], list(told(r))) for r in found] == [("Add up.", STEPS), ("Add.", STEPS)]


def test_without_messages_the_process_tells(desk: Desk) -> None:
    hidden = {"gen_ai.input.messages": "", "gen_ai.output.messages": ""}
    made, other = Made(), Made()
    for span in (*lone_calls(made.tracer, "a", **hidden), *lone_calls(other.tracer, "b", **hidden)):
        desk.send([span])
        desk.after(100)
    found = lines(desk.path)
    assert [len(recording["steps"]) for recording in found] == [3, 3]
    assert [recording["tags"] for recording in found] == [
        ["otlp", "content:none", "grouped:process"]
    ] * 2


def test_messages_that_come_later_part_what_the_process_joined(desk: Desk) -> None:
    made = Made()
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    for _ in range(2):
        with made.tracer.start_as_current_span("chat m", attributes=about):
            pass
    spans = made.taken()
    desk.send(spans)
    assert [len(recording["steps"]) for recording in desk.after(0)] == [2]
    for span, goal in zip(spans, ("Hello?", "Who is there?"), strict=True):
        desk.collector.events(log_request(span, ("gen_ai.user.message", goal)), 100)
        desk.after(0)
    assert {recording["goal"] for recording in lines(desk.path)} == {"Hello?", "Who is there?"}
    assert desk.collector.counts.episodes == 2


def test_it_tells_what_the_importer_tells(desk: Desk, tmp_path: Path) -> None:
    spans = [*agent(), *agent("Add."), *agent()]
    for span in spans:
        desk.send([span])
        desk.after(0)
    file = tmp_path / "spans.json"
    file.write_text(otlp_json(Traced(0, tuple(spans), ())), "utf-8")
    imported = {r["id"]: {**r, "source": 0} for r in recordings("otlp", file)}
    assert len(imported) == 3
    assert {r["id"]: {**r, "source": 0} for r in lines(desk.path)} == imported


def test_the_run_that_was_not_heard_of_for_longest_is_closed_first(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.jsonl", most=5)
    made = Made()
    busy = lone_calls(made.tracer, "Add up.", 4)
    desk.send([next(busy)])
    desk.clock.advance(1)
    desk.send(agent("Add."))
    for span in busy:
        desk.clock.advance(1)
        desk.send([span])
    assert desk.collector.counts.closed_early == 3
    found = {r["goal"]: len(r["steps"]) for r in desk.after(0)}
    assert found == {"Add.": 3, "Add up.": 4}


def test_all_is_written_at_the_end(desk: Desk) -> None:
    desk.send([*agent(), *agent("Add.", 2)])
    desk.collector.close()
    assert [len(recording["steps"]) for recording in lines(desk.path)] == [3, 2]
    assert len({json.dumps(recording["id"]) for recording in lines(desk.path)}) == 2
