from __future__ import annotations

import pytest

from harness.guards.recurrence import Recurrence
from tests.examples import at, call, first_fire, holds, signals, step


def read(path: str, result: str = "text", **more) -> dict:
    return call("read", {"path": path}, result, **more)


def reads(paths: str) -> list[dict]:
    """One turn for each letter."""
    return [step(read(path)) for path in paths]


FIRES = {
    "three in five, others in between": at(5, Recurrence(), reads("abaca")),
    "three in a row": at(3, Recurrence(), reads("aaa")),
    "the oldest still lies inside the window": at(8, Recurrence(), reads("abcdaefa")),
    "calls count singly, not as a batch": at(
        3, Recurrence(), [step(read("a"), read("b")), step(read("a"), read("c")), step(read("a"))]
    ),
    "any call of the newest turn counts": at(
        3, Recurrence(), [*reads("aa"), step(read("a"), read("b"))]
    ),
    "turns without a call take no place in the window": at(
        7, Recurrence(window=3), [*reads("aa"), *4 * [step(text="Hm.")], *reads("a")]
    ),
    "waiting calls take no place in the window": at(
        4, Recurrence(window=3), [*reads("aa"), step(call("sleep", ms=60_000)), *reads("a")]
    ),
    "every single call: equal ones of one turn": at(
        1, Recurrence(on="call"), [step(*3 * [read("a")])]
    ),
    "every single call: waiting and outages, too": at(
        3,
        Recurrence(on="call", identity="args"),
        [step(read("a", ms=60_000)), step(read("a", "HTTP 503", ok=False)), step(read("a"))],
    ),
    "args alone: other results": at(
        3, Recurrence(identity="args"), [step(read("a", r)) for r in ("1", "2", "3")]
    ),
    "normalised results": at(
        3,
        Recurrence(identity="args+normalised result"),
        [step(read("a", f"pid {n}")) for n in range(3)],
    ),
}
HOLDS = {
    "every single call: a turn of talk is no further one": holds(
        Recurrence(on="call", threshold=2), [step(read("a")), step(), step()]
    ),
    "the first has left the window": holds(Recurrence(), reads("abcdefgaa")),
    "equal calls of one batch count once": holds(Recurrence(), [step(*4 * [read("a")])]),
    "two batches of equal calls are two": holds(Recurrence(), 2 * [step(*3 * [read("a")])]),
    "other results": holds(Recurrence(), [step(read("a", r)) for r in ("1", "2", "3")]),
    "waiting calls are passed over": holds(
        Recurrence(), 5 * [step(read("a"))], tools={"read": {"waits": True}}
    ),
    "transient failures are passed over": holds(
        Recurrence(), 5 * [step(read("a", "503 Service Unavailable", ok=False))]
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_the_newest_call_among_the_last_calls():
    assert signals(Recurrence(), reads("abacb")) == [1, 1, 2, 1, 2]


def test_before_the_first_call_it_is_unknown():
    [signal] = signals(Recurrence(), [step(text="Hello.")])
    assert signal != signal


@pytest.mark.parametrize("batch", ["ab", "ba"])
def test_in_a_turn_of_talk_all_parallel_calls_before_it_are_the_newest(batch):
    steps = [*reads("a"), step(*map(read, batch)), step(text="Hm.")]
    assert signals(Recurrence(), steps) == [1, 2, 2]
