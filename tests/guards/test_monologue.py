from __future__ import annotations

import pytest

from harness.guards.monologue import Monologue
from tests.examples import at, call, first_fire, holds, signals, step

ACT = step(call("read", {}, "text"))
TALK = step(text="I will now read the file.")
ASKED = step(text="Yes, at once.", user="Please go on.")
THREE = Monologue(threshold=3)

FIRES = {
    "three turns of talk where the agent has tools": at(3, THREE, 4 * [TALK], tools=["read"]),
    "it has used a tool, so it has tools": at(4, THREE, [ACT, *3 * [TALK]]),
    "the answer to a person is the first turn": at(
        5, THREE, [TALK, TALK, ASKED, TALK, TALK], tools=["read"]
    ),
    "a nudge of the framework restarts nothing": at(
        3, THREE, [TALK, TALK, step(text="Yes.", nudge="Go on.")], tools=["read"]
    ),
    "zero is a value": at(1, Monologue(threshold=0), [ACT]),
}
HOLDS = {
    "acting now and then": holds(THREE, [TALK, TALK, ACT, TALK, TALK], tools=["read"]),
    "a person's turn restarts it": holds(THREE, [TALK, TALK, ASKED, TALK], tools=["read"]),
    "a conversation": holds(THREE, 6 * [ASKED], tools=["read"]),
    "an agent without tools": holds(THREE, 6 * [TALK], tools=[]),
    "nobody knows whether it has tools": holds(THREE, 6 * [TALK]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_turns_without_a_call():
    assert signals(THREE, [TALK, TALK, ACT, TALK, ASKED], tools=["read"]) == [1, 2, 0, 1, 1]
