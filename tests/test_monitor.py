from __future__ import annotations

import math

import pytest

from harness.guards.cost_budget import CostBudget
from harness.guards.max_iterations import MaxIterations
from harness.guards.max_rounds import MaxRounds
from harness.guards.no_progress import NoProgress
from harness.guards.quality import Quality
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.guards.stagnation import Stagnation
from harness.monitor import Monitor
from tests.examples import PRICED, call, empty_history, iterations, scored, step

READ = step(call("read", {"path": "a"}, "text"))
OTHER = step(call("read", {"path": "b"}, "text"))


def watch(guards, steps, answered=(), **fields) -> Monitor:
    """A monitor after ``steps``; what pauses in an iteration of ``answered`` is resumed."""
    return acted(guards, steps, answered, **fields)[1]


def acted(guards, steps, answered=(), **fields) -> tuple[list[list[str]], Monitor]:
    """For each iteration the actions of its conditions, and the monitor."""
    history = empty_history(**fields)
    monitor = Monitor(guards, history.direction)
    actions = []
    for iteration in iterations(steps, **fields):
        history.append(iteration)
        conditions = monitor.measure(history)
        actions.append([c.action for c in conditions if c.state == "true"])
        if iteration.number in answered:
            for condition in conditions:
                monitor.resume(condition.name)
    return actions, monitor


def first_actions(guard, steps, answered=(), **fields) -> list[str]:
    """What one guard does in each iteration; ``-`` where it does not fire."""
    return [" ".join(a) or "-" for a in acted({"it": guard}, steps, answered, **fields)[0]]


@pytest.mark.parametrize(
    ("expected", "guard", "steps"),
    [
        pytest.param("- - stop stop", Spin(), 4 * [READ], id="one action each time"),
        pytest.param(
            "- - warn stop stop",
            Spin(on_fire=("warn", "stop")),
            5 * [READ],
            id="a ladder by firing: the last step stays",
        ),
        pytest.param(
            "- - warn - - - stop",
            Spin(on_fire=("warn", "stop")),
            [*3 * [READ], OTHER, *3 * [READ]],
            id="firings count over the whole episode",
        ),
        pytest.param(
            "- - switch_strategy observe delegate observe stop observe",
            NoProgress(),
            8 * [READ],
            id="a ladder by level: each step once",
        ),
        pytest.param(
            "- - switch_strategy - - observe observe delegate",
            NoProgress(),
            [*3 * [READ], OTHER, *4 * [READ]],
            id="a level is taken once, even after progress",
        ),
        pytest.param(
            "- - - stop",
            NoProgress(threshold=3, on_fire={"1": "warn", "2": "nudge", "3": "stop"}),
            4 * [READ],
            id="several levels at once: the highest",
        ),
        pytest.param(
            "- switch_strategy escalate escalate",
            Repetition(),
            4 * [step(output="Draft.")],
            id="the default ladder of a guard",
        ),
    ],
)
def test_what_a_firing_does(expected, guard, steps):
    assert expected.split() == first_actions(guard, steps)


@pytest.mark.parametrize(
    ("expected", "guard", "steps", "answered"),
    [
        pytest.param(
            "- - pause observe observe pause",
            MaxIterations(threshold=3),
            6 * [step()],
            [3],
            id="a count goes on: again after another threshold",
        ),
        pytest.param(
            "pause pause pause",
            MaxRounds(threshold=0, on_fire="pause"),
            3 * [step()],
            [1],
            id="a threshold of zero asks each time",
        ),
        pytest.param(
            "- - pause observe observe pause",
            Spin(on_fire="pause"),
            6 * [READ],
            [3],
            id="a run that goes on",
        ),
        pytest.param(
            "- - pause - - - pause",
            Spin(on_fire="pause"),
            [*3 * [READ], OTHER, *3 * [READ]],
            [3],
            id="a new run of the same length is a new cause",
        ),
        pytest.param(
            "- - pause observe - - pause",
            Stagnation(on_fire="pause"),
            scored(0.5, 0.5, 0.5, 0.5, 0.9, 0.9, 0.9),
            [3],
            id="a gain: silent until the score has risen in between",
        ),
        pytest.param(
            "pause observe - pause",
            Quality(on_fire="pause"),
            scored(0.9, 0.95, 0.2, 0.9),
            [1],
            id="a score: silent until it has fallen in between",
        ),
        pytest.param(
            "- escalate - escalate",
            Repetition(on_fire="escalate"),
            [step(output=o) for o in ("Draft one.", "Draft one.", "Quite another.", "Draft one.")],
            [2],
            id="a similarity",
        ),
    ],
)
def test_an_answered_pause_starts_its_cause_anew(expected, guard, steps, answered):
    assert expected.split() == first_actions(guard, steps, answered)


def test_a_resume_of_another_name_changes_nothing():
    monitor = Monitor({"spin": Spin()})
    monitor.resume("no such guard")
    assert len(monitor.series()) == 1


def test_unknown_is_recorded_and_does_not_fire():
    guards = {"quality": Quality(), "spin": Spin()}
    history = empty_history()
    monitor = Monitor(guards)
    history.append(iterations([step()])[0])
    conditions = monitor.measure(history)
    assert [(c.name, c.state) for c in conditions] == [("quality", "unknown"), ("spin", "unknown")]
    for series in monitor.series():
        assert math.isnan(series.signals[0])
        assert (series.fired, series.unknown) == ((False,), (True,))


def test_a_lower_bound_is_unknown_until_it_reaches_the_threshold():
    paid = step(model=PRICED, usage={"input": 10})
    monitor = watch({"cost": CostBudget(threshold=3_000_000)}, [paid, step(), paid])
    [series] = monitor.series()
    assert series.signals == (1_500_000, 1_500_000, 3_000_000)
    assert series.fired == (False, False, True)
    assert series.unknown == (False, True, False)


def test_one_guard_twice_under_two_names():
    guards = {"spin_text": Spin(on="text", threshold=2), "spin_args": Spin(identity="args")}
    steps = 3 * [step(call("read", {"path": "a"}, "text"), text="Reading.")]
    texts, args = watch(guards, steps).series()
    assert (texts.guard, texts.kind, texts.threshold) == ("spin_text", "spin", 2)
    assert (args.guard, args.kind, args.threshold) == ("spin_args", "spin", 3)
    assert texts.fired == (False, True, True)
    assert args.fired == (False, False, True)


def test_a_series_says_how_it_was_measured():
    guards = {"stagnation": Stagnation(), "quality": Quality(threshold=0.1)}
    stagnation, quality = watch(guards, scored(0.5), direction="lower").series()
    assert (stagnation.comparison, stagnation.on_fire) == ("<", "stop")
    assert stagnation.settings == '{"against": "previous", "counts": "gain", "window": 2}'
    assert quality.comparison == "<="


def test_a_verdict_is_one_reading():
    [series] = watch({"rounds": MaxRounds(threshold=1)}, 2 * [step()]).series()
    verdict = series.verdict(2)
    assert (
        verdict.guard,
        verdict.signal,
        verdict.threshold,
        verdict.fired,
        verdict.iteration,
    ) == ("rounds", 1, 1, True, 2)
