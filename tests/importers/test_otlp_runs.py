"""Which spans and log records of which files are one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers._spans.otlp import attach, events_from, spans_from
from tests.importers.otlp_requests import (
    AGENT,
    ASKED,
    CHAT,
    DONE,
    PARTS_IN,
    Write,
    attributes,
    read,
    request,
    span,
    trace,
    value,
)


def test_spans_of_traces_may_lie_mixed(write_lines: Write) -> None:
    mixed = [one for pair in zip(trace(1), trace(2, at=5), strict=True) for one in pair]
    found = read(write_lines(*(request(one) for one in reversed(mixed))))
    assert [(one["id"], len(one["steps"])) for one in found] == [
        (f"otlp/{1:032x}", 2),
        (f"otlp/{2:032x}", 2),
    ]


@pytest.mark.parametrize(
    "name",
    ["gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id"],
)
def test_a_conversation_goes_over_traces(write_lines: Write, name: str) -> None:
    """Even where only model calls name it; what comes later is a person's."""
    later = json.dumps([*json.loads(PARTS_IN), {"role": "user", "content": "Now cool it."}])
    second = {"gen_ai.input.messages": later, name: "s 1"}
    path = write_lines(request(*trace(2, at=500, **second)), request(*trace(1, **{name: "s 1"})))
    (found,) = read(path)
    assert (found["id"], found["goal"]) == ("otlp/s-1", "Boil water.")
    assert [(s.get("user"), s.get("idle_ms")) for s in found["steps"]] == [
        (None, None), (None, None), ("Now cool it.", 461), (None, None)
    ]  # fmt: skip


def test_a_trace_of_several_conversations_is_taken_apart(write_json: Write) -> None:
    both = [
        span(1, {}, name="server"),
        span(2, {**AGENT, "gen_ai.conversation.id": "a", "session.id": "same"}, parent=1),
        span(3, ASKED, parent=2),
        span(4, {**AGENT, "gen_ai.conversation.id": "b"}, parent=1, at=5),
        span(5, DONE, parent=4, at=6),
    ]
    found = read(write_json(request(*both)))
    assert [(one["id"], len(one["steps"])) for one in found] == [("otlp/a", 1), ("otlp/b", 1)]


def test_a_process_may_name_the_session(write_json: Write) -> None:
    raw = request(*trace(1), *trace(2), resource={"session.id": "s"})
    assert [one["id"] for one in read(write_json(raw))] == ["otlp/s"]


def test_a_span_that_was_sent_twice_counts_once(write_lines: Write) -> None:
    (found,) = read(write_lines(request(*trace()), request(*trace())))
    assert len(found["steps"]) == 2


def test_files_of_a_folder_are_read_together(tmp_path: Path) -> None:
    """A collector begins a new file while a trace is under way."""
    for number, one in enumerate(trace()):
        (tmp_path / f"traces-{number}.jsonl").write_text(json.dumps(request(one)))
    (tmp_path / "package.json").write_text("{}")
    (found,) = read(tmp_path)
    assert (len(found["steps"]), found["source"]) == (2, f"otlp:{tmp_path.name}")


# -- messages that came as log records ---------------------------------------------------------


def log(number: int, name: str, body: Any) -> dict[str, Any]:
    own = {"eventName": name} if number == 2 else {"attributes": attributes({"event.name": name})}
    return {"traceId": f"{1:032x}", "spanId": f"{number:016x}", "body": value(body), **own}


LOGS = {
    "resourceLogs": [
        {
            "scopeLogs": [
                {
                    "logRecords": [
                        log(2, "gen_ai.user.message", {"content": "Boil water."}),
                        log(2, "gen_ai.choice", {"message": {"content": "It boils."}}),
                        log(3, "gen_ai.choice", {"message": {"content": "late"}}),
                        {"body": {"stringValue": "about no span"}},
                    ]
                }
            ]
        }
    ]
}


def test_log_records_are_put_to_their_spans(write_lines: Write) -> None:
    (found,) = read(write_lines(LOGS, request(span(2, CHAT))))
    assert (found["goal"], found["steps"][0]["reply"]["text"]) == ("Boil water.", "It boils.")


def test_log_records_whose_span_is_not_there_are_given_back() -> None:
    spans = spans_from(request(span(2, CHAT)))
    left = attach(spans, events_from(LOGS))
    assert [event.name for event in spans[0].events] == ["gen_ai.user.message", "gen_ai.choice"]
    assert [event.span_id for event in left] == [f"{3:016x}"]
