from __future__ import annotations

import pytest

from harness.guards.recurrence import Recurrence
from harness.guards.spin import Spin
from harness.guards.transient_errors import TransientErrors
from tests.examples import at, call, first_fire, holds, signals, step

DOWN = call("fetch", {}, "HTTP 503 Service Unavailable", ok=False)
FINE = call("read", {}, "text")
BROKEN = call("run", {}, "KeyError: 'a'", ok=False)

FIRES = {
    "three turns running": at(3, TransientErrors(), 3 * [step(DOWN)]),
    "for different passing reasons": at(
        3,
        TransientErrors(),
        [
            step(call("fetch", {}, "429 Too Many Requests", ok=False)),
            step(call("fetch", {}, "request timed out", ok=False)),
            step(call("run", {}, "killed", exit_code=124)),
        ],
    ),
    "successes beside them do not help: all failed calls are transient": at(
        3, TransientErrors(), 3 * [step(DOWN, FINE)]
    ),
    "turns without a call do not break it": at(
        4, TransientErrors(), [step(DOWN), step(DOWN), step(text="I wait."), step(DOWN)]
    ),
}
HOLDS = {
    "two turns": holds(TransientErrors(), 2 * [step(DOWN)]),
    "a success in between": holds(
        TransientErrors(), [*2 * [step(DOWN)], step(FINE), *2 * [step(DOWN)]]
    ),
    "a failure of the agent's own": holds(TransientErrors(), 4 * [step(BROKEN)]),
    "one failed call of the turn is the agent's own": holds(
        TransientErrors(), 4 * [step(DOWN, BROKEN)]
    ),
    "a result that only talks about time-outs": holds(
        TransientErrors(), 4 * [step(call("read", {}, "def test_retry(): HTTP 503, timed out"))]
    ),
    "a zero exit code is a success": holds(
        TransientErrors(), 4 * [step(call("run", {}, "504 Gateway Time-out", exit_code=0))]
    ),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_an_outage_is_infrastructure_and_pauses():
    assert (TransientErrors.reason, TransientErrors().action) == ("infrastructure", "pause")


@pytest.mark.parametrize("guard", [Spin(), Recurrence()], ids=["spin", "recurrence"])
def test_a_turn_whose_failed_calls_are_all_transient_feeds_no_stuck_guard(guard):
    assert all(signal != signal for signal in signals(guard, 3 * [step(FINE, DOWN)]))


def test_an_outage_feeds_no_spin():
    assert signals(Spin(), [step(FINE), step(DOWN), step(DOWN), step(FINE)]) == [1, 1, 1, 2]
