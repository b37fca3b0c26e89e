from __future__ import annotations

import pytest

from harness.guards.no_progress import NoProgress
from harness.trace import Evaluation
from tests.examples import at, call, first_fire, holds, signals, step

LONG = "a result of more than forty characters, which stands for itself"
WRITES = NoProgress(progress_counts="writes")
ANY = NoProgress(progress_counts="any_success")


def read(path: str, result: str | None, **more) -> dict:
    return step(call("read", {"path": path}, result, **more))


def saw(progress: str | None = None, *evidence: str) -> dict:
    return step(judged=Evaluation(parsed=True, progress=progress, evidence=evidence))


def wrote(*files: str, **more) -> dict:
    return step(call("write", {"path": files[-1]}, LONG), writes=list(files), **more)


FIRES = {
    "the same long result, other arguments": at(3, NoProgress(), [read(p, LONG) for p in "abc"]),
    "the same short result, same arguments": at(3, NoProgress(), 3 * [read("a", "ok")]),
    "only a process number moves": at(3, NoProgress(), [read("a", f"pid {n}") for n in (1, 2, 3)]),
    "failed calls": at(2, NoProgress(), [read(p, p + LONG, ok=False) for p in "ab"]),
    "talk of an agent that has tools": at(2, NoProgress(), 2 * [step(text="Hm.")], tools=["read"]),
    "any success is asked for, and nothing succeeds": at(
        3, ANY, [read("a", LONG), *2 * [read("a", LONG, ok=False)]]
    ),
    "the evaluator saw none": at(2, NoProgress(), [saw("none"), saw("none")]),
    "the same evidence again": at(3, NoProgress(), 3 * [saw(None, "tests pass")]),
    "the workspace decides alone": at(3, NoProgress(), [wrote("a"), wrote("a"), wrote("a")]),
    "a step that does not mention the workspace left it as it was": at(
        3, NoProgress(), [wrote("a"), read("b", "b" + LONG), read("c", "c" + LONG)]
    ),
    "new results are no changed files": at(
        3, WRITES, [wrote("a"), read("b", "b" + LONG), read("c", "c" + LONG)]
    ),
    "a file that went is no growth": at(3, NoProgress(), [wrote("a", "b"), wrote("a"), wrote("a")]),
    "a waiting call in between is passed over": at(
        4,
        NoProgress(),
        [read("a", "ok"), read("a", "ok"), read("b", "x", ms=60_000), read("a", "ok")],
    ),
    "a turn that waits for one call and repeats another has not only waited": at(
        3,
        NoProgress(),
        3 * [step(call("sleep", {}, "ok", ms=60_000), call("read", {"path": "a"}, "ok"))],
    ),
    "a transient failure in between is passed over": at(
        4,
        NoProgress(),
        [read("a", "ok"), read("a", "ok"), read("b", "HTTP 503", ok=False), read("a", "ok")],
    ),
}
HOLDS = {
    "no workspace, no changed files to miss": holds(WRITES, 5 * [read("a", LONG)]),
    "changed files": holds(WRITES, [wrote(f"a@{n}") for n in range(4)]),
    "new results": holds(NoProgress(), [read("a", f"line {n}: {LONG}") for n in range(5)]),
    "the same short result with other arguments": holds(
        NoProgress(), [read(p, "ok") for p in "abc"]
    ),
    "any success counts": holds(ANY, 5 * [read("a", LONG)]),
    "some and major are progress": holds(NoProgress(), [saw("some"), saw("major"), saw("some")]),
    "new evidence": holds(NoProgress(), [saw("none", f"test {n} passes") for n in range(4)]),
    "a changed entry is growth": holds(NoProgress(), [wrote(f"a@{n}") for n in range(4)]),
    "another file is growth": holds(NoProgress(), [wrote(*"abcd"[: n + 1]) for n in range(4)]),
    "waiting is passed over": holds(
        NoProgress(), [read("a", "ok"), *4 * [read("b", "same", ms=60_000)]]
    ),
    "a declared waiting tool is passed over": holds(
        NoProgress(), 5 * [read("a", "queued")], tools={"read": {"waits": True}}
    ),
    "waiting is passed over where the workspace is recorded, too": holds(
        NoProgress(), [wrote("a"), *4 * [read("b", "same", ms=60_000)]]
    ),
    "transient failures are passed over": holds(
        NoProgress(), [read("a", "ok"), *4 * [read("a", "HTTP 429", ok=False)]]
    ),
    "a new result beside a transient failure is progress": holds(
        NoProgress(),
        [
            read("a", "ok"),
            read("a", "ok"),
            step(call("read", {"path": "b"}, "new"), call("fetch", {}, "HTTP 503", ok=False)),
            read("a", "ok"),
        ],
    ),
    "nothing to tell by": holds(NoProgress(), 5 * [step(text="Hm.")]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_iterations_without_progress():
    steps = [read("a", LONG), read("a", LONG), read("a", LONG), read("b", "news")]
    assert signals(NoProgress(), steps) == [0, 1, 2, 0]


def test_without_a_sensor_it_is_unknown():
    [signal] = signals(NoProgress(), [step(text="Hm.")])
    assert signal != signal


def test_it_switches_delegates_and_stops():
    expected = {"2": "switch_strategy", "4": "delegate", "6": "stop"}
    assert expected == NoProgress().action
