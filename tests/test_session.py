"""One iteration of a guarded loop: the order of its stages, and who outranks whom."""

from __future__ import annotations

import json

import pytest

from harness.guards.evaluator_errors import EvaluatorErrors
from harness.guards.parse_failures import ParseFailures
from harness.guards.quality import Quality
from harness.guards.stagnation import Stagnation
from tests.examples import run, step
from tests.mechanisms import (
    DONE,
    NOT_YET,
    ONE,
    READ,
    TWO,
    end,
    judged,
    noted,
    perceived,
    replay,
    under,
    verified,
)

ALL_ROLES = {
    "spin_judge": json.dumps({"is_spinning": True, "reason": "r"}),
    "reflection": "- slower",
    "verifier": verified(False),
    "perception": perceived("boats"),
}
EVERYTHING = {
    "triage": True, "judge": {}, "gates": True, "structured_issues": True, "work_order": True,
    "spin_layers": {"run": 2}, "reflection": {}, "verification": {"every": 1}, "perception": {},
    "continuity": {}, "feedback_log": 5,
}  # fmt: skip


def states(episode, iteration):
    """Kind and state of each condition of an iteration."""
    return [(c.kind, c.state) for c in episode.decisions[iteration - 1].conditions]


# -- order ----------------------------------------------------------------------------------------


def test_the_order_of_the_stages():
    spec = step(READ, judge=judged(True), roles=ALL_ROLES, user="Continue.")
    episode = replay([spec, spec], phases=ONE, **EVERYTHING)
    order = dict.fromkeys(event.mechanism for event in episode.iterations[1].events)
    assert list(order) == [
        "continuity", "spin_layers", "reflection", "judge", "verification", "perception",
    ]  # fmt: skip
    assert [reply.role for reply in episode.iterations[1].replies] == [
        "actor", "spin_judge", "reflection", "judge", "verifier", "perception",
    ]  # fmt: skip


def test_the_gate_stands_between_judge_and_verification():
    spec = step(READ, judge=DONE, roles=ALL_ROLES)
    episode = replay([spec], phases=ONE, **EVERYTHING)
    order = dict.fromkeys(event.mechanism for event in episode.iterations[0].events)
    assert list(order) == ["reflection", "judge", "gate", "verification", "perception"]


def test_a_triage_hit_skips_the_roles_and_says_so():
    spec = step(text="I am blocked here.", judge=DONE, roles=ALL_ROLES)
    episode = replay([spec], **EVERYTHING)
    assert end(episode) == ("blocked", 1)
    assert [reply.role for reply in episode.iterations[0].replies] == ["actor"]
    events = [(e.mechanism, e.event) for e in episode.iterations[0].events]
    assert events == [
        ("triage", "hit"),
        *((name, "skip") for name in (
            "spin_layers", "reflection", "judge", "structured_issues", "verification",
            "perception")),
    ]  # fmt: skip


def test_observed_the_judge_is_parsed_although_triage_hit_and_decides_nothing():
    spec = step(text="I am blocked here.", judge=judged(True, score=0.9))
    episode = run([spec], under(triage=True, judge={}, gates=True), observe=True)
    iteration = episode.iterations[0]
    assert [(n, event) for n, event, _ in noted(episode, "judge")] == [(1, "observed"), (1, "run")]
    assert (iteration.evaluation.done, iteration.evaluation.score) == (True, 0.9)
    assert states(episode, 1) == [("blocked", "true")]
    assert episode.decisions[0].exit == "blocked"


# -- judge and gate -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "judge"),
    [
        (("completed", 1), judged(True)),
        (("recording_exhausted", 1), judged(True, [])),
        (("recording_exhausted", 1), judged(True, ["all finished"])),
        (("recording_exhausted", 1), judged(False)),
        (("recording_exhausted", 1), judged(False, phase_done=True)),
        (("recording_exhausted", 1), '{"done": true}'),
        (("recording_exhausted", 1), None),
        (("blocked", 1), judged(failure_type="blocked")),
        (("awaiting_user", 1), judged(failure_type="awaiting_user")),
        (("infrastructure", 1), judged(failure_type="infrastructure")),
        (("recording_exhausted", 1), judged(failure_type="other")),
        (("evaluator_pause", 1), judged(next_action="pause")),
        (("completed", 1), judged(True, next_action="pause")),
    ],
)
def test_what_the_judge_says(expected, judge):
    assert expected == end(replay([step(READ, judge=judge)], judge={}))


@pytest.mark.parametrize(
    ("expected", "score", "judge"),
    [
        ((0.4, "measured"), 0.4, judged(score=0.9)),
        ((0.9, "judge"), None, judged(score=0.9)),
        ((None, None), None, judged(score=0.9, evidence=["done"])),
        ((None, None), None, "no JSON"),
        ((0.4, "measured"), 0.4, "no JSON"),
        ((0.4, "measured"), 0.4, {"error": "timeout"}),
    ],
)
def test_the_score_and_its_source(expected, score, judge):
    episode = replay([step(READ, score=score, judge=judge)], judge={})
    evaluation = episode.iterations[0].evaluation
    assert expected == (evaluation.score, evaluation.score_source)


