from __future__ import annotations

import pytest

from harness.guards.repeated_error import RepeatedError
from tests.examples import at, call, first_fire, holds, signals, step


def failing(error: str | None, tool: str = "run", **more) -> dict:
    return call(tool, {}, error, ok=False, **more)


BROKEN = failing("Traceback\n  line 3\nKeyError: 'a'")
OTHER = failing("ValueError: b")
FINE = call("read", {}, "text")

FIRES = {
    "the same error three times": at(3, RepeatedError(), 3 * [step(BROKEN)]),
    "whatever was called": at(
        3, RepeatedError(), [step(failing("KeyError: 'a'", tool)) for tool in "abc"]
    ),
    "only the last line counts": at(
        3, RepeatedError(), [step(failing(f"try {n}\nKeyError: 'a'\n\n")) for n in range(3)]
    ),
    "the last line is normalised": at(
        3, RepeatedError(), [step(failing(f"worker pid {n} died")) for n in range(3)]
    ),
    "turns count, not calls": at(3, RepeatedError(), 3 * [step(BROKEN, BROKEN)]),
    "turns without a call do not break it": at(
        5, RepeatedError(), [step(BROKEN), step(), step(BROKEN), step(), step(BROKEN)]
    ),
    "a waiting call in between is passed over": at(
        4, RepeatedError(), [*2 * [step(BROKEN)], step(call("sleep", ms=60_000)), step(BROKEN)]
    ),
    "a transient failure in between is passed over": at(
        4, RepeatedError(), [*2 * [step(BROKEN)], step(failing("HTTP 503")), step(BROKEN)]
    ),
    "a failing exit code is a failure": at(
        3, RepeatedError(), 3 * [step(call("run", {}, "make: *** [all] Error 2", exit_code=2))]
    ),
    "one error common to all turns": at(
        3, RepeatedError(), [step(BROKEN), step(BROKEN, OTHER), step(OTHER, BROKEN)]
    ),
}
HOLDS = {
    "twice": holds(RepeatedError(), 2 * [step(BROKEN)]),
    "another error in between": holds(
        RepeatedError(), [*2 * [step(BROKEN)], step(OTHER), step(BROKEN)]
    ),
    "a success in between": holds(
        RepeatedError(), [*2 * [step(BROKEN)], step(FINE), *2 * [step(BROKEN)]]
    ),
    "a turn with one success has not failed": holds(RepeatedError(), 4 * [step(BROKEN, FINE)]),
    "many failures in one turn are one": holds(RepeatedError(), [step(*5 * [BROKEN])]),
    "an error without output has no signature": holds(RepeatedError(), 5 * [step(failing(None))]),
    "an error of white space has no signature": holds(RepeatedError(), 5 * [step(failing(" \n"))]),
    "waiting calls feed it nothing": holds(
        RepeatedError(), 5 * [step(failing("gave up", ms=60_000))]
    ),
    "a waiting tool feeds it nothing": holds(
        RepeatedError(), 5 * [step(failing("no news", "poll"))], tools={"poll": {"waits": True}}
    ),
    "transient failures feed it nothing": holds(
        RepeatedError(), 5 * [step(failing("429 Too Many Requests"))]
    ),
    "exit 124 is a time-out": holds(RepeatedError(), 5 * [step(failing("killed", exit_code=124))]),
    "neighbours that share an error, but no error three times": holds(
        RepeatedError(), [step(BROKEN), step(BROKEN, OTHER), step(OTHER)]
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_failed_turns():
    steps = [step(FINE), step(BROKEN), step(BROKEN), step(OTHER)]
    assert signals(RepeatedError(), steps) == [0, 1, 2, 1]


def test_before_the_first_call_it_is_unknown():
    [signal] = signals(RepeatedError(), [step(text="Hello.")])
    assert signal != signal
