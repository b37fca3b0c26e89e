from __future__ import annotations

from itertools import combinations, permutations

import pytest

from harness.decide import CHAIN, decide, rank
from harness.exits import ExitReason
from harness.guards import ACTIONS, catalogue
from harness.verdicts import Condition

#: The chain as SPEC section 6 words it, one line a path; written out, not read from the table.
ORDER = """
    goal_changed goal_ambiguous goal_overlap
    completed quality verified nothing_to_fix
    phase_done
    blocked unfixable
    infrastructure transient_errors
    awaiting_user
    evaluator_pause
    parse_failures evaluator_errors
    max_rounds max_iterations time_budget token_budget cost_budget tool_budget repeated_error
        repeated_failure spin spin_layers tool_spin cycle oscillation repetition recurrence
        text_loop stagnation patience regression monologue all_of any_of
    no_progress
    agent_finished
""".replace("\n        ", " ")
PATHS = [line.split() for line in ORDER.strip().splitlines()]
KINDS = [kind for path in PATHS for kind in path]


def condition(kind: str, action: str = "stop", state: str = "true", name: str = "") -> Condition:
    """A condition whose reason tells who decided; the real one does not matter here."""
    own = {k: cls.reason for k, cls in catalogue().items()}
    return Condition(kind, name or kind, own.get(kind, ExitReason.ERROR), action, state)


def test_the_table_is_the_one_of_the_spec():
    assert [list(row.kinds) for row in CHAIN] == PATHS
    assert list(range(11)) == [row.path for row in CHAIN]


def test_every_guard_has_its_place():
    assert set(catalogue()) <= set(KINDS)


@pytest.mark.parametrize(
    ("earlier", "later"), list(combinations(KINDS, 2)), ids=lambda kind: kind.replace("_", " ")
)
def test_of_two_that_end_the_earlier_wins(earlier, later):
    pair = [condition(earlier), condition(later)]
    assert rank(earlier) < rank(later)
    for order in permutations(pair):
        decision = decide(order)
        assert (earlier, True) == (decision.winner.kind, decision.ends)
        assert tuple(order) == decision.conditions


@pytest.mark.parametrize(
    ("expected", "kind", "action"),
    [
        ("pause", "goal_changed", "pause"),
        ("finalize", "quality", "stop"),
        ("advance_phase", "phase_done", "advance_phase"),
        ("pause_blocked", "blocked", "pause"),
        ("pause_infrastructure", "transient_errors", "pause"),
        ("await_confirmation", "awaiting_user", "pause"),
        ("pause", "evaluator_pause", "pause"),
        ("pause", "parse_failures", "pause"),
        ("stop", "max_rounds", "stop"),
        ("pause", "max_iterations", "pause"),
        ("escalate", "repetition", "escalate"),
        ("switch_strategy", "no_progress", "switch_strategy"),
        ("delegate", "no_progress", "delegate"),
    ],
)
def test_the_name_of_the_decision(expected, kind, action):
    assert expected == decide([condition(kind, action)]).name


def test_quality_and_max_iterations_at_once_is_a_success_and_both_are_kept():
    both = (condition("max_iterations", "pause"), condition("quality"))
    decision = decide(both)
    assert (decision.path, decision.name, decision.exit) == (1, "finalize", "quality_reached")
    assert both == decision.conditions


def test_of_two_guards_of_one_kind_the_first_in_the_preset_wins():
    decision = decide([condition("spin", name="spin_text"), condition("spin", name="spin_args")])
    assert decision.winner.name == "spin_text"


@pytest.mark.parametrize("action", sorted(set(ACTIONS) - {"stop", "pause", "escalate"}))
def test_other_actions_never_end(action):
    decision = decide([condition("spin", action)])
    assert (decision.ends, decision.exit) == (False, None)


@pytest.mark.parametrize("action", ["warn", "nudge", "observe"])
def test_what_only_records_decides_nothing(action):
    decision = decide([condition("quality", action)])
    assert (decision.path, decision.name, decision.winner) == (10, "continue", None)
    assert len(decision.conditions) == 1


@pytest.mark.parametrize("state", ["vetoed", "unknown", "answered"])
def test_a_condition_in_another_state_is_kept_and_decides_nothing(state):
    success = condition("completed", state=state)
    assert decide([success]).name == "continue"
    decision = decide([success, condition("time_budget")])
    assert (decision.exit, len(decision.conditions)) == ("time_budget", 2)


@pytest.mark.parametrize("turn", ["switch_strategy", "delegate"])
def test_another_strategy_is_tried_before_a_later_row_stops(turn):
    turning, ending = condition("repetition", turn), condition("no_progress")
    assert decide([turning, ending]).name == turn
    assert decide([ending, turning]).exit is None


def test_a_phase_that_is_done_is_advanced_before_a_limit_stops():
    done, limit = condition("phase_done", "advance_phase"), condition("max_iterations", "pause")
    decision = decide([limit, done])
    assert (decision.path, decision.name, decision.ends) == (2, "advance_phase", False)


def test_of_two_that_turn_the_earlier_wins():
    decision = decide([condition("no_progress", "delegate"), condition("spin", "switch_strategy")])
    assert (decision.winner.kind, decision.name) == ("spin", "switch_strategy")


def test_observe_names_the_exit_but_goes_on():
    decision = decide([condition("spin")], observe=True)
    assert (decision.exit, decision.ends) == ("spin", False)


def test_nothing_to_decide():
    decision = decide([])
    assert (
        decision.path,
        decision.name,
        decision.conditions,
        decision.ends,
    ) == (10, "continue", (), False)


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        pytest.param("max_iterations", "pause", id="a guard that pauses"),
        pytest.param("repetition", "escalate", id="a guard that escalates"),
        pytest.param("transient_errors", "stop", id="a path that pauses, whatever the action"),
        pytest.param("blocked", "pause", id="a mechanism"),
    ],
)
def test_an_answered_pause_goes_on(kind, action):
    decision = decide([condition(kind, action)], answered=True)
    assert (decision.ends, decision.exit) == (False, None)
    assert [c.state for c in decision.conditions] == ["answered"]


def test_a_stop_beside_an_answered_pause_still_ends():
    pair = [condition("blocked", "pause"), condition("token_budget")]
    decision = decide(pair, answered=True)
    assert (decision.exit, decision.ends) == ("token_budget", True)
    assert [c.state for c in decision.conditions] == ["answered", "true"]


def test_a_switch_beside_an_answered_pause_is_followed():
    pair = [condition("awaiting_user", "pause"), condition("no_progress", "switch_strategy")]
    assert decide(pair, answered=True).name == "switch_strategy"


def test_a_success_needs_no_answer():
    decision = decide([condition("quality"), condition("awaiting_user", "pause")], answered=True)
    assert (decision.exit, decision.ends) == ("quality_reached", True)
