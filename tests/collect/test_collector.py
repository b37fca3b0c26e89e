"""Spans in, recordings out, on a clock that only moves when it is told to."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from harness import load
from harness.clock import VirtualClock
from harness.collect import Collector
from harness.errors import ImportFormatError
from harness.importers import recordings
from harness.otlp import otlp_json
from harness.telemetry import Traced
from tests.collect.spans import (
    AGENT,
    STEPS,
    Made,
    agent_run,
    chat,
    lines,
    log_request,
    plain_spans,
    request,
    run_spans,
    told,
)  # fmt: skip

IDLE_MS = 10_000


class Desk:
    """A collector, its clock and its file."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.clock = VirtualClock()
        self.said: list[str] = []
        self.collector = Collector(path, clock=self.clock, tell=self.said.append, **options)

    def send(self, spans: Sequence[ReadableSpan], size: int = 1000) -> int:
        """How many were rejected."""
        return self.collector.spans(request(spans), size).rejected

    def after(self, ms: int) -> list[dict[str, Any]]:
        """The file, so much later."""
        self.clock.advance(ms)
        self.collector.tick()
        return lines(self.path) if self.path.exists() else []


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "runs" / "found.jsonl")


def test_a_run_is_written_when_its_outermost_span_has_ended(desk: Desk) -> None:
    desk.send(run_spans())
    (recording,) = desk.after(0)
    assert list(told(recording)) == STEPS
    assert recording["tools"] == ["add"]
    assert recording["recorded"] == {
        "exit_reason": "agent_finished", "exit_reason_source": "inferred",
    }  # fmt: skip
    (scenario,) = load([desk.path])
    assert scenario.id == recording["id"]
    assert desk.said == [f"{recording['id']}: 3 steps"]


def test_a_run_that_goes_on_is_written_when_nothing_was_heard_of_it(desk: Desk) -> None:
    spans = run_spans()
    desk.send(spans[:2])
    assert desk.after(IDLE_MS - 1) == []
    (recording,) = desk.after(1)
    assert list(told(recording)) == STEPS[:1]
    # However long it takes, it is not closed before its outermost span has ended.
    desk.after(100 * IDLE_MS)
    assert desk.send(spans[2:]) == 0
    (recording,) = desk.after(0)
    assert list(told(recording)) == STEPS


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_batches_arrive_in_any_order(desk: Desk, order: Sequence[int]) -> None:
    spans = run_spans()
    batches = [spans[:2], spans[2:4], spans[4:]]
    for index in order:
        desk.send(batches[index])
        desk.after(100)
    (recording,) = lines(desk.path)
    assert list(told(recording)) == STEPS


def test_what_is_sent_twice_counts_once(desk: Desk) -> None:
    spans = run_spans()
    desk.send(spans)
    desk.send(spans)
    (recording,) = desk.after(0)
    assert list(told(recording)) == STEPS


def test_a_recording_is_finished_when_nothing_comes_any_more(desk: Desk) -> None:
    spans = run_spans()
    late, rest = spans[0], spans[1:]
    desk.send(rest)
    desk.after(IDLE_MS)
    taken = desk.collector.spans(request([late]), 100)
    assert (taken.rejected, taken.words) == (1, "the recording of this trace is finished")
    assert len(desk.after(IDLE_MS)) == 1
    assert desk.collector.counts.rejected == 1


def test_it_tells_what_the_importer_tells(desk: Desk, tmp_path: Path) -> None:
    spans = [*run_spans(), *run_spans(2), *run_spans(4, **{"session.id": "s"})]
    desk.send(spans)
    file = tmp_path / "spans.json"
    file.write_text(otlp_json(Traced(0, tuple(spans), ())), "utf-8")
    imported = {r["id"]: r for r in recordings("otlp", file)}
    collected = {r["id"]: r for r in desk.after(0)}
    assert len(imported) == 3
    for name, recording in imported.items():
        assert {**collected[name], "source": 0} == {**recording, "source": 0}


def test_other_traces_are_ignored_and_counted(desk: Desk) -> None:
    desk.send([*plain_spans(), *plain_spans(), *run_spans()])
    assert len(desk.after(0)) == 1
    desk.after(IDLE_MS)
    counts = desk.collector.counts
    assert (counts.episodes, counts.steps, counts.spans) == (1, 3, 8)
    assert (counts.ignored_traces, counts.ignored_spans) == (2, 2)


@pytest.mark.parametrize("name", ["gen_ai.conversation.id", "session.id"])
def test_a_conversation_is_one_recording_however_many_traces(desk: Desk, name: str) -> None:
    more = {name: "talk 1"}
    desk.send(run_spans(2, **more))
    assert [r["id"] for r in desk.after(0)] == ["otlp/talk-1"]
    desk.after(100 * IDLE_MS)
    desk.send(run_spans(3, **more))
    (recording,) = desk.after(0)
    assert len(recording["steps"]) == 5
    assert desk.collector.counts.episodes == 1


