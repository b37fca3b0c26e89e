"""What the tests say on plain numbers, and how often they are wrong."""

from __future__ import annotations

import math
import random
import statistics as plain

import pytest

from harness.statistics import Question, holm, judge, smallest_count

ALPHA = 0.05


def seeded(seed: int) -> random.Random:
    """The same numbers each time."""
    return random.Random(seed)  # noqa: S311 - nothing here is secret


def ask(*worse: float, clusters: str | None = None, **more) -> Question:
    """A question over these differences, each its own scenario unless clusters are named."""
    names = tuple(clusters or (str(n) for n in range(len(worse))))
    return Question("p", "m", worse, names, **more)


def one(question: Question, **more):
    return judge([question], **({"resamples": 999} | more))[0]


EXACT = {
    "McNemar, all worse": (ask(1, 1, 1, 1, 1, binary=True), "mcnemar", 1 / 32),
    "McNemar, what stayed says nothing": (ask(1, 1, 0, 0, 0, binary=True), "mcnemar", 1 / 4),
    "McNemar, one better": (ask(1, 1, 1, -1, binary=True), "mcnemar", 5 / 16),
    "McNemar, all better": (ask(-1, -1, binary=True), "mcnemar", 1.0),
    "nothing moved": (ask(0, 0, 0), "sign_flip", 1.0),
    "sign flips": (ask(1, 2, 4), "sign_flip", 1 / 8),
    "sign flips, one the other way": (ask(1, 2, -4), "sign_flip", 5 / 8),
    "one pair": (ask(3), "sign_flip", 1 / 2),
    "one pair, better": (ask(-3), "sign_flip", 1.0),
    "a scenario counts once": (ask(1, 1, 1, 1, clusters="aabb", binary=True), "sign_flip", 1 / 4),
    "repetitions cancel out": (ask(1, -1, 2, clusters="aab"), "sign_flip", 1 / 2),
}


@pytest.mark.parametrize("case", EXACT)
def test_exact_p(case: str) -> None:
    question, method, p = EXACT[case]
    answer = one(question)
    assert (answer.method, answer.p) == (method, pytest.approx(p))


def test_resampled_p_is_close_to_the_exact_one() -> None:
    rng = seeded(3)
    question = ask(*(rng.gauss(0.4, 1) for _ in range(12)))
    exact = one(question, resamples=2**12)
    resampled = one(question, resamples=2**12 - 1)
    assert resampled.p == pytest.approx(exact.p, abs=4 * math.sqrt(exact.p / 2**12))


def test_same_at_each_invocation() -> None:
    rng = seeded(4)
    question = ask(*(rng.gauss(0.1, 1) for _ in range(40)))
    assert one(question) == one(question)


HOLM = {
    "one": ([0.03], [0.03]),
    "two": ([0.03, 0.02], [0.04, 0.04]),
    "steps": ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
    "never above one": ([0.5, 0.9], [1.0, 1.0]),
}


@pytest.mark.parametrize("case", HOLM)
def test_holm(case: str) -> None:
    raw, adjusted = HOLM[case]
    assert holm(raw) == pytest.approx(adjusted)


COUNTS = {(5, 0.05): 5, (4, 0.05): None, (10, 0.05 / 4): 7, (4, 2**-4): 4, (3, 2**-4): None}


@pytest.mark.parametrize("case", COUNTS)
def test_smallest_count(case: tuple[int, float]) -> None:
    observations, level = case
    count = smallest_count(observations, level)
    assert count == COUNTS[case]
    if count is not None:
        assert 0.5**count <= level < 0.5 ** (count - 1)


def test_smallest_count_is_what_the_test_confirms() -> None:
    count = smallest_count(20, ALPHA)
    shown = [one(ask(*[1] * k, *[0] * (20 - k), binary=True)) for k in (count - 1, count)]
    assert [answer.confirmed for answer in shown] == [False, True]
    assert shown[0].detectable == count / 20


def test_detectable_shift_of_a_mean() -> None:
    rng = seeded(5)
    values = [rng.gauss(0, 2) for _ in range(30)]
    # 1.699 and 0.854 are the quantiles of Student's t with 29 degrees of freedom.
    expected = (1.6991 + 0.8542) * plain.stdev(values) / math.sqrt(30)
    assert one(ask(*values)).detectable == pytest.approx(expected, rel=1e-3)


def test_too_few_for_anything() -> None:
    answer = one(ask(5, 5, 5, 5))
    assert (answer.detectable, answer.confirmed) == (None, False)


def test_more_questions_ask_more() -> None:
    question = ask(*[1.0] * 5)
    assert one(question).confirmed
    assert not any(answer.confirmed for answer in judge([question] * 2))


