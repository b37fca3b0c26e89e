from __future__ import annotations

import pytest

from harness.guards.repetition import Repetition
from tests.examples import at, first_fire, holds, signals, step

LONG = "The plan has three parts: read the log, find the failing call, and add a test for it"
NEAR = LONG + "."


def said(on: str, *texts: str | None) -> list[dict]:
    return [step(**{on: text}) for text in texts]


REPLY = Repetition(on=("reply",))
FAR = [f"{n}{n}{n} {chr(96 + n) * 40}" for n in range(1, 26)]

FIRES = {
    "the same feedback": at(2, Repetition(), said("feedback", "Too long.", "Too long.")),
    "the same output, however long ago": at(27, Repetition(), said("output", LONG, *FAR, LONG)),
    "white space and case do not matter": at(
        2, Repetition(), said("output", "Too  LONG", "too\nlong")
    ),
    "nearly the same": at(2, Repetition(), said("feedback", LONG, NEAR)),
    "one of two sources is enough": at(
        2, Repetition(), [step(feedback="a", output="x"), step(feedback="b", output="x")]
    ),
    "replies": at(2, REPLY, said("text", LONG, LONG)),
    "plans": at(3, Repetition(on=("plan",)), said("plan", "Rewrite it.", "Test.", "Rewrite it.")),
    "turns without feedback in between": at(
        3, Repetition(), said("feedback", "Too long.", None, "Too long.")
    ),
}
HOLDS = {
    "other feedback": holds(Repetition(), said("feedback", "Too long.", "Name the port.")),
    "feedback that equals an output": holds(Repetition(), [step(feedback=LONG), step(output=LONG)]),
    "replies are compared only where asked for": holds(Repetition(), said("text", LONG, LONG)),
    "plans are compared only where asked for": holds(Repetition(), said("plan", LONG, LONG)),
    "a near one has left the window": holds(
        Repetition(window=2), said("output", LONG, *FAR[:2], NEAR)
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_measures_the_greatest_similarity():
    first, second = signals(Repetition(), said("output", "abcd", "abcx"))
    assert first != first
    assert second == 0.75


def test_a_turn_with_nothing_to_compare_is_unknown():
    signal = signals(Repetition(), said("output", LONG, LONG, None))[-1]
    assert signal != signal


def test_it_switches_strategy_then_escalates():
    assert Repetition().action == ("switch_strategy", "escalate")
