from __future__ import annotations

import pytest

from harness.guards.any_of import AnyOf
from harness.guards.max_iterations import MaxIterations
from harness.guards.max_rounds import MaxRounds
from harness.guards.quality import Quality
from harness.guards.regression import Regression
from harness.guards.stagnation import Stagnation
from harness.guards.tool_budget import ToolBudget
from tests.examples import call, preset, run, scored, step

READ = step(call("read", {"path": "a"}, "text"))
TALK = step(text="All done.", finish_reason="stop")


@pytest.mark.parametrize(
    ("expected", "guard", "steps"),
    [
        (
            "loop engine iteration budget reached after 20 iterations",
            MaxIterations(),
            25 * [READ],
        ),
        (
            "loop engine iteration budget reached after 1 iteration",
            MaxIterations(threshold=0),
            [READ],
        ),
        (
            "quality threshold reached with score 0.9 after 2 iterations",
            Quality(),
            scored(0.1, 0.9),
        ),
        (
            "tool budget after 1 iteration: guard it, tool calls made is 1 (>= 1)",
            ToolBudget(threshold=1),
            [READ],
        ),
        (
            (
                "stagnation after 3 iterations: guard it, largest of the last `window` "
                "improvements of the score is 0.01 (< 0.02)"
            ),
            Stagnation(),
            scored(0.5, 0.51, 0.52),
        ),
        (
            "tool budget after 3 iterations: guard it, tool calls made is 3 (>= 3)",
            ToolBudget(threshold=1, on_fire={"1": "warn", "3": "stop", "9": "stop"}),
            4 * [READ],
        ),
        (
            "the recording ends after 2 iterations with nothing decided",
            Quality(),
            scored(0.1, 0.2),
        ),
        (
            "the agent stopped by itself after 2 iterations; nothing verified its result",
            Quality(),
            [READ, TALK],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_message_says_it_in_words(expected, guard, steps):
    assert expected == run(steps, preset(it=guard)).message


def test_a_recorded_limit_is_named():
    episode = run([READ], preset(), recorded={"exit_reason": "token_budget"})
    expected = "the recording ends after 1 iteration with nothing decided; the real run ended on"
    assert f"{expected} token_budget" == episode.message


@pytest.mark.parametrize(
    ("expected", "steps", "fields"),
    [
        pytest.param(("agent_finished", "inferred", "exact"), [READ, TALK], {}, id="its own stop"),
        pytest.param(
            ("agent_finished", "inferred", "exact"),
            [TALK],
            {"tools": ["read"]},
            id="declared tools",
        ),
        pytest.param(
            ("agent_finished", "explicit", "exact"),
            [READ],
            {"recorded": {"exit_reason": "agent_finished"}},
            id="recorded",
        ),
        pytest.param(
            ("agent_finished", "inferred", "exact"),
            [READ],
            {"recorded": {"exit_reason": "agent_finished", "exit_reason_source": "inferred"}},
            id="the importer inferred it",
        ),
        pytest.param(
            ("recording_exhausted", "explicit", "censored"),
            [READ, TALK],
            {"recorded": {"exit_reason": "max_iterations"}},
            id="a recorded limit",
        ),
        pytest.param(
            ("recording_exhausted", "unknown", "censored"), [TALK, READ], {}, id="it ends on a call"
        ),
        pytest.param(
            ("recording_exhausted", "unknown", "censored"),
            [READ, step(text="and then", finish_reason="length")],
            {},
            id="it was cut off",
        ),
        pytest.param(
            ("recording_exhausted", "unknown", "censored"), [TALK], {"tools": []}, id="no tools"
        ),
        pytest.param(("recording_exhausted", "unknown", "censored"), [TALK], {}, id="no one knows"),
    ],
)
def test_a_recording_that_ends_undecided(expected, steps, fields):
    episode = run(steps, preset(limit=MaxIterations()), **fields)
    assert expected == (episode.exit_reason, episode.exit_reason_source, episode.replay)
    assert (episode.status, episode.needs_human) == ("undecided", False)


@pytest.mark.parametrize(
    ("expected", "scores", "fields"),
    [
        pytest.param(True, (0.5, 0.4), {}, id="the best is too poor"),
        pytest.param(False, (0.6, 0.4), {}, id="the best is good enough"),
        pytest.param(True, (None, None), {}, id="nobody knows"),
        pytest.param(True, (0.5, 0.6), {"direction": "lower"}, id="lower is better: too high"),
        pytest.param(False, (0.4, 0.6), {"direction": "lower"}, id="lower is better: low"),
    ],
)
def test_a_limit_with_a_weak_best_needs_a_human(expected, scores, fields):
    episode = run(scored(*scores), preset(limit=MaxRounds(threshold=1)), **fields)
    assert expected == episode.needs_human


def test_a_success_needs_no_human():
    assert not run(scored(0.3), preset(it=Quality(threshold=0.3))).needs_human


def test_an_escalation_needs_a_human_whatever_the_score():
    guard = Regression(threshold=0.1, on_fire="escalate")
    assert run(scored(0.9, 0.7), preset(it=guard)).needs_human


def test_the_result_is_empty_and_the_best_is_kept():
    steps = [step(score=s, output=o) for s, o in ((0.2, "a"), (0.5, "b"), (0.3, "c"))]
    weak = run(steps, preset(limit=MaxRounds(threshold=2)))
    assert (
        weak.result,
        weak.best_result,
        weak.best_iteration,
        weak.best_score,
    ) == (None, "b", 2, 0.5)
    fine = run(steps, preset(limit=MaxRounds(threshold=2), it=Quality(threshold=0.5)))
    assert (fine.result, fine.best_result) == ("b", "b")


def test_an_equal_score_is_no_new_best():
    episode = run(scored(0.5, 0.5), preset(limit=MaxRounds(threshold=1)))
    assert (episode.best_iteration, episode.best) == (1, (0.5, 0.5))


class TestAnyOfReason:
    """It has the reason of its first guard, also where another one fired."""

    JOINED = AnyOf(guards=(Quality(), MaxRounds(threshold=1)))

    def test_its_message_needs_no_score(self):
        assert run(3 * [READ], preset(it=self.JOINED)).exit_iteration == 2

    def test_a_limit_does_not_read_as_a_success(self):
        assert run(scored(0.1, 0.2, 0.3), preset(it=self.JOINED)).exit_group != "success"
