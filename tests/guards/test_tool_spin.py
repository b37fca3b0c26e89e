from __future__ import annotations

import pytest

from harness.guards.tool_spin import ToolSpin
from tests.examples import at, call, first_fire, holds, signals, step


def read(path: str, result: str = "text", **more) -> dict:
    return call("read", {"path": path}, result, **more)


OTHER = call("list", {}, "a b")
THREE = ToolSpin(threshold=3)

FIRES = {
    "the same call in three rounds": at(3, THREE, 3 * [step(read("a"))]),
    "other tools in between": at(
        5, THREE, [step(read("a")), step(OTHER), step(read("a")), step(OTHER), step(read("a"))]
    ),
    "beside another tool that moves": at(
        3, THREE, [step(read("a"), call("list", {"n": n}, "x")) for n in range(3)]
    ),
    "the set counts, not the order": at(
        3,
        THREE,
        [step(read("a"), read("b")), step(read("b"), read("a")), step(read("a"), read("b"))],
    ),
    "equal calls of one round count once": at(
        3, THREE, [step(read("a")), step(*4 * [read("a")]), step(read("a"))]
    ),
    "other results": at(3, THREE, [step(read("a", r)) for r in "xyz"]),
    "waiting and outages are no excuse": at(
        3,
        THREE,
        [step(read("a", ms=60_000)), step(read("a", "HTTP 503", ok=False)), step(read("a"))],
    ),
}
HOLDS = {
    "another set of calls": holds(THREE, 2 * [step(read("a")), step(read("a"), read("b"))]),
    "many equal calls in one round": holds(THREE, [step(*5 * [read("a")])]),
    "other results, where they count": holds(
        ToolSpin(threshold=3, identity="args+result"), [step(read("a", r)) for r in "xyz"]
    ),
    "a turn of talk is no further round": holds(THREE, [step(read("a")), step(read("a")), step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_measures_the_tools_of_the_newest_turn():
    steps = [step(read("a")), step(read("a")), step(OTHER), step(), step(read("a"))]
    assert signals(THREE, steps) == [1, 2, 1, 0, 3]


def test_before_the_first_call_it_is_unknown():
    [signal] = signals(THREE, [step(text="Hello.")])
    assert signal != signal
