"""Model calls with no span around them where no messages tell, and what counts as around them."""

from __future__ import annotations

from typing import Any

import pytest

from harness.importers import Intake, otlp
from tests.importers.lone_calls import DONE, GOAL, HEAT, HOT, MINUTE, blind, call, loop, runs
from tests.importers.otlp_requests import AGENT, TOOL, Write, ask, read, request, span


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
