"""One run over several files that are named one by one, and log records in any order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.importers import Intake, otlp
from harness.importers._convert import Conversion
from harness.importers._detect import Source
from harness.importers._spans.otlp import attach, events_from, spans_from
from tests.importers.otlp_requests import CHAT, TRACE, request, span, trace, value


def log(name: str, body: Any, at: int, *, time: str = "timeUnixNano") -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": f"{1:016x}", "eventName": name, "body": value(body),
            time: str(at)}  # fmt: skip


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


TALK = [
    log("gen_ai.user.message", {"content": "go"}, 1),
    log("gen_ai.user.message", {"content": "hurry"}, 2, time="observedTimeUnixNano"),
    log("gen_ai.choice", {"message": {"content": "done"}, "finish_reason": "stop"}, 3),
]
FILES: dict[str, Any] = {
    "first.jsonl": request(*trace()[:2]),
    "second.jsonl": request(*trace()[2:]),
    "other.jsonl": request(*trace(2)),
    "spans.jsonl": request(span(1, CHAT)),
    "logs.jsonl": logs(*TALK),
}


def converted(folder: Path, *names: str) -> tuple[list[tuple[str, str, int]], list[str]]:
    for name, made in FILES.items():
        (folder / name).write_text(json.dumps(made) + "\n", encoding="utf-8")
    conversion = Conversion([Source(folder / name, "otlp") for name in names])
    found = [json.loads(item.line) for item in conversion.items()]
    about = [(one["id"], one["source"], len(one["steps"])) for one in found]
    assert conversion.done_bytes == conversion.total_bytes
    return about, conversion.problems


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["first.jsonl", "second.jsonl"], [(1, "{folder}", 2)]),
        (["second.jsonl", "first.jsonl"], [(1, "{folder}", 2)]),
        (
            ["first.jsonl", "other.jsonl", "second.jsonl"],
            [(1, "{folder}", 2), (2, "other.jsonl", 2)],
        ),
        (["first.jsonl"], [(1, "first.jsonl", 1)]),
    ],
)
def test_a_trace_over_files(
    tmp_path: Path, names: list[str], expected: list[tuple[int, str, int]]
) -> None:
    found, problems = converted(tmp_path, *names)
    assert found == [
        (f"otlp/{number:032x}", f"otlp:{source.format(folder=tmp_path.name)}", steps)
        for number, source, steps in expected
    ]
    assert problems == []


def test_a_file_that_is_missing_is_lost_alone(tmp_path: Path) -> None:
    found, problems = converted(tmp_path, "first.jsonl", "gone.jsonl", "second.jsonl")
    assert [steps for _, _, steps in found] == [2]
    (words,) = problems
    assert "gone.jsonl: cannot be read" in words


def test_logs_in_a_file_of_their_own(tmp_path: Path) -> None:
    converted(tmp_path)
    paths = [tmp_path / "spans.jsonl", tmp_path / "logs.jsonl"]
    (found,) = otlp.read_all(paths, Intake(strict=True))
    assert (found["goal"], found["steps"][0]["user"]) == ("go", "hurry")
    assert found["steps"][0]["reply"]["text"] == "done"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_log_records_are_put_in_order_of_time(tmp_path: Path, order: tuple[int, ...]) -> None:
    told = logs(*(TALK[n] for n in order))
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(request(span(1, CHAT)) | told))
    (found,) = otlp.read(path, Intake(strict=True))
    assert (found["goal"], found["steps"][0]["user"]) == ("go", "hurry")
    spans = spans_from(request(span(1, CHAT)))
    for event in events_from(told):
        assert attach(spans, [event]) == []
    assert [event.at_ns for event in spans[0].events] == [1, 2, 3]