def test_a_trace_is_known_to_be_of_a_conversation_only_later(desk: Desk) -> None:
    made = Made()
    with made.tracer.start_as_current_span("invoke_agent adder", attributes=AGENT):
        chat(made.tracer, 1)
        desk.send(made.taken())
        (before,) = desk.after(IDLE_MS)
        chat(made.tracer, 2, last=True, **{"session.id": "s"})
    desk.send(made.taken())
    (after,) = desk.after(0)
    assert (before["id"] == after["id"], len(after["steps"])) == (False, 2)
    assert after["id"] == "otlp/s"


def test_one_trace_may_hold_several_conversations(desk: Desk) -> None:
    made = Made()
    with made.tracer.start_as_current_span("both"):
        agent_run(made.tracer, 2, **{"session.id": "a"})
        agent_run(made.tracer, 3, **{"session.id": "b"})
    desk.send(made.taken())
    assert {r["id"]: len(r["steps"]) for r in desk.after(0)} == {"otlp/a": 2, "otlp/b": 3}


def test_where_too_many_are_open_the_oldest_is_closed_first(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.jsonl", most=2)
    runs = [run_spans(2) for _ in range(3)]
    for spans in runs:
        desk.send(spans[:2])
        desk.clock.advance(1)
    assert desk.collector.counts.closed_early == 1
    first, *others = [desk.send(spans[2:]) for spans in runs]
    assert (first, others) == (2, [0, 0])
    steps = {r["id"]: len(r["steps"]) for r in desk.after(0)}
    ids = [f"otlp/{spans[0].context.trace_id:032x}" for spans in runs]
    assert steps == dict(zip(ids, (1, 2, 2), strict=True))


def test_what_is_open_has_a_bound_in_bytes(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.jsonl", most_bytes=1000)
    desk.send(run_spans(), size=800)
    desk.send(run_spans(), size=800)
    assert desk.collector.counts.closed_early == 1
    desk.send(run_spans(), size=2000)
    assert desk.collector.counts.closed_early == 3
    assert [len(r["steps"]) for r in desk.after(0)] == [3, 3, 3]


def test_everything_open_is_written_at_the_end(desk: Desk) -> None:
    desk.send(run_spans()[:2])
    desk.send(run_spans())
    desk.collector.close()
    assert sorted(len(r["steps"]) for r in lines(desk.path)) == [1, 3]


def test_the_next_one_adds_to_the_file(tmp_path: Path) -> None:
    for _ in range(2):
        desk = Desk(tmp_path / "a.jsonl")
        desk.send(run_spans(**{"session.id": "s"}))
        desk.after(0)
        desk.collector.close()
    assert [r["id"] for r in lines(desk.path)] == ["otlp/s", "otlp/s-2"]
    assert len(list(load([desk.path]))) == 2


def test_secrets_are_not_written(desk: Desk) -> None:
    secret = "sk-proj-" + "aB3" * 16
    reply = [{"role": "assistant", "parts": [{"type": "text", "content": f"It is {secret}."}]}]
    made = Made()
    chat(made.tracer, 1, last=True, **{"gen_ai.output.messages": json.dumps(reply)})
    desk.send(made.taken())
    (recording,) = desk.after(0)
    assert secret not in desk.path.read_text("utf-8")
    assert recording["steps"][0]["reply"]["text"].startswith("It is [redacted ")


@pytest.mark.parametrize("logs_first", [True, False])
def test_messages_that_come_as_log_records_are_put_to_their_spans(
    desk: Desk, logs_first: bool
) -> None:
    made = Made()
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    with made.tracer.start_as_current_span("chat m", attributes=about):
        pass
    (span,) = made.taken()
    logs = log_request(span, ("gen_ai.user.message", "Hello?"), ("gen_ai.choice", "Hello!"))
    if logs_first:
        desk.collector.events(logs, 100)
        assert desk.after(0) == []
    desk.send([span])
    desk.after(0)
    if not logs_first:
        desk.collector.events(logs, 100)
    (recording,) = desk.after(0)
    assert recording["goal"] == "Hello?"
    assert recording["steps"][0]["reply"]["text"] == "Hello!"
    assert desk.collector.counts.events == 2


def test_a_broken_span_is_rejected_alone(desk: Desk) -> None:
    good = request(run_spans())
    bad = good.resource_spans[0].scope_spans[0].spans.add(name="no ids")
    assert bad.name == "no ids"
    taken = desk.collector.spans(good, 100)
    assert taken.rejected == 1
    assert "spans 7: needs a 'traceId' and a 'spanId'" in taken.words
    assert list(told(desk.after(0)[0])) == STEPS


def test_a_run_that_cannot_be_told_is_counted_and_said(desk: Desk) -> None:
    made = Made()
    with made.tracer.start_as_current_span("invoke_agent adder", attributes=AGENT):
        pass
    desk.send(made.taken())
    desk.after(0)
    assert (desk.after(IDLE_MS), desk.collector.counts.broken) == ([], 1)
    (said,) = desk.said
    assert "holds no model call" in said


def test_what_is_no_request_is_refused(desk: Desk) -> None:
    with pytest.raises(ImportFormatError, match="'resourceSpans' must be a list of objects"):
        desk.collector.spans({"resourceSpans": 3}, 10)


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    desk = Desk(folder / "a.jsonl")
    desk.send(run_spans())
    with pytest.raises(OSError, match="folder"):
        desk.after(0)
    folder.unlink()
    assert len(desk.after(0)) == 1
