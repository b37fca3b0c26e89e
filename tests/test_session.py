"""One iteration of a guarded loop: the order of its stages, and who outranks whom."""

from __future__ import annotations

import json

import pytest

from harness.guards.evaluator_errors import EvaluatorErrors
from harness.guards.max_iterations import MaxIterations
from harness.guards.parse_failures import ParseFailures
from harness.guards.quality import Quality
from harness.guards.stagnation import Stagnation
from harness.stages import observation
from harness.trace import Usage
from tests.examples import PRICED, call, run, step, turns
from tests.mechanisms import (
    asked,
    end,
    feed,
    judged,
    live,
    noted,
    perceived,
    replay,
    under,
    verified,
)

READ = call("read", {"path": "a"}, "text")
FILE = {"id": "f", "kind": "file_exists", "path": "a.md"}
OTHER = {"id": "g", "kind": "file_exists", "path": "b.md"}
ONE = [{"id": "p", "checks": [FILE]}]
TWO = [{"id": "p", "checks": [FILE]}, {"id": "q", "checks": [OTHER]}]
DONE = judged(True, phase_done=True, score=0.9)
NOT_YET = judged(phase_done=False, score=0.5)
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


# -- the agent's own end --------------------------------------------------------------------------

SAYS_END = step(READ, text="I am through.\nTASK COMPLETE")
NO = {"verifier": verified(False)}
YES = {"verifier": verified(True)}


@pytest.mark.parametrize(
    ("expected", "first", "more"),
    [
        (("agent_finished", 1), {}, {}),
        (("agent_finished", 1), {}, {"judge": {}}),
        (("agent_finished", 1), {}, {"judge": {}, "gates": True}),
        (("recording_exhausted", 2), {"judge": judged()}, {"judge": {}}),
        (("completed", 1), {"judge": judged(True)}, {"judge": {}}),
        (("recording_exhausted", 2), {"roles": NO}, {"verification": {}}),
        (("verified", 1), {"roles": YES}, {"verification": {}}),
        (("recording_exhausted", 2), {}, {"gates": True, "phases": ONE}),
        (("completed", 1), {"writes": ["a.md"]}, {"gates": True, "phases": ONE}),
        (
            ("recording_exhausted", 2),
            {"writes": ["a.md"], "judge": NOT_YET},
            {"gates": True, "judge": {}, "phases": ONE},
        ),
    ],
    ids=[
        "nobody can answer",
        "a judge that was not recorded",
        "a gate without phases",
        "the judge says no",
        "the judge says yes",
        "the verifier says no",
        "the verifier says yes",
        "the gate says no",
        "the gate says yes",
        "the gate holds, the judge says no",
    ],
)
def test_a_declared_end_asks_for_verification(expected, first, more):
    steps = [SAYS_END | first, step(READ)]
    assert expected == end(replay(steps, completion_marker="TASK COMPLETE", **more))


@pytest.mark.parametrize(
    ("marker", "text", "declares"),
    [
        ("DONE", "DONE", True),
        ("DONE", "All written. DONE", True),
        ("DONE", "All written.\n**DONE**\n", True),
        ("DONE", "I am not DONE yet", False),
        ("DONE", "When the tool prints DONE I go on.", False),
        ("DONE", "Nothing of the kind.", False),
        ({"final": True}, '{"final": true}', True),
        ({"final": True}, '{"a": [{"b": {"final": true}}]}', True),
        ({"final": True}, '{"a": "{\\"final\\": true}"}', True),
        ({"final": True}, 'Thought: {"final": true}', True),
        ({"final": True}, '{"final": false}', False),
        ({"final": True}, '{"final": "true"}', False),
        ({"final": True}, '{"final": 1}', False),
        ({"final": True}, "final: true", False),
    ],
)
def test_the_completion_marker(marker, text, declares):
    spec = {"reply": {"text": text}, "calls": [READ]}
    episode = replay([spec, step(READ)], completion_marker=marker)
    assert end(episode) == (("agent_finished", 1) if declares else ("recording_exhausted", 2))


@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_deep_nesting_declares_nothing(depth):
    spec = step(READ, text='{"a": ' + depth * "[" + depth * "]" + "}")
    episode = replay([spec, step(READ)], completion_marker={"final": True})
    assert end(episode) == ("recording_exhausted", 2)


def test_the_marker_in_the_task_or_in_a_result_is_none():
    spec = step(call("run", {}, "DONE"), text="Looking.", user="Say DONE at the end.\nDONE")
    episode = replay([spec, spec], completion_marker="DONE", goal="DONE")
    assert end(episode) == ("recording_exhausted", 2)


def test_a_handlers_exit_is_no_success():
    steps = [step(READ, handler={"exit": True}), step(READ)]
    episode = replay(steps)
    assert (end(episode), episode.exit_group) == (("agent_finished", 1), "undecided")


# -- what goes on to the next iteration -----------------------------------------------------------


def test_orders_carry_feedback_lessons_and_sections():
    lesson = {"should_record": True, "avoid_next_time": "Guessing."}
    session = live(
        {"judge": [judged(phase_done=False, score=0.5, feedback=lesson)],
         "reflection": ["- slow"], "perception": [perceived("boats")],
         "verifier": [verified(False, next_movements=["Go."])]},
        guards={"limit": MaxIterations(threshold=9)}, task={"phases": ONE},
        judge={}, gates=True, work_order=True, feedback_log=20, reflection={}, perception={},
        verification={"every": 1},
    )  # fmt: skip
    failed = call("read", {"path": "b"}, "no such file", ok=False)
    feed(session, [step(failed, feedback="Too long.", plan="Cut the middle.")])
    order = session.work_order("Use blue.")
    for part in (
        "iteration 2 of 9", "Phase: p (locked", "- p/f: file a.md", "- Cut the middle.",
        "- Too long.", "- Guessing.", "Message from the person: Use blue.", "- Go.",
        "<perception-n0>", "Reflection:\n- slow", "Do not skip checks.",
    ):  # fmt: skip
        assert part in order


