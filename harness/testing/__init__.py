"""Ready checks for your own guard, as plain functions that any test runner can call.

::

    from harness.testing import check_guard

    def test_my_guard():
        check_guard(MyGuard(threshold=3))

Each check raises ``AssertionError`` with one sentence that names guard, scenario, rule, iteration
and what was found. ``docs/your-own-guard.md`` explains what is checked, and why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from harness.guards import Guard
from harness.scenario import Scenario
from harness.testing.laws import check_laws
from harness.testing.made import made_scenarios
from harness.testing.metamorphic import check_metamorphic
from harness.testing.parity import check_parity, drive
from harness.testing.relations import RELATIONS, Relation

__all__ = [
    "RELATIONS",
    "Relation",
    "check_guard",
    "check_laws",
    "check_metamorphic",
    "check_parity",
    "drive",
    "made_scenarios",
]


def check_guard(
    guard: Guard, scenarios: Iterable[Scenario] | None = None, *, exclude: Collection[str] = ()
) -> None:
    """Check everything that a guard has to obey: laws, metamorphic relations, parity.

    Args:
        guard: Your guard, with the settings to check.
        scenarios: What it is checked on; left out: the hand-written scenarios that come with the
            harness, and ``made_scenarios()``. Add recordings of your own loops in which it fires.
        exclude: Names of metamorphic relations that your guard means to break; better declared
            in its class, as ``exempt``.

    Raises:
        AssertionError: A rule is broken; names guard, scenario, rule, iteration and values.
        HarnessError: An unknown relation, or no scenario.
    """
    found = None if scenarios is None else tuple(scenarios)
    check_laws(guard, found)
    check_metamorphic(guard, found, exclude=exclude)
    check_parity(guard, found)
