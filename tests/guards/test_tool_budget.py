from __future__ import annotations

import pytest

from harness.guards.tool_budget import ToolBudget
from tests.examples import at, call, first_fire, holds, signals, step

READ = call("read", {"path": "a"}, "text")

FIRES = {
    "on equality": at(2, ToolBudget(threshold=2), 3 * [step(READ)]),
    "calls count, not turns": at(1, ToolBudget(threshold=20), [step(*30 * [READ])]),
    "failed calls count": at(1, ToolBudget(threshold=1), [step(call("read", ok=False))]),
    "zero allows no call": at(1, ToolBudget(threshold=0), [step()]),
}
HOLDS = {
    "one call short": holds(ToolBudget(threshold=4), 3 * [step(READ)]),
    "turns without calls cost nothing": holds(ToolBudget(threshold=1), 5 * [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_every_call():
    assert signals(ToolBudget(threshold=9), [step(READ, READ), step(), step(READ)]) == [2, 2, 3]