def test_done_with_an_open_check_is_vetoed_and_stored():
    episode = replay([step(READ, judge=DONE)], judge={}, gates=True, phases=ONE)
    assert end(episode) == ("recording_exhausted", 1)
    assert states(episode, 1) == [("completed", "vetoed")]
    event = next(e for e in episode.iterations[0].events if e.mechanism == "gate")
    assert (event.event, event.trigger, event.reason) == ("veto", "p", "p/f: file a.md")
    assert [(c.check, c.passed) for c in episode.iterations[0].checks] == [("f", False)]


@pytest.mark.parametrize("claim", [DONE, judged(False, phase_done=True)])
def test_on_the_last_phase_phase_done_is_done(claim):
    steps = [step(READ, judge=claim, writes=["a.md"])]
    assert end(replay(steps, judge={}, gates=True, phases=ONE)) == ("completed", 1)


def test_done_with_later_phases_left_is_phase_done():
    steps = [
        step(READ, judge=DONE, writes=["a.md"]),
        step(READ, judge=DONE, writes=["a.md"]),
        step(READ, judge=DONE, writes=["b.md"]),
        step(READ, judge=DONE, writes=["a.md", "b.md"]),
    ]
    episode = replay(steps, judge={}, gates=True, phases=TWO)
    assert [d.name for d in episode.decisions] == [
        "advance_phase", "continue", "continue", "finalize",
    ]  # fmt: skip
    assert [i.phase for i in episode.iterations] == ["p", "q", "q", "q"]
    # In the third the file of the first phase has gone: looked at again at the end.
    assert states(episode, 3) == [("completed", "vetoed")]


def test_a_success_is_vetoed_while_its_score_still_counts_for_stagnation():
    steps = [step(READ, judge=NOT_YET, score=0.9)] * 4
    guards = {"quality": Quality(), "stagnation": Stagnation(window=2)}
    episode = replay(steps, guards=guards, judge={}, gates=True, phases=ONE)
    assert end(episode) == ("stagnation", 3)
    assert states(episode, 1) == [("quality", "vetoed"), ("stagnation", "unknown")]
    assert states(episode, 3) == [("quality", "vetoed"), ("stagnation", "true")]


@pytest.mark.parametrize(
    ("expected", "guard", "judge"),
    [
        (("evaluator_unparseable", 3), ParseFailures(), "no JSON"),
        (("infrastructure", 5), EvaluatorErrors(), {"error": "timeout"}),
    ],
)
def test_an_evaluator_that_fails_too_often(expected, guard, judge):
    steps = [step(READ, judge=judge)] * 6
    assert expected == end(replay(steps, guards={"it": guard}, judge={}))
    mixed = [spec | {"judge": judged()} if n % 3 == 1 else spec for n, spec in enumerate(steps)]
    assert end(replay(mixed, guards={"it": guard}, judge={})) == ("recording_exhausted", 6)


# -- issues ---------------------------------------------------------------------------------------


def issue(severity: str, fixable: bool) -> dict[str, object]:
    return {"description": "d", "severity": severity, "fixable": fixable}


MINOR, SERIOUS, FATAL = issue("minor", True), issue("serious", True), issue("critical", False)


@pytest.mark.parametrize(
    ("event", "reason", "score", "issues"),
    [
        ("nothing_to_fix", "nothing_to_fix", None, [MINOR]),
        ("nothing_to_fix", "quality_reached", 0.9, [MINOR]),
        ("conflict", "recording_exhausted", 0.5, [MINOR]),
        ("worth_it", "recording_exhausted", None, [SERIOUS]),
        ("worth_it", "recording_exhausted", None, [FATAL, SERIOUS, MINOR]),
        ("unfixable", "unfixable", None, [FATAL]),
        ("unfixable", "unfixable", 0.5, [FATAL, MINOR]),
        (None, "recording_exhausted", None, []),
        (None, "recording_exhausted", None, None),
    ],
)
def test_structured_issues(event, reason, score, issues):
    steps = [step(READ, judge=judged(score=score, issues=issues))]
    guards = {"quality": Quality()}
    episode = replay(steps, guards=guards, judge={}, structured_issues=True)
    assert (reason, 1) == end(episode)
    assert ([event] if event else []) == [e for _, e, _ in noted(episode, "structured_issues")]


@pytest.mark.parametrize(
    ("reason", "feedback"),
    [("nothing_to_fix", ""), ("nothing_to_fix", "  \n"), ("recording_exhausted", "Shorter.")],
)
def test_feedback_that_came_back_empty(reason, feedback):
    assert (reason, 1) == end(replay([step(READ, feedback=feedback)], structured_issues=True))


def test_nothing_to_fix_is_vetoed_like_any_success():
    steps = [step(READ, feedback="")]
    episode = replay(steps, structured_issues=True, gates=True, phases=ONE)
    assert states(episode, 1) == [("nothing_to_fix", "vetoed")]
