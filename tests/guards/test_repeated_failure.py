from __future__ import annotations

import pytest

from harness.guards.repeated_failure import RepeatedFailure
from tests.examples import at, call, first_fire, holds, signals, step


def bad(path: str = "a", error: str = "no such file", **more) -> dict:
    return call("read", {"path": path}, error, ok=False, **more)


GOOD = call("read", {"path": "a"}, "text")
OTHER = call("list", {}, "a b")
THREE = RepeatedFailure(threshold=3)
TOOL = RepeatedFailure(threshold=3, identity="action")
ANY = RepeatedFailure(threshold=3, identity="any")
REFUSED = RepeatedFailure(threshold=3, counts="tool")
STRICT = RepeatedFailure(threshold=3, broken_by="any other")

FIRES = {
    "the same call failing": at(3, THREE, 3 * [step(bad())]),
    "whatever the error says": at(3, THREE, [step(bad(error=e)) for e in ("x", "y", "z")]),
    "others in between": at(
        5, THREE, [step(bad()), step(OTHER), step(bad()), step(OTHER), step(bad())]
    ),
    "in one turn": at(1, THREE, [step(*3 * [bad()])]),
    "an error without output": at(3, THREE, 3 * [step(bad(error=None))]),
    "an outage is no excuse": at(3, THREE, 3 * [step(bad(error="HTTP 503"))]),
    "waiting is no excuse": at(3, THREE, 3 * [step(bad(ms=60_000))]),
    "one tool, other arguments": at(3, TOOL, [step(bad(p)) for p in "abc"]),
    "any calls": at(3, ANY, [step(bad()), step(call("list", {}, "no", ok=False)), step(bad("b"))]),
    "commands that ran, where they count": at(3, THREE, 3 * [step(bad(exit_code=1))]),
    "nothing else in between": at(4, STRICT, [step(OTHER), *3 * [step(bad())]]),
}
HOLDS = {
    "it succeeds in between": holds(THREE, [step(bad()), step(bad()), step(GOOD), step(bad())]),
    "other arguments": holds(THREE, [step(bad(p)) for p in "abcabc"[:5]]),
    "any success in between": holds(ANY, [step(bad()), step(bad()), step(OTHER), step(bad())]),
    "another call in between": holds(STRICT, 3 * [step(bad()), step(bad()), step(OTHER)]),
    "another failure in between": holds(STRICT, 3 * [step(bad()), step(bad()), step(bad("b"))]),
    "commands that ran and failed are no refusals": holds(REFUSED, 5 * [step(bad(exit_code=1))]),
    "successes": holds(THREE, 5 * [step(GOOD)]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_measures_the_calls_of_the_newest_turn():
    steps = [step(bad()), step(OTHER), step(bad()), step(), step(GOOD)]
    assert signals(THREE, steps) == [1, 0, 2, 0, 0]


def test_before_the_first_call_it_is_unknown():
    [signal] = signals(THREE, [step(text="Hello.")])
    assert signal != signal
