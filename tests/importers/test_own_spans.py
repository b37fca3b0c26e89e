"""The harness's own spans come back as the iterations they were made of, whoever kept them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.episode import Episode
from harness.ids import span_ids, span_order
from harness.importers import recordings
from harness.loop import run_episode
from harness.otlp import otlp_json
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.telemetry import Projector
from harness.turns import prepare
from tests.examples import call, scenario, step

Spans = list[dict[str, Any]]
ID = "3f2a"


def judged(at: int, **reply: Any) -> dict[str, Any]:
    """A step that works at something, and what a judge replies to it."""
    verdict = {"score": at / 10, "done": False, "evidence": ["seen"], "feedback": f"more {at}"}
    return step(
        call(f"tool_{at}", {"at": at}, "done"), text=f"Attempt {at}.", model="gpt-4o",
        finish_reason="tool_calls", usage={"input": 90 + at, "output": 10},
        judge={"text": json.dumps(verdict), "model": "gpt-4o"}, **reply,
    )  # fmt: skip


TIMED = scenario([judged(at, ms=100 * at) for at in range(1, 5)], id="made/timed")
UNTIMED = scenario([judged(at) for at in range(1, 5)], id="made/untimed")


def replayed(made: Scenario) -> tuple[Episode, Spans]:
    """A replay, and its spans as OTLP/JSON has them."""
    episode = run_episode(prepare(made), load_preset("balanced"))
    request = json.loads(otlp_json(Projector("0").project(episode, ID, 1_700_000_000 * 10**9)))
    return episode, request["resourceSpans"][0]["scopeSpans"][0]["spans"]


def otlp(spans: Spans) -> Any:
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def phoenix(spans: Spans) -> Any:
    """A page of Phoenix: newest first, every kind of value named, times as floats have them."""
    kinds = ("string", "bool", "int", "double", "array", "bytes", "kvlist")

    def union(value: dict[str, Any]) -> dict[str, Any]:
        ((kind, found),) = value.items()
        if kind == "arrayValue":
            found = {"values": [union(item) for item in found["values"]]}
        name = kind.removesuffix("Value")
        return {f"{each}_value": found if each == name else None for each in kinds}

    return {
        "data": [
            {
                "name": s["name"], "trace_id": s["traceId"], "span_id": s["spanId"],
                "parent_span_id": s.get("parentSpanId"), "events": None, "status": {"code": 0},
                "start_time_unix_nano": int(float(s["startTimeUnixNano"])),
                "end_time_unix_nano": int(float(s["endTimeUnixNano"])),
                "attributes": [{"key": a["key"], "value": union(a["value"])}
                               for a in s["attributes"]],
            }
            for s in reversed(spans)
        ],
        "next_cursor": None,
    }  # fmt: skip


def mixed(spans: Spans) -> Any:
    return otlp(random.Random(3).sample(spans, len(spans)))  # noqa: S311 - to be the same each time


@pytest.mark.parametrize("kept", [otlp, phoenix, mixed])
@pytest.mark.parametrize("made", [TIMED, UNTIMED], ids=["timed", "untimed"])
def test_a_replay_comes_back(
    write_json: Callable[..., Path], made: Scenario, kept: Callable[[Spans], Any]
) -> None:
    episode, spans = replayed(made)
    assert any(len(iteration.replies) > 1 for iteration in episode.iterations)
    (recording,) = recordings("otlp", write_json(kept(spans)))
    assert recording["id"] == f"otlp/{ID}"
    assert [
        (
            s["reply"].get("model"), s["reply"].get("finish_reason"), s["reply"].get("ms"),
            s["reply"]["usage"], [c["tool"] for c in s["calls"]], s.get("score"),
        )
        for s in recording["steps"]
    ] == [
        (
            i.replies[0].model, i.replies[0].finish_reason, i.replies[0].ms,
            {"input": i.replies[0].usage.input, "output": i.replies[0].usage.output},  # type: ignore[union-attr]
            [c.tool for c in i.turn.calls], i.evaluation.score,
        )
        for i in episode.iterations
    ]  # fmt: skip


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_which_scores_are_better(write_json: Callable[..., Path], direction: str) -> None:
    made = scenario([judged(at) for at in range(1, 5)], id="made/errors", direction=direction)
    episode, spans = replayed(made)
    (recording,) = recordings("otlp", write_json(otlp(spans)))
    assert recording.get("direction", "higher") == direction
    again, _ = replayed(Scenario.model_validate(recording))
    assert [s.comparison for s in again.series] == [s.comparison for s in episode.series]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stagnation", {"exit_reason": "stagnation"}),
        ("recording_exhausted", {}),
        ("no reason of ours", {}),
        (3, {}),
    ],
)
def test_how_it_ended(write_json: Callable[..., Path], reason: Any, expected: Any) -> None:
    _, spans = replayed(TIMED)
    for attribute in spans[-1]["attributes"]:
        if attribute["key"] == "harness.episode.exit_reason":
            kind = "stringValue" if isinstance(reason, str) else "intValue"
            attribute["value"] = {kind: reason}
    (recording,) = recordings("otlp", write_json(otlp(spans)))
    assert recording["recorded"] == expected


def test_where_an_iteration_is_missing_no_score_is_guessed(
    write_json: Callable[..., Path],
) -> None:
    _, spans = replayed(TIMED)
    lost = next(s for s in spans if s["name"] == "harness.iteration")
    (recording,) = recordings("otlp", write_json(otlp([s for s in spans if s is not lost])))
    assert [s.get("score") for s in recording["steps"]] == [None] * len(recording["steps"])


def test_the_order_of_span_ids() -> None:
    ids = span_ids("an episode")
    order = [span_order(ids.take()) for _ in range(100)]
    assert order == list(range(order[0], order[0] + 100))
