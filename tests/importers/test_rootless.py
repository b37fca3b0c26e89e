"""Model calls with no span around them: which of them their messages make one recording."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.importers.lone_calls import (
    DONE,
    GOAL,
    HEAT,
    HOT,
    LOOK,
    MINUTE,
    SEEN,
    SYSTEM,
    blind,
    call,
    loop,
    runs,
)
from tests.importers.otlp_requests import CHAT, Write, answer, ask, read, request


def test_an_agent_that_nobody_traces_is_one_recording(write_lines: Write) -> None:
    (found,) = read(write_lines(*map(request, reversed(loop(1)))))
    assert (found["id"], found["goal"]) == (f"otlp/{1:032x}", "Boil water.")
    assert found["tags"] == ["otlp", "grouped:prefix"]
    assert [
        [(made["tool"], made["result"]) for made in step.get("calls", ())]
        for step in found["steps"]
    ] == [[("heat", "hot")], [("look", "it boils")], []]
    assert [step["reply"].get("text") for step in found["steps"]] == [
        "I heat.", None, "It boils.",
    ]  # fmt: skip
    assert found["recorded"] == {
        "exit_reason": "agent_finished", "exit_reason_source": "inferred",
    }  # fmt: skip


def test_spans_that_an_sdk_printed(write_lines: Write) -> None:
    printed = [
        {
            "name": "chat m",
            "context": {"trace_id": f"0x{n:032x}", "span_id": f"0x{n:016x}"},
            "parent_id": None,
            "start_time": f"2026-01-01T00:00:0{n}Z",
            "end_time": f"2026-01-01T00:00:0{n}.5Z",
            "attributes": {**CHAT, "gen_ai.input.messages": json.dumps(asked)},
        }
        for n, asked in enumerate(([GOAL], [GOAL, HEAT, HOT]), 1)
    ]
    (found,) = read(write_lines(*printed), "otel-dump")
    assert (found["tags"], len(found["steps"])) == (["otel-dump", "grouped:prefix"], 2)


def test_generations_that_langfuse_was_sent_alone(write_lines: Write) -> None:
    observations = [
        {
            "id": f"o{n}", "traceId": f"t{n}", "type": "GENERATION", "name": "openai",
            "startTime": f"2026-01-01T00:00:0{n}Z", "endTime": f"2026-01-01T00:00:0{n}.5Z",
            "input": asked, "output": reply, "parentObservationId": None,
        }
        for n, (asked, reply) in enumerate((([GOAL], HEAT), ([GOAL, HEAT, HOT], DONE)), 1)
    ]  # fmt: skip
    (found,) = read(write_lines(*observations), "langfuse")
    assert found["tags"] == ["langfuse", "grouped:prefix"]
    assert found["steps"][0]["calls"][0]["result"] == "hot"


PAUSE = ask("And now?")


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        pytest.param(
            [*loop(1, step=2), *loop(2, ask("Fry an egg."), step=2)],
            [["1", "3", "5"], ["2", "4", "6"]],
            id="two at once",
        ),
        pytest.param(
            [call(1, [SYSTEM, GOAL], DONE), call(2, [SYSTEM, ask("Fry an egg.")], DONE)],
            [["1"], ["2"]],
            id="a shared system prompt joins nothing",
        ),
        pytest.param(
            [
                call(1, [SYSTEM, GOAL], HEAT),
                call(2, [{**SYSTEM, "content": "!"}, GOAL, HEAT], DONE),
            ],
            [["1", "2"]],
            id="another system prompt parts nothing",
        ),
        pytest.param(
            [call(1, [GOAL], DONE), call(2, [GOAL], DONE)],
            [["1"], ["2"]],
            id="the same request is another run",
        ),
        pytest.param(
            [call(1, [GOAL], None, error="busy"), call(2, [GOAL], DONE)],
            [["1", "2"]],
            id="unless it failed",
        ),
        pytest.param(
            [*loop(1), *loop(4)],
            [["1", "2", "3"], ["4", "5", "6"]],
            id="the same task twice",
        ),
        pytest.param(
            [
                call(1, [GOAL], answer("Yes.")),
                call(2, [GOAL], answer("No.")),
                call(3, [GOAL, answer("Yes."), PAUSE], DONE),
                call(4, [GOAL, answer("No."), PAUSE], DONE),
            ],
            [["1", "3"], ["2", "4"]],
            id="the reply that is repeated tells runs apart",
        ),
        pytest.param(
            [
                call(1, [GOAL], DONE),
                call(2, [GOAL, DONE, PAUSE], answer("Yes.")),
                call(3, [GOAL], DONE),
                call(4, [GOAL, DONE, PAUSE, answer("Yes."), PAUSE], DONE),
            ],
            [["1", "2", "4"], ["3"]],
            id="the longest counts",
        ),
        pytest.param(
            [call(1, [GOAL], DONE, at=0), call(2, [GOAL, DONE, PAUSE], DONE, at=60 * MINUTE)],
            [["1", "2"]],
            id="with messages a pause parts nothing",
        ),
        pytest.param(
            [*loop(1)[:2], call(3, [ask("Before: hot."), LOOK, SEEN], DONE)],
            [["1", "2", "3"]],
            id="a shortened history is known by its call",
        ),
        pytest.param(
            [*loop(1)[:2], call(3, [ask("Before: hot."), PAUSE], DONE)],
            [["1", "2"], ["3"]],
            id="one without calls is another run",
        ),
        pytest.param(
            [
                call(1, [GOAL], LOOK),
                call(2, [PAUSE], LOOK),
                call(3, [ask("Go on."), LOOK, SEEN], DONE),
            ],
            [["1"], ["2"], ["3"]],
            id="an id that two runs have tells nothing",
        ),
        pytest.param(
            [call(1, [GOAL], HEAT), blind(2), call(3, [GOAL, HEAT, HOT], DONE), blind(4)],
            [["1", "3"], ["2", "4"]],
            id="with and without content",
        ),
    ],
)
def test_by_messages(write_lines: Write, spans: Any, expected: Any) -> None:
    assert runs(write_lines, *spans) == expected
    assert runs(write_lines, *reversed(spans)) == expected
