from __future__ import annotations

import pytest

from harness.guards.oscillation import Oscillation
from tests.examples import at, call, first_fire, holds, scored, signals, step


def outputs(letters: str) -> list[dict]:
    """One turn for each letter, its artefact; a space is a turn without one."""
    return [step(output=None if letter == " " else f"Draft {letter}") for letter in letters]


ACTION = Oscillation(on="action")
TEXT = Oscillation(on="text")
CALLS = Oscillation(on="call")
DIRECTION = Oscillation(on="score direction")

FIRES = {
    "A-B-A-B": at(4, Oscillation(), outputs("abab")),
    "after other drafts": at(6, Oscillation(), outputs("xyabab")),
    "turns without an output are passed over": at(6, Oscillation(), outputs("ab a b")),
    "actions": at(4, ACTION, [step(call(t)) for t in "abab"]),
    "actions, turns without one in between": at(
        5, ACTION, [step(call("a")), step(), *[step(call(t)) for t in "bab"]]
    ),
    "actions by their arguments": at(
        4,
        Oscillation(on="action", identity="args"),
        [step(call("ab"[n % 2], {}, str(n))) for n in range(4)],
    ),
    "single calls of larger turns": at(2, CALLS, 2 * [step(call("a"), call("b"))]),
    "thoughts and calls": at(
        4,
        Oscillation(on="thought and call"),
        [step(call("ab"[n % 2]), text="xy"[n % 2]) for n in range(4)],
    ),
    "replies": at(4, TEXT, [step(text=t) for t in ("yes", "no", "yes", "no")]),
    "scores up, down, up, down": at(5, DIRECTION, scored(0.5, 0.6, 0.5, 0.6, 0.5)),
    "score direction where lower is better": at(
        5, DIRECTION, scored(0.5, 0.6, 0.5, 0.6, 0.5), direction="lower"
    ),
    "scores, unscored iterations in between": at(
        6, DIRECTION, scored(0.5, 0.6, None, 0.5, 0.6, 0.5)
    ),
}
HOLDS = {
    "a person speaks between single calls": holds(
        Oscillation(on="call", since="person"),
        [step(call("a"), call("b")), step(call("a"), call("b"), user="Go on.")],
    ),
    "A-B-A": holds(Oscillation(), outputs("aba")),
    "A-A-A-A is no swing": holds(Oscillation(), outputs("aaaaaa")),
    "A-B-C-A-B-C": holds(Oscillation(), outputs("abcabc")),
    "A-B-B-A": holds(Oscillation(), outputs("abbaab")),
    "scores that only rise": holds(DIRECTION, scored(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    "up, flat, up": holds(DIRECTION, scored(0.1, 0.2, 0.2, 0.3)),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


@pytest.mark.parametrize(
    ("expected", "letters"),
    [
        pytest.param([1, 2, 3, 4, 5], "ababa", id="A-B-A-B counts 4"),
        pytest.param([1, 1, 2, 3], "aaba", id="a doubled start"),
        pytest.param([1, 2, 3, 1], "abaa", id="a repeat ends it"),
        pytest.param([1, 2, 2, 3, 4], "abcbc", id="a third state starts another"),
    ],
)
def test_it_measures_the_trailing_swing(expected, letters):
    assert expected == signals(Oscillation(), outputs(letters))


@pytest.mark.parametrize("guard", [Oscillation(), ACTION, TEXT, DIRECTION], ids=lambda g: g.on)
def test_with_nothing_to_compare_it_is_unknown(guard):
    [signal] = signals(guard, [step()])
    assert signal != signal
