"""One iteration of a guarded loop: how it may end, what goes on to the next, what it cost."""

from __future__ import annotations

import pytest

from harness.guards.max_iterations import MaxIterations
from harness.guards.stagnation import Stagnation
from harness.stages import observation
from harness.trace import Usage
from tests.examples import PRICED, call, step, turns
from tests.mechanisms import (
    NOT_YET,
    ONE,
    READ,
    asked,
    end,
    feed,
    judged,
    live,
    perceived,
    replay,
    verified,
)

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