def test_the_work_order_is_kept_in_the_trace():
    steps = [step(READ, feedback="Too long."), step(READ, user="And blue, please.")]
    episode = replay(steps, work_order=True)
    first, second = (iteration.work_order for iteration in episode.iterations)
    assert first.startswith("Work order: iteration 1\n")
    assert "- Too long." in second
    assert "And blue, please." in second
    assert episode.prompt_assumed
    assert replay(steps).iterations[0].work_order is None


def test_sections_are_for_the_next_prompt_only():
    session = live({"reflection": ["- slow"]}, reflection={}, work_order=True)
    failed = step(call("read", {"path": "b"}, "no such file", ok=False))
    feed(session, [failed])
    assert "- slow" in session.work_order()
    feed(session, [step(READ)])
    assert "- slow" not in session.work_order()


def test_lessons_that_are_not_to_be_recorded_are_not():
    lesson = {"should_record": False, "avoid_next_time": "Guessing."}
    session = live({"judge": [judged(feedback=lesson)]}, judge={}, feedback_log=20)
    feed(session, [step(READ)])
    assert list(session.lessons.entries) == []


@pytest.mark.parametrize(
    ("expected", "message", "more"),
    [
        (("goal_changed", 2), "Forget it, start over.", {}),
        (("recording_exhausted", 3), "Continue.", {}),
        (("goal_ambiguous", 2), "And Anna?", {"interrupted": True}),
        (("recording_exhausted", 3), "And Anna?", {}),
    ],
)
def test_a_persons_message(expected, message, more):
    steps = [step(READ), step(READ, user=message, **more), step(READ)]
    episode = replay(steps, continuity={})
    assert expected == end(episode)
    assert episode.iterations[1].overlap == 0.0
    assert episode.iterations[0].overlap is None


def test_a_role_sees_the_goal_each_call_and_its_result():
    spec = step(
        call("run", {"cmd": "make"}, "x" * 9000, exit_code=2), text="Building.", user="Go on.",
        output="Draft.", writes=["b.md", "a.md"],
    )  # fmt: skip
    seen = observation("Build it.", turns([spec])[0]).splitlines()
    assert seen[:3] == ["Goal: Build it.", "A person said: Go on.", "The agent: Building."]
    assert seen[3].startswith('Call run {"cmd":"make"} (failed, exit code 2): xxx')
    assert len(seen[3]) < 4100
    assert seen[4:] == ["Output: Draft.", "Files changed so far: a.md, b.md"]


# -- accounts -------------------------------------------------------------------------------------


def test_role_calls_are_priced_timed_and_counted():
    reply = {"text": verified(False), "usage": {"input": 1000, "output": 100}, "ms": 300}
    spec = step(READ | {"ms": 5}, ms=200, usage={"input": 10}, model=PRICED)
    episode = replay([spec | {"roles": {"verifier": reply}}], verification={"every": 1})
    iteration = episode.iterations[0]
    assert iteration.replies[1].usage == Usage(input=1000, output=100)
    assert iteration.replies[1].model == "gpt-4o-mini"
    assert iteration.replies[1].cost == 1000 * 150_000 + 100 * 600_000
    assert (iteration.ms, episode.elapsed) == (505, (505,))


def test_the_class_of_the_model_prices_a_reply_that_names_none():
    reply = {"text": verified(False), "usage": {"input": 1000}}
    costs = [
        replay([step(READ, roles={"verifier": reply})], verification={"every": 1, "model": model})
        .iterations[0].replies[1].cost
        for model in ("fast", "quality")
    ]  # fmt: skip
    assert costs == [1000 * 150_000, 1000 * 2_500_000]


def test_an_unrecorded_role_abstains_and_is_counted():
    episode = replay([step(READ)], judge={}, verification={"every": 1}, perception={})
    assert [(e.mechanism, e.event) for e in episode.iterations[0].events] == [
        ("judge", "abstain"), ("verification", "abstain"), ("perception", "abstain"),
    ]  # fmt: skip
    assert episode.unrecorded_calls == 3
    assert asked(episode, "judge") == []


@pytest.mark.parametrize(
    ("beginning", "steps", "more"),
    [
        ("finished: completed after 1 iteration", [step(READ, judge=judged(True))], {"judge": {}}),
        ("paused: blocked after 1 iteration", [step(text="I am blocked.")], {"triage": True}),
        ("stopped: stagnation after 3", 4 * [step(READ, score=0.5)],
         {"guards": {"it": Stagnation(window=2)}}),
        ("undecided: the recording ends after 1 iteration", [step(READ)], {}),
        ("undecided: agent finished after 1 iteration", [SAYS_END],
         {"completion_marker": "TASK COMPLETE"}),
    ],
)  # fmt: skip
def test_a_summary_is_written_however_it_ends(beginning, steps, more):
    assert replay(steps, **more).summary.startswith(beginning)


def test_the_summary_names_best_result_open_checks_and_lessons():
    lesson = {"should_record": True, "avoid_next_time": "Guessing."}
    spec = step(READ, judge=judged(phase_done=False, score=0.5, feedback=lesson))
    episode = replay([spec], judge={}, gates=True, phases=ONE)
    assert "Best score 0.5 in iteration 1." in episode.summary
    assert "Still open: p/f: file a.md." in episode.summary
    assert "Lessons: Guessing." in episode.summary
