from __future__ import annotations

import pytest

from harness.guards.cycle import Cycle
from tests.examples import at, call, first_fire, holds, signals, step

WAIT = step(call("sleep", ms=60_000))


def acts(letters: str) -> list[dict]:
    """One turn for each letter; a space is a turn without a call."""
    return [step(call(letter, {}, "ok")) if letter != " " else step() for letter in letters]


A_B = (call("a", {}, "ok"), call("b", {}, "ok"))

FIRES = {
    "three laps of two": at(6, Cycle(), acts("ababab")),
    "three laps of three": at(9, Cycle(), acts("abcabcabc")),
    "three laps of five": at(15, Cycle(), acts(3 * "abcde")),
    "after other work": at(8, Cycle(), acts("xyababab")),
    "a cycle that holds a repeated step": at(9, Cycle(), acts("aabaabaab")),
    "turns without an action do not break it": at(8, Cycle(), acts("ab a bab")),
    "waiting calls are passed over": at(7, Cycle(), [*acts("aba"), WAIT, *acts("bab")]),
    "single calls of larger turns": at(2, Cycle(on="call"), [step(*A_B, *A_B), step(*A_B)]),
    "two laps where asked for": at(4, Cycle(threshold=2), acts("abab")),
    "args alone: other results": at(
        6, Cycle(identity="args"), [step(call("ab"[n % 2], {}, str(n))) for n in range(6)]
    ),
}
HOLDS = {
    "a person speaks in between": holds(
        Cycle(on="call", since="person"), [*2 * [step(*A_B)], step(*A_B, user="Go on.")]
    ),
    "turns of two calls are a run of one action": holds(Cycle(), 4 * [step(*A_B)]),
    "two laps and a half": holds(Cycle(), acts("ababa")),
    "a constant run is a spin and no cycle": holds(Cycle(), acts("aaaaaaaaaaaa")),
    "a longer period than asked for": holds(Cycle(max_period=2), acts(4 * "abc")),
    "a broken cycle": holds(Cycle(), acts("ababxabab")),
    "other results": holds(Cycle(), [step(call("ab"[n % 2], {}, str(n))) for n in range(8)]),
    "polling a declared waiting tool": holds(
        Cycle(), acts("pppppppp"), tools={"p": {"waits": True}}
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


@pytest.mark.parametrize(
    ("expected", "letters"),
    [
        pytest.param([1, 1, 1, 2, 2, 3], "ababab", id="a lap counts when it is complete"),
        pytest.param([1, 1, 1, 1, 1], "aaaaa", id="a constant run makes no lap"),
        pytest.param([1, 1, 1, 2, 1], "ababx", id="another action breaks it"),
    ],
)
def test_it_counts_laps(expected, letters):
    assert expected == signals(Cycle(), acts(letters))


def test_guards_with_other_periods_share_a_trail():
    """The trail keeps the distances that were asked for; a longer one is worked out late."""
    assert signals(Cycle(max_period=4), acts(3 * "abcd"))[-1] == 3
    assert signals(Cycle(max_period=2), acts(3 * "abcd"))[-1] == 1
