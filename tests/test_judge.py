"""How strictly a judge's reply is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge import SYSTEM_PROMPT, ParseFailure, Scale, parse, prompt
from harness.trace import Issue, Lesson
from tests.faults import FAULTS, GOOD, may_be_done

MIN = {"done": False, "reason": "r", "evidence": []}


def reply(**changed: Any) -> str:
    return json.dumps(MIN | changed)


TEXT = json.dumps(GOOD)
READ = {
    "alone": TEXT,
    "with white space": f"\n  {TEXT}\n",
    "over several lines": json.dumps(GOOD, indent=2),
    "fenced": f"```json\n{TEXT}\n```",
    "fenced without a language": f"```\n{TEXT}\n```",
    "prose around a fence": f"My verdict:\n```json\n{TEXT}\n```\nThat is all.",
    "unknown fields": json.dumps(GOOD | {"confidence": 0.4}),
}
REFUSED = {
    "empty": "",
    "prose": "Everything is done.",
    "prose before a bare object": f"Verdict: {TEXT}",
    "prose after a bare object": f"{TEXT} That is all.",
    "a brace outside the fence": f"As {{asked}}:\n```json\n{TEXT}\n```",
    "a decoy before the fence": f'{{"done": false}}\n```json\n{TEXT}\n```',
    "two objects": f"{TEXT}\n{TEXT}",
    "two fences": f"```\n{TEXT}\n```\n```\n{TEXT}\n```",
    "a list": f"[{TEXT}]",
    "a text": json.dumps(TEXT),
    "an open fence": f"```json\n{TEXT}",
    "cut off": TEXT[:-1],
    "single quotes": TEXT.replace('"', "'"),
    "a comment": TEXT[:-1] + "} // fine",
    "a comma too many": TEXT[:-1] + ",}",
    "a key twice": TEXT[:-1] + ', "done": true}',
    "a key twice, deep": TEXT[:-1] + ', "x": {"a": 1, "a": 2}}',
    "nested too deeply": '{"done": ' + 100_000 * "[",
    "done as text": reply(done="true"),
    "done as number": reply(done=1),
    "done null": reply(done=None),
    "reason missing": json.dumps({"done": True, "evidence": ["a"]}),
    "reason no text": reply(reason=None),
    "evidence missing": json.dumps({"done": True, "reason": "r"}),
    "evidence a text": reply(evidence="a.txt"),
    "evidence of numbers": reply(evidence=[1]),
    "score as text": reply(score="0.9"),
    "score a boolean": reply(score=True),
    "score NaN": '{"done": true, "reason": "r", "evidence": ["a"], "score": NaN}',
    "score infinite": '{"done": true, "reason": "r", "evidence": ["a"], "score": -Infinity}',
    "score too large for a float": reply(score=10**400),
    "infinity by overflow, in any field": reply() [:-1] + ', "x": 1e999}',
    "score above the scale": reply(score=1.2),
    "score below the scale": reply(score=-0.1),
    "unknown progress": reply(progress="lots"),
    "unknown next action": reply(next_action="stop"),
    "failure type no text": reply(failure_type=["blocked"]),
    "issues no list": reply(issues="none"),
    "issue without severity": reply(issues=[{"description": "d", "fixable": True}]),
    "issue with another severity": reply(
        issues=[{"description": "d", "severity": "big", "fixable": True}]
    ),
    "issue fixable as text": reply(
        issues=[{"description": "d", "severity": "minor", "fixable": "no"}]
    ),
    "feedback a text": reply(feedback="do better"),
    "should_record as text": reply(feedback={"should_record": "true"}),
}  # fmt: skip


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_it_is_read(text):
    verdict = parse(text, has_phases=True)
    assert (verdict.done, verdict.phase_done, verdict.score) == (True, True, 0.9)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_it_is_refused(text):
    with pytest.raises(ParseFailure):
        parse(text, has_phases=False)


def test_phase_done_is_required_where_phases_exist_and_ignored_elsewhere():
    with pytest.raises(ParseFailure, match="phase_done"):
        parse(reply(), has_phases=True)
    assert parse(reply(), has_phases=False).phase_done is None
    ignored = parse(reply(phase_done=True), has_phases=False)
    assert (ignored.phase_done, ignored.claimed) == (None, False)


CLAIMS = [
    [], [""], ["  "], ["all finished"], ["Done."], ["Everything is done"], ["The task is complete"],
    ["Task completed successfully"], ["I have finished"], ["All steps are now completed."],
    ["yes"], ["n/a"], ["-"], ["全部完成"], ["任务已完成。"], ["done", "all finished", "ok"],
]  # fmt: skip
EVIDENCE = [
    ["report.md"], ["exit code 0"], ["42 tests pass"], ["all finished", "build.log line 7"],
    ["The task list is complete: 12 of 12 rows in rows.csv"], ["脚本退出码 0"],
    ["完成的文件:报告.md"],
]  # fmt: skip


@pytest.mark.parametrize("evidence", CLAIMS, ids=str)
def test_a_bare_claim_is_no_evidence(evidence):
    verdict = parse(reply(done=True, score=0.9, evidence=evidence), has_phases=False)
    assert (verdict.done, verdict.claimed, verdict.score) == (False, True, None)


@pytest.mark.parametrize("evidence", EVIDENCE, ids=str)
def test_what_can_be_named_is_evidence(evidence):
    verdict = parse(reply(done=True, score=0.9, evidence=evidence), has_phases=False)
    assert (verdict.done, verdict.claimed, verdict.score) == (True, False, 0.9)


@pytest.mark.parametrize(
    ("mapped", "score"), [(0.0, 1), (0.333333333, 4), (0.888888889, 9), (1.0, 10)]
)
def test_a_declared_scale_maps_to_0_1(mapped, score):
    text = reply(score=score, evidence=["rubric"])
    assert mapped == parse(text, has_phases=False, scale=Scale(1, 10)).score


@pytest.mark.parametrize("score", [0, 0.99, 11, 85])
def test_off_the_declared_scale(score):
    with pytest.raises(ParseFailure, match="outside 1 to 10"):
        parse(reply(score=score), has_phases=False, scale=Scale(1, 10))


def test_what_else_it_says():
    verdict = parse(
        reply(
            progress="none",
            next_action="pause",
            failure_type="blocked",
            issues=[{"description": "d", "severity": "critical", "fixable": False}],
            feedback={"should_record": True, "avoid_next_time": "guessing"},
        ),
        has_phases=False,
    )
    assert (verdict.progress, verdict.next_action, verdict.failure_type) == (
        "none", "pause", "blocked",
    )  # fmt: skip
    assert verdict.issues == (Issue("d", "critical", False),)
    assert verdict.lesson == Lesson(None, "guessing", None)


def test_an_object_of_the_recording_is_read_as_strictly():
    assert parse(GOOD, has_phases=True).done
    with pytest.raises(ParseFailure):
        parse(GOOD | {"done": "true"}, has_phases=True)


def test_half_a_surrogate_pair_is_mended():
    assert (
        parse(r'{"done": false, "reason": "\ud800", "evidence": []}', has_phases=False).reason
        == "\ufffd"
    )


@pytest.mark.parametrize("depth", [100, 800, 990, 5000, 100_000])
def test_deep_nesting_is_read_or_refused(depth):
    deep = depth * "[" + depth * "]"
    for text in (
        reply()[:-1] + f', "x": {deep}}}',
        reply(reason="\ud800")[:-1] + f', "x": {deep}}}',
    ):
        assert not done(text)


def test_the_prompt_says_what_is_no_evidence():
    assert "bare claim" in SYSTEM_PROMPT
    assert "is no\nevidence" in SYSTEM_PROMPT


def test_the_prompt_names_the_declared_scale():
    assert "score (0 to 1)" in prompt()
    assert "score (1 to 10)" in prompt(Scale(1, 10))


def done(text: str) -> bool:
    try:
        return bool(parse(text, has_phases=False).done)
    except ParseFailure:
        return False


@given(st.sampled_from(FAULTS), st.randoms(use_true_random=False), st.data())
def test_it_never_fails_open(fault, rng, data):
    """Whatever is cut, doubled or put in between: done needs one object, a boolean, evidence."""
    text = (
        data.draw(st.sampled_from([TEXT, f"```json\n{TEXT}\n```"]))
        if rng.random() < 0.5
        else fault(rng)
    )
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        to = data.draw(st.integers(at, min(len(text), at + 30)))
        put = data.draw(
            st.sampled_from(
                ["", '"', "{", "}", ",", "true", "\n```\n", " ", text[at:to] * 2, "\x00"]
            )
        )
        text = text[:at] + put + text[to:]
    assert not done(text) or may_be_done(text), text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(list(GOOD)), _JSON))
def test_odd_values_never_fail_open_and_never_crash(changed):
    text = json.dumps(GOOD | changed)
    assert not done(text) or may_be_done(text), text


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    assert not done(text)
