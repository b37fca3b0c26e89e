from __future__ import annotations

import pytest

from harness.errors import ReplayMiss
from harness.llm import RecordedLLM, Request, ScriptedLLM
from harness.turns import prepare
from tests.examples import scenario, step

STEPS = [
    step(text="first", judge='{"done": false}'),
    step(text="second"),
    step(text="third", roles={"verifier": ["no", {"text": "yes", "model": "m", "ms": 9}]}),
]
BRANCH = [step(text="other"), step(text="end", judge="late")]


def recorded(**more) -> RecordedLLM:
    return RecordedLLM(prepare(scenario(STEPS, **more)))


def told(llm, *request, **more) -> str:
    return llm.ask(Request(*request, **more)).text


def test_a_script_is_taken_in_order():
    llm = ScriptedLLM({"actor": ["one", {"text": "two", "model": "m"}], "judge": ["fine"]})
    assert [told(llm, role, 1) for role in ("actor", "judge", "actor")] == ["one", "fine", "two"]


def test_a_script_that_is_too_short_says_so():
    llm = ScriptedLLM({"judge": ["fine"]})
    llm.ask(Request("judge", 1))
    with pytest.raises(ReplayMiss) as error:
        llm.ask(Request("judge", 2))
    assert str(error.value) == (
        "script: role 'judge' was asked 2 times in iteration 2, but has 1 replies; "
        "roles with replies: judge"
    )


@pytest.mark.parametrize(
    ("expected", "request_"),
    [
        ("first", Request("actor", 1)),
        ("third", Request("actor", 3)),
        ('{"done": false}', Request("judge", 1)),
        ("no", Request("verifier", 3)),
        ("yes", Request("verifier", 3, n=2)),
    ],
    ids=lambda value: (
        f"{value.role} {value.iteration}.{value.n}" if isinstance(value, Request) else ""
    ),
)
def test_a_reply_is_found_by_position(expected, request_):
    assert expected == recorded().ask(request_).text


def test_a_recorded_reply_keeps_what_is_known_of_it():
    reply = recorded().ask(Request("verifier", 3, n=2))
    assert (reply.role, reply.model, reply.ms) == ("verifier", "m", 9)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        pytest.param(("", "timeout"), {"error": "timeout"}, id="a call that failed"),
        pytest.param(('{"done": true}', None), {"done": True}, id="an object is a reply's JSON"),
        pytest.param(("plain", None), "plain", id="text"),
    ],
)
def test_forms_of_a_recorded_reply(expected, value):
    llm = RecordedLLM(prepare(scenario([step(judge=value)])))
    reply = llm.ask(Request("judge", 1))
    assert expected == (reply.text, reply.error)


@pytest.mark.parametrize(
    ("expected", "request_"),
    [
        pytest.param(
            "role 'judge' is not recorded in iteration 3; the nearest recorded one is in "
            "iteration 1",
            Request("judge", 3),
            id="another iteration has one",
        ),
        pytest.param(
            "role 'verifier' was asked 3 times in iteration 3, recorded are 2",
            Request("verifier", 3, n=3),
            id="fewer calls are recorded",
        ),
        pytest.param(
            "role 'continuity' is not recorded at all (asked in iteration 2)",
            Request("continuity", 2),
            id="the role is not recorded",
        ),
    ],
)
def test_a_miss_names_the_nearest_recording(expected, request_):
    llm = recorded()
    with pytest.raises(ReplayMiss) as error:
        llm.ask(request_)
    assert f"scenario examples/one: {expected}" == str(error.value)
    assert llm.unrecorded == 1


def test_beyond_the_end():
    llm = recorded()
    assert llm.turn(4) is None
    with pytest.raises(ReplayMiss, match="iteration 4 is not recorded; the recording ends with 3"):
        llm.ask(Request("actor", 4))


def test_step_j_of_a_branch_answers_iteration_switch_plus_j():
    llm = recorded(branches={"switch_strategy": [BRANCH, [step(text="again")]]})
    assert llm.switch("switch_strategy", 2)
    assert [t and t.reply.text for t in map(llm.turn, (3, 4, 5))] == ["other", "end", None]
    assert told(llm, "judge", 4) == "late"
    with pytest.raises(ReplayMiss, match="the nearest recorded one is in iteration 4"):
        llm.ask(Request("judge", 3))
    with pytest.raises(ReplayMiss, match="the recording ends with 4"):
        llm.ask(Request("actor", 5))


def test_before_its_first_step_a_branch_has_nothing():
    llm = recorded(branches={"switch_strategy": [BRANCH]})
    llm.switch("switch_strategy", 2)
    assert llm.turn(2) is None


def test_each_branch_is_taken_once():
    llm = recorded(branches={"switch_strategy": [BRANCH, [step(text="again")]]})
    assert [llm.switch("switch_strategy", n) for n in (1, 2, 3)] == [True, True, False]
    assert not llm.switch("delegate", 3)
    assert told(llm, "actor", 3) == "again"


def test_drift_is_a_request_whose_hash_differs_from_the_recorded_one():
    sent = Request("actor", 1, messages=({"role": "user", "content": "Go."},))
    spec = step(text="first")
    spec["reply"]["request_hash"] = sent.hash
    llm = RecordedLLM(prepare(scenario([spec])))
    llm.ask(sent)
    assert llm.drifted == 0
    llm.ask(Request("actor", 1, messages=({"role": "user", "content": "Stop."},)))
    assert llm.drifted == 1
    llm.ask(Request("actor", 1))
    assert llm.drifted == 1
