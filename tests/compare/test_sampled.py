"""Other recordings of the same tasks: only statistics can tell."""

from __future__ import annotations

import random

from harness.compare.baseline import Side
from harness.compare.changes import parse_tolerances
from harness.compare.pairs import compare
from tests.compare.conftest import Cli, Make, ended, scored

SCENARIOS = 30


def seeded(seed: int) -> random.Random:
    """The same numbers each time."""
    return random.Random(seed)  # noqa: S311 - nothing here is secret


def sides(rng: random.Random, factor: float, *, failing: float = 0.0, exact: bool = False):
    """Two days of the same tasks; on the second, costs by ``factor`` and more failures."""
    before, after = [], []
    for n in range(SCENARIOS):
        size = rng.lognormvariate(0, 0.5) * 10**9
        before.append(ended(f"s{n:02}", cost_pico_usd=int(size * rng.lognormvariate(0, 0.2))))
        failed = {"exit_reason": "max_rounds"} if rng.random() < failing else {}
        after.append(ended(
            f"s{n:02}", cost_pico_usd=int(size * factor * rng.lognormvariate(0, 0.2)),
            content="0123456789ab" if exact else "ba9876543210", **failed,
        ))  # fmt: skip
    return tuple(
        Side(name, {one.key: one for one in episodes}, {one.scenario: "higher" for one in episodes})
        for name, episodes in (("base", before), ("new", after))
    )


def found(*given, **more):
    return compare(*given, **({"resamples": 999} | more))


def test_nothing_changed() -> None:
    result = found(*sides(seeded(1), 1.0))
    assert (result.exit_code, result.reasons) == (0, ())
    assert [test.decides for test in result.tests] == [True] * 4


def test_dearer() -> None:
    result = found(*sides(seeded(1), 1.5))
    assert result.exit_code == 1
    (reason,) = result.reasons
    assert reason.startswith("regression: p: cost: $")
    assert "worse on average over 30 scenarios" in reason


def test_dearer_but_accepted() -> None:
    tolerances = parse_tolerances(["cost=80%"])
    assert found(*sides(seeded(1), 1.5), tolerances).exit_code == 0


def test_failing() -> None:
    result = found(*sides(seeded(1), 1.0, failing=0.4))
    (reason,) = result.reasons
    assert reason.startswith("regression: p: success: ")


def test_cheaper_is_no_regression() -> None:
    assert found(*sides(seeded(1), 0.5)).exit_code == 0


def test_statistics_of_exact_pairs_decide_nothing() -> None:
    given = sides(seeded(1), 1.5, exact=True)
    result = found(*given, parse_tolerances(["cost=10000%"]))
    assert result.exit_code == 0
    assert [test.decides for test in result.tests] == [False] * 4
    assert any(test.answer.adjusted < 0.05 for test in result.tests)


def test_mixed_pairs_have_both() -> None:
    base, new = sides(seeded(1), 1.0)
    for side in (base, new):
        side.episodes["fact", "p", 0] = ended("fact")
    result = found(base, new)
    assert [test.decides for test in result.tests] == [True] * 4 + [False] * 4
    assert {test.answer.pairs for test in result.tests} == {30, 31}


def test_smallest_difference_is_said() -> None:
    result = found(*sides(seeded(1), 1.0))
    smallest = {test.answer.metric: test.answer.detectable for test in result.tests}
    # Four tests share alpha: 2 ** -7 is the first below 0.05 / 4.
    assert smallest["success"] == 7 / SCENARIOS
    assert smallest["cost"] > 0


def test_too_few_scenarios(make: Make, harness: Cli) -> None:
    make("base", [scored(f"s{n}", 0.5, 0.9) for n in range(6)])
    make("new", [scored(f"s{n}", 0.5, 0.91) for n in range(6)])
    result = harness("compare", "base", "new")
    assert result.code == 2
    assert result.err == (
        "not measurable: s0 and 5 more under small: another recording than the base's, and 6 "
        "scenarios are too few: all of them worse would give p = 0.016, which must be at most "
        "0.013\n"
    )
    assert "not measurable" in result.out
    # An alpha that six can reach.
    assert harness("compare", "base", "new", "--alpha", "0.2").code == 0


def test_enough_scenarios(make: Make, harness: Cli) -> None:
    make("base", [scored(f"s{n}", 0.5, 0.9) for n in range(8)])
    make("new", [scored(f"s{n}", 0.5, 0.8) for n in range(8)])
    result = harness("compare", "base", "new")
    assert result.code == 1
    assert "regression: small: success: 100% of success worse" in result.err
    assert "regression: small: best score: 0.1 worse on average over 8 scenarios" in result.err