def test_tolerance() -> None:
    values = [1.0 + n / 100 for n in range(20)]
    mean = plain.mean(values)
    assert one(ask(*values, tolerance=mean - 0.01)).confirmed
    assert not one(ask(*values, tolerance=mean)).confirmed


def test_interval() -> None:
    rng = seeded(6)
    values = [rng.gauss(1, 1) for _ in range(50)]
    answer = one(ask(*values))
    se = plain.stdev(values) / math.sqrt(50)
    assert answer.low == pytest.approx(answer.mean - 1.96 * se, abs=0.3 * se)
    assert answer.high == pytest.approx(answer.mean + 1.96 * se, abs=0.3 * se)
    for alike in (ask(1, 1, 1), ask(1), ask(1e-300, 2e-300)):
        assert (one(alike).low, one(alike).high) == (None, None)


# -- how often it is wrong -----------------------------------------------------------------------


def binary(rng: random.Random, shift: float) -> Question:
    """Success of 40 scenarios, each with its own chance."""
    chances = [rng.betavariate(2, 1) for _ in range(40)]
    worse = [(rng.random() < c) - (rng.random() < c * (1 - shift)) for c in chances]
    return ask(*worse, binary=True)


def skewed(rng: random.Random, shift: float) -> Question:
    """Costs of 25 scenarios that differ by orders of magnitude."""
    sizes = [rng.lognormvariate(0, 0.7) for _ in range(25)]
    return ask(*(s * ((1 + shift) * rng.lognormvariate(0, 0.8) - rng.lognormvariate(0, 0.8))
                 for s in sizes))  # fmt: skip


def clustered(rng: random.Random, shift: float) -> Question:
    """Iterations of 12 scenarios, four repetitions each, which have the day's luck in common."""
    worse, clusters = [], []
    for scenario in range(12):
        luck = rng.gauss(0, 3) - rng.gauss(0, 3)
        for _ in range(4):
            worse.append(round(luck + 5 * shift + rng.gauss(0, 1) - rng.gauss(0, 1)))
            clusters.append(str(scenario))
    return Question("p", "iteration", tuple(worse), tuple(clusters))


def repeated(rng: random.Random, shift: float) -> Question:
    """Success of 15 scenarios, three repetitions each."""
    worse, clusters = [], []
    for scenario in range(15):
        before, after = rng.random(), rng.random()
        for _ in range(3):
            worse.append((rng.random() < before) - (rng.random() < after * (1 - shift)))
            clusters.append(str(scenario))
    return Question("p", "success", tuple(worse), tuple(clusters), binary=True)


MAKERS = (binary, skewed, clustered, repeated)
SIMULATIONS = 600


def test_false_alarms_are_as_rare_as_promised() -> None:
    """Nothing changed; alone and all together, alarms come at most as often as ``alpha``."""
    rng = seeded(20_261)
    alone = dict.fromkeys(MAKERS, 0)
    together = 0
    for _ in range(SIMULATIONS):
        asked = [maker(rng, 0.0) for maker in MAKERS]
        for maker, question in zip(MAKERS, asked, strict=True):
            alone[maker] += judge([question], resamples=199, intervals=False)[0].confirmed
        together += any(a.confirmed for a in judge(asked, resamples=199, intervals=False))
    most = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / SIMULATIONS)
    rates = {maker.__name__: count / SIMULATIONS for maker, count in alone.items()}
    rates["together"] = together / SIMULATIONS
    print(rates, most)
    assert {name: rate for name, rate in rates.items() if rate > most} == {}
    # A test that never alarms would pass as well, and be of no use.
    assert min(rates.values()) > ALPHA / 5


@pytest.mark.parametrize(
    ("maker", "shift"), [(binary, 0.6), (skewed, 2.0), (clustered, 0.8), (repeated, 0.8)]
)
def test_a_clear_shift_is_found(maker, shift: float) -> None:
    rng = seeded(7)
    found = [
        judge([maker(rng, shift)], resamples=199, intervals=False)[0].confirmed for _ in range(40)
    ]
    print(maker.__name__, sum(found) / 40)
    assert sum(found) >= 0.8 * len(found)


def test_the_shift_called_detectable_is_found_about_as_often_as_said() -> None:
    rng = seeded(8)
    found = 0
    for _ in range(300):
        values = [rng.gauss(0, 1) for _ in range(25)]
        shift = one(ask(*values), intervals=False).detectable
        moved = ask(*(rng.gauss(0, 1) + shift for _ in range(25)))
        found += one(moved, resamples=199, intervals=False).confirmed
    assert 0.7 < found / 300 < 0.9
