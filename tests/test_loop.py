from __future__ import annotations

from typing import ClassVar

import pytest

from harness.guards.cost_budget import CostBudget
from harness.guards.max_iterations import MaxIterations
from harness.guards.max_rounds import MaxRounds
from harness.guards.no_progress import NoProgress
from harness.guards.quality import Quality
from harness.guards.spin import Spin
from harness.guards.token_budget import TokenBudget
from harness.guards.tool_budget import ToolBudget
from harness.guards.transient_errors import TransientErrors
from tests.examples import call, preset, run, scored, step

READ = step(call("read", {"path": "a"}, "text"))
TALK = step(text="All done.", finish_reason="stop")
DOWN = step(call("fetch", {}, "HTTP 503", ok=False))
ASKED = step(user="Please go on.")


def end(episode) -> tuple:
    return episode.exit_iteration, str(episode.exit_reason), episode.status


@pytest.mark.parametrize(
    ("expected", "guard", "steps"),
    [
        ((2, "quality_reached", "finished"), Quality(), scored(0, 0.9, 1)),
        ((3, "max_iterations", "paused"), MaxIterations(threshold=3), 5 * [READ]),
        ((2, "max_rounds", "stopped"), MaxRounds(threshold=1), 5 * [READ]),
        ((3, "spin", "stopped"), Spin(), 5 * [READ]),
        ((3, "spin", "paused"), Spin(on_fire="escalate"), 5 * [READ]),
        ((5, "recording_exhausted", "undecided"), Spin(on_fire="warn"), 5 * [READ]),
        ((3, "infrastructure", "paused"), TransientErrors(), 5 * [DOWN]),
    ],
    ids=["success", "a limit that pauses", "limit", "stuck", "escalated", "warned", "outage"],
)
def test_how_an_episode_ends(expected, guard, steps):
    episode = run(steps, preset(it=guard))
    assert expected == end(episode)
    assert episode.exit_guard == (None if episode.status == "undecided" else "it")
    assert len(episode.decisions) == len(episode.best) == len(episode.elapsed) == expected[0]


def test_an_observed_run_goes_to_the_end():
    under = preset(spin=Spin(), rounds=MaxRounds(threshold=0))
    episode = run(5 * [READ], under, observe=True)
    assert episode.exit_iteration == 5
    assert [d.exit for d in episode.decisions] == 5 * ["max_rounds"]
    assert [len(series.signals) for series in episode.series] == [5, 5]
    assert (episode.status, episode.observe) == ("undecided", True)


def test_a_preset_can_observe_by_itself():
    assert run(5 * [READ], preset(observe=True, spin=Spin())).exit_iteration == 5


def test_limits_of_the_task_apply():
    assert end(run(5 * [READ], preset(), limits={"max_rounds": 1})) == (2, "max_rounds", "stopped")


def test_quality_and_the_limit_at_once_is_a_success():
    under = preset(limit=MaxIterations(threshold=2), quality=Quality())
    episode = run(scored(0.1, 0.9, 1.0), under)
    assert end(episode) == (2, "quality_reached", "finished")
    assert [c.name for c in episode.decisions[-1].conditions] == ["limit", "quality"]


class TestAnsweredPauses:
    def test_the_loop_goes_on(self):
        episode = run([READ, ASKED, READ], preset(limit=MaxIterations(threshold=1)))
        assert end(episode) == (2, "max_iterations", "paused")
        assert episode.decisions[0].conditions[0].state == "answered"

    def test_counts_go_on_and_the_cause_starts_anew(self):
        steps = [READ, READ, READ, {**READ, "user": "Go on."}, READ, READ, READ]
        episode = run(steps, preset(spin=Spin(on_fire="pause")))
        assert end(episode) == (6, "spin", "paused")
        assert episode.replay == "exact"

    def test_a_budget_in_the_same_iteration_still_ends(self):
        under = preset(limit=MaxIterations(threshold=1), tools=ToolBudget(threshold=1))
        episode = run([READ, ASKED], under)
        assert end(episode) == (1, "tool_budget", "stopped")
        assert [c.state for c in episode.decisions[0].conditions] == ["answered", "true"]

    def test_a_stop_has_no_answer(self):
        assert end(run([*3 * [READ], ASKED], preset(spin=Spin()))) == (3, "spin", "stopped")


class TestDivergence:
    BRANCH: ClassVar = {"switch_strategy": [[step(text="other way"), *scored(0.95)]]}
    LADDER: ClassVar = {
        "no_progress": NoProgress(threshold=1, on_fire={"1": "switch_strategy"}),
        "quality": Quality(),
    }

    def test_step_j_of_a_branch_answers_iteration_switch_plus_j(self):
        episode = run([READ, READ, READ], preset(**self.LADDER), branches=self.BRANCH)
        assert end(episode) == (4, "quality_reached", "finished")
        assert [iteration.turn.source for iteration in episode.iterations] == [
            ("", 1),
            ("", 2),
            ("switch_strategy[0]", 1),
            ("switch_strategy[0]", 2),
        ]
        assert (episode.replay, episode.diverged_at) == ("exact", None)

    def test_a_delegation_takes_its_own_branch(self):
        guard = NoProgress(threshold=1, on_fire="delegate")
        episode = run(3 * [READ], preset(it=guard), branches={"delegate": [scored(0.1)]})
        assert episode.exit_iteration == 3
        assert episode.iterations[-1].turn.source == ("delegate[0]", 1)

    def test_without_a_branch_the_replay_is_diverged_from_there(self):
        episode = run([READ, READ, READ, TALK], preset(**self.LADDER))
        assert (episode.replay, episode.diverged_at, episode.exit_iteration) == ("diverged", 2, 4)

    def test_a_switch_after_the_last_iteration_has_changed_nothing(self):
        episode = run([READ, READ], preset(**self.LADDER))
        assert (episode.replay, episode.diverged_at) == ("censored", 2)

    def test_a_decision_after_the_divergence_is_diverged(self):
        under = preset(**self.LADDER, limit=MaxRounds(threshold=3))
        assert run(6 * [READ], under).replay == "diverged"
        under = preset(**self.LADDER, limit=MaxRounds(threshold=1))
        assert run(6 * [READ], under).replay == "exact"

    @pytest.mark.parametrize(
        ("expected", "action", "nudge"),
        [
            pytest.param("diverged", "nudge", None, id="a text that the recording lacks"),
            pytest.param("censored", "nudge", "Try again.", id="a text that was recorded"),
            pytest.param("censored", "warn", None, id="a warning"),
            pytest.param("censored", "observe", None, id="a record"),
        ],
    )
    def test_an_injected_text(self, expected, action, nudge):
        steps = [READ, READ, {**READ, "nudge": nudge}]
        assert expected == run(steps, preset(it=Spin(threshold=2, on_fire=action))).replay

    def test_an_observed_run_never_diverges(self):
        episode = run(4 * [READ], preset(**self.LADDER), observe=True, branches=self.BRANCH)
        assert (
            episode.replay,
            episode.diverged_at,
            episode.exit_iteration,
        ) == ("censored", None, 4)


def test_unknown_is_kept_as_a_condition():
    under = preset(money=CostBudget(threshold=1), tokens=TokenBudget(threshold=1))
    episode = run([READ, READ], under)
    assert [(c.name, c.state) for c in episode.decisions[0].conditions] == [
        ("money", "unknown"),
        ("tokens", "unknown"),
    ]
    assert episode.elapsed == (None, None)
