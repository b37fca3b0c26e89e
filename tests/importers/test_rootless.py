"""Model calls with no span around them: which of them become one recording."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.importers import Intake, otlp
from harness.importers.otlp import grouped, spans_from
from tests.importers.otlp_requests import (
    AGENT,
    CHAT,
    TOOL,
    Write,
    answer,
    ask,
    back,
    read,
    request,
    span,
)

SYSTEM = {"role": "system", "content": "You cook."}
GOAL = ask("Boil water.")
HEAT = answer("I heat.", ("c1", "heat", '{"to": 100}'))
HOT = back("c1", "hot")
LOOK = answer("", ("c2", "look", "{}"))
SEEN = back("c2", "it boils")
DONE = answer("It boils.")
MINUTE = 60_000


def call(
    number: int,
    asked: list[Any],
    reply: dict[str, Any] | None,
    *,
    at: int | None = None,
    ms: int = 10,
    error: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A model call as a trace of its own, the tenth of a second after the one before."""
    about = {**CHAT, **more}
    if asked:
        about["gen_ai.input.messages"] = json.dumps(asked)
    if reply is not None:
        about["gen_ai.output.messages"] = json.dumps([reply])
    when = number * 100 if at is None else at
    return span(1, about, at=when, ms=ms, trace=f"{number:032x}", name="chat m", error=error)


def blind(number: int, reason: str = "tool_calls", **more: Any) -> dict[str, Any]:
    """The same, without content."""
    return call(number, [], None, **{"gen_ai.response.finish_reasons": [reason], **more})


def loop(begin: int, goal: dict[str, Any] = GOAL, step: int = 1) -> list[dict[str, Any]]:
    """Three calls of an agent with two tools."""
    talk = [SYSTEM, goal]
    turns = [(talk, HEAT), ([*talk, HEAT, HOT], LOOK), ([*talk, HEAT, HOT, LOOK, SEEN], DONE)]
    return [call(begin + n * step, asked, reply) for n, (asked, reply) in enumerate(turns)]


def runs(write_lines: Write, *spans: dict[str, Any], **resource: Any) -> list[list[str]]:
    """The traces of each recording, as their numbers, from a file and from memory."""
    requests = [request(one, resource=resource) for one in spans]
    file = write_lines(*requests)
    steps = [len(recording["steps"]) for recording in read(file)]
    taken = [one for each in requests for one in spans_from(each)]
    found = grouped(sorted(taken, key=lambda one: one.start_ns or 0))
    assert steps == [len(members) for members in found.values()]
    return [[str(int(one.trace_id, 16)) for one in members] for members in found.values()]


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


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        pytest.param([blind(1), blind(2), blind(3, "stop")], [["1", "2", "3"]], id="one loop"),
        pytest.param(
            [blind(1), blind(2, "stop"), blind(3), blind(4, "stop")],
            [["1", "2"], ["3", "4"]],
            id="tools and then an answer end a run",
        ),
        pytest.param(
            [blind(1, "stop"), blind(2, "stop"), blind(3, "length")],
            [["1", "2", "3"]],
            id="an agent without the API's tools",
        ),
        pytest.param(
            [blind(1, at=0), blind(2, at=10 + 5 * MINUTE)], [["1", "2"]], id="a pause of minutes"
        ),
        pytest.param([blind(1, at=0), blind(2, at=11 + 5 * MINUTE)], [["1"], ["2"]], id="longer"),
        pytest.param(
            [
                blind(1, at=0, ms=20),
                blind(2, at=10, ms=20),
                blind(3, at=25, ms=20),
                blind(4, at=35, ms=20),
            ],
            [["1", "3"], ["2", "4"]],
            id="two at once",
        ),
        pytest.param(
            [blind(1), blind(2), blind(3, "stop", at=250), blind(4)],
            [["1", "2", "3"], ["4"]],
            id="an answer ends its run only",
        ),
    ],
)
def test_by_process(write_lines: Write, spans: Any, expected: Any) -> None:
    assert runs(write_lines, *spans, **{"service.instance.id": "a"}) == expected


def test_another_process_is_another_run(write_lines: Write) -> None:
    path = write_lines(
        *(request(blind(n), resource={"process.pid": n % 2, "host.name": "h"}) for n in range(1, 7))
    )
    assert [len(one["steps"]) for one in read(path)] == [3, 3]
    assert {tag for one in read(path) for tag in one["tags"]} == {
        "otlp", "content:none", "grouped:process",
    }  # fmt: skip


def test_where_no_process_is_told_nothing_is_joined(write_json: Write) -> None:
    whole = request(blind(1), blind(2))
    del whole["resourceSpans"][0]["resource"]
    assert [one["tags"] for one in read(write_json(whole))] == [["otlp", "content:none"]] * 2


@pytest.mark.parametrize(
    "around",
    [
        pytest.param([span(9, AGENT)], id="an agent"),
        pytest.param([span(9, {}, name="GET /")], id="a server"),
        pytest.param([], id="one that has not come"),
    ],
)
def test_what_is_around_a_call_parts_it_from_others(write_lines: Write, around: Any) -> None:
    calls = [{**one, "parentSpanId": f"{9:016x}"} for one in loop(1)]
    roots = [{**root, "traceId": one["traceId"]} for one in calls for root in around]
    found = read(write_lines(request(*calls, *roots)))
    assert [len(one["steps"]) for one in found] == [1, 1, 1]
    assert not any("grouped" in tag for one in found for tag in one["tags"])


def test_what_is_within_a_call_parts_nothing(write_lines: Write) -> None:
    inner = [
        span(2, {"http.request.method": "POST"}, parent=1, at=n * 100, trace=f"{n:032x}")
        for n in (1, 2, 3)
    ]
    (found,) = read(write_lines(request(*loop(1), *inner)))
    assert len(found["steps"]) == 3
    executed = span(2, TOOL, parent=1, at=300, trace=f"{3:032x}")
    steps = [len(one["steps"]) for one in read(write_lines(request(*loop(1), executed)))]
    assert steps == [2, 1]


def test_a_conversation_that_is_named_counts_first(write_lines: Write) -> None:
    talk = {"gen_ai.conversation.id": "t"}
    named = [call(1, [GOAL], HEAT, **talk), call(2, [ask("Fry an egg.")], DONE, **talk)]
    (found, other) = read(write_lines(request(*named, call(3, [GOAL, HEAT, HOT], DONE))))
    assert (found["id"], found["tags"], len(found["steps"])) == ("otlp/t", ["otlp"], 2)
    assert len(other["steps"]) == 1


def test_a_broken_call_is_lost_alone(write_lines: Write) -> None:
    broken = call(2, [GOAL, HEAT, HOT], DONE, **{"gen_ai.usage.input_tokens": "many"})
    first, second, third = loop(1)
    assert second["traceId"] == broken["traceId"]
    intake = Intake()
    found = list(otlp.read(write_lines(request(first, broken, third)), intake))
    assert [len(one["steps"]) for one in found] == [2]
    (words,) = intake.problems
    assert "key 'gen_ai.usage.input_tokens' must be a whole number" in words
