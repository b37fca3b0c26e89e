"""Seven rules, in order: does a message go on with the goal?"""

from __future__ import annotations

import json

import pytest

from harness.continuity import content_tokens, is_complete, judge_continuity, markers, overlap
from harness.mechanisms import Continuity

GOAL = "Write the packing list for the cycling tour along the Moselle."
ZIEL = "写一份摩泽尔河骑行的行李清单。"


def answer(message, goal=GOAL, *, cut=True, reply=None, **settings):
    """Verdict and rule."""
    found = judge_continuity(
        message, goal, interrupted=cut, settings=Continuity(**settings), ask=lambda: reply
    )
    return found.verdict, found.rule


def says(same: object, confidence: object) -> str:
    return json.dumps({"same_task": same, "confidence": confidence})


FAR = "Look up train fares from Berlin to Prague tomorrow."
NEAR = "Is the repair kit on the packing list for the tour?"
BETWEEN = "Pack spare tyres for Moselle gravel roads."

RULES = [
    # 1: empty
    ("same", 1, ""),
    ("same", 1, "  \n"),
    # 2: go on
    ("same", 2, "Continue."),
    ("same", 2, "Please go on with it"),
    ("same", 2, "Confirmed."),
    ("same", 2, "In addition, bring the blue bag."),
    ("same", 2, "yes"),
    ("same", 2, "继续"),
    ("same", 2, "确认,没问题"),
    ("same", 2, "补充一下:还要带雨衣。"),
    # 3: something else
    ("new", 3, "Forget it, write a poem instead."),
    ("new", 3, "Start over from scratch with a budget."),
    ("new", 3, "Let us do something else: a poem."),
    ("new", 3, "Never mind."),
    ("new", 3, "算了,帮我写一封信。"),
    ("new", 3, "换个任务吧"),
    ("new", 3, "重新开始"),
    # 5: overlap
    ("same", 5, NEAR),
    # 6: no overlap and a request of its own
    ("new", 6, FAR),
    # 7: nobody to ask
    ("ambiguous", 7, BETWEEN),
    ("ambiguous", 7, "And Anna?"),
]


@pytest.mark.parametrize(("verdict", "rule", "message"), RULES)
def test_the_rules(verdict, rule, message):
    assert (verdict, rule) == answer(message)


@pytest.mark.parametrize(
    ("verdict", "rule", "message"),
    [
        ("same", 5, "行李清单里有雨衣吗?"),
        ("new", 6, "查询明天从柏林到布拉格的火车票价格"),
        ("ambiguous", 7, "安娜呢?"),
    ],
)
def test_the_rules_in_chinese(verdict, rule, message):
    assert (verdict, rule) == answer(message, ZIEL)


def test_rule_4_stands_between_markers_and_overlap():
    assert answer(FAR, cut=False) == ("same", 4)
    assert answer("Forget it.", cut=False) == ("new", 3)
    assert answer("Continue.", cut=False) == ("same", 2)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ((True, False), "continue"),
        ((False, True), "forget it"),
        # negated
        ((False, False), "Please don't stop the task"),
        ((False, False), "Do not continue with that"),
        ((False, False), "no need to start over"),
        ((False, False), "不用继续了"),
        ((False, False), "不要取消"),
        # contradicting: both stand, and the later rules decide
        ((True, True), "Continue, but forget the table"),
        # mere words
        ((False, False), "also the pump"),
        ((False, False), "something else is in the bag"),
    ],
)
def test_markers(expected, message):
    assert expected == markers(message)


def test_contradicting_markers_fall_through():
    assert answer("Continue, but forget the packing list of the tour.", cut=False) == ("same", 4)
    assert answer("Continue, but forget the packing list of the tour.") == ("same", 5)


@pytest.mark.parametrize(
    ("verdict", "reply"),
    [
        ("same", says(True, 0.9)),
        ("new", says(False, 0.9)),
        ("same", says(True, 0.72)),
        ("ambiguous", says(True, 0.71)),
        ("ambiguous", says(False, 0.1)),
        # as strictly as any role
        ("ambiguous", says("true", 0.9)),
        ("ambiguous", says(True, "0.9")),
        ("ambiguous", says(True, True)),
        ("ambiguous", says(True, 1.5)),
        ("ambiguous", says(True, None)),
        ("ambiguous", '{"same_task": true, "confidence": NaN}'),
        ("ambiguous", "Same task, I am sure."),
        ("ambiguous", ""),
        ("ambiguous", None),
    ],
)
def test_rule_7_asks(verdict, reply):
    assert (verdict, 7) == answer(BETWEEN, reply=reply)


@pytest.mark.parametrize(
    ("expected", "settings"),
    [
        (("ambiguous", 7), {}),
        (("same", 5), {"same_above": 0.16}),
        (("ambiguous", 7), {"same_above": 0.166666667}),
        (("new", 6), {"new_below": 0.17}),
        (("ambiguous", 7), {"new_below": 0.166666667}),
    ],
)
def test_thresholds_are_settings_and_strict(expected, settings):
    assert overlap(BETWEEN, GOAL) == 0.166666667
    assert expected == answer(BETWEEN, **settings)


def test_the_confidence_is_a_setting():
    assert answer(BETWEEN, reply=says(True, 0.5), min_confidence=0.5) == ("same", 7)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ({"packing", "list", "tour"}, "The packing list for the tour"),
        ({"list"}, "LIST list Ｌｉｓｔ"),
        (set(), "the of and please"),
        ({"行李", "李清", "清单"}, "行李清单"),
        ({"行李", "list"}, "行李 list"),
    ],
)
def test_content_tokens(expected, text):
    assert expected == content_tokens(text)


def test_overlap_is_the_share_of_the_message():
    assert overlap("packing list", GOAL) == 1.0
    assert overlap("packing list budget poem", GOAL) == 0.5
    assert overlap("the", GOAL) == 0.0


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (True, "Compare train fares to Prague"),
        (False, "Compare train fares"),
        (True, "查询明天火车票价格"),
        (False, "查询火车票价"),
    ],
)
def test_a_complete_request(expected, text):
    assert expected == is_complete(text)
