"""What an agent's own words say, before any evaluator is asked: yes, and hard no."""

from __future__ import annotations

from typing import Any

import pytest

from harness.triage import own_words, triage
from tests.examples import call, step, turns

SAYS = [
    # blocked
    ("I am blocked here: the account has expired.", ["blocked"]),
    ("The export is written. I cannot continue without the signing key.", ["blocked"]),
    ("We are unable to proceed until an administrator grants access.", ["blocked"]),
    ("Status: blocked.\nBlocked: no route to the license server.", ["blocked"]),
    ("I do not have the permission that is needed to write there.", ["blocked"]),
    ("没有写权限,我无法继续。", ["blocked"]),
    ("到这一步需要你提供测试账号。", ["blocked"]),
    ("连接数据库需要凭据。", ["blocked"]),
    ("部署需要授权,目前被阻塞。", ["blocked"]),
    # awaiting_user
    ("Both hotels are free. Which one shall I book for you?", ["awaiting_user"]),
    ("The draft is ready. Please confirm the recipients.", ["awaiting_user"]),
    ("There are two ways. Let me know which you prefer.", ["awaiting_user"]),
    ("I am waiting for your decision.", ["awaiting_user"]),
    ("两个方案都可行,请选择。", ["awaiting_user"]),
    ("名单已整理好,请确认。", ["awaiting_user"]),
    ("第一部分写好了,是否继续?", ["awaiting_user"]),
    ("有三条路线,你想怎么推进?", ["awaiting_user"]),
    # infrastructure
    ("LLM error: upstream returned 529", ["infrastructure"]),
    ("Operation timed out", ["infrastructure"]),
    ("Provider error: overloaded", ["infrastructure"]),
    ("模型调用失败,稍后再试。", ["infrastructure"]),
    # several classes at once; the chain picks
    ("I am blocked without the key. Please provide it.", ["blocked", "awaiting_user"]),
]

SAYS_NOTHING = [
    # negations
    "The queue is no longer blocked, and the upload goes on.",
    "You need not provide anything, the defaults are enough.",
    "I am not blocked by this; the second mirror works.",
    "问题已解决,不再受阻。",
    "你不需要提供任何东西,默认值就够了。",
    # quotations, code, tables, logs
    'The log says "cannot continue, waiting for user" at line 40.',
    "日志写着「无法继续」,那是上周的事。",
    "```\nERROR provider error, operation timed out\n```\nThis is what the old job printed.",
    "> I am blocked\n\nThat was the ticket. It is about a door.",
    "| state | meaning |\n| blocked | waits |\nThe table above is complete.",
    "2031-05-12 02:00 job blocked, cannot continue\nThat line explains the empty file.",
    "The constant `AWAITING_USER` is never read.",
    # prose about errors
    "The chapter on network failures explains what happens when an operation timed out.",
    "A provider error is shown as a yellow bar in the new design.",
    "The function returns early if the caller cannot continue.",
    "If the password is wrong, the form would be blocked.",
    # rhetorical questions, with the answer behind them
    "Why is the sum wrong? Because the tax is added twice. I corrected it in line 12.",
    "Should we keep the old name? I kept it, since links point to it.",
    "Do you need credentials for it? No, the page is public.",
    "What do we still need? Only the footer, and it is written.",
    # another way was found
    "I could not proceed with plan A, so I used plan B and it worked.",
    "无法继续使用旧版本,所以我换成了新版本。",
    # politeness
    "The leaflet is printed. Let me know if you want any changes.",
    "The task is complete. Is there anything else you would like me to do?",
    # plain ends
    "All three letters are written and stored in the outbox.",
    "全部三封信已经写好。",
    "",
]


def said(text: str, *calls: dict[str, Any]) -> list[str]:
    """The classes that a turn with these words belongs to."""
    return [hit.kind for hit in triage(turns([step(*calls, text=text)])[0])]


@pytest.mark.parametrize(("text", "classes"), SAYS)
def test_it_says_so(text, classes):
    assert sorted(classes) == sorted(said(text))


@pytest.mark.parametrize("text", SAYS_NOTHING)
def test_it_only_sounds_like_it(text):
    assert said(text) == []


@pytest.mark.parametrize(("text", "classes"), SAYS)
def test_who_acts_is_not_stuck(text, classes):
    """A call of the same turn did not fail, so every class is silent."""
    assert said(text, call("read", {"path": "a"}, "text")) == []


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("I am blocked here.", ["blocked"]),
        ("Which of the two shall I take?", []),
        ("The service is down and does not answer.", []),
    ],
    ids=["blocked counts", "a question needs a turn without calls", "no outage is near"],
)
def test_beside_a_failed_call(text, classes):
    assert classes == said(text, call("open", {"path": "a"}, "no such file", ok=False))


def test_words_of_an_outage_count_beside_one():
    down = call("fetch", {"url": "x"}, "HTTP 503 Service Unavailable", ok=False)
    text = "The service is down and does not answer."
    assert said(text, down) == ["infrastructure"]
    turn = turns([step(text=text)])[0]
    assert [hit.kind for hit in triage(turn, outage_nearby=True)] == ["infrastructure"]
    assert triage(turn) == ()


def test_an_error_of_the_provider_needs_no_words():
    turn = turns([{"reply": {"error": "connection reset"}}])[0]
    assert [(hit.kind, hit.sentence) for hit in triage(turn)] == [
        ("infrastructure", "connection reset")
    ]


def test_a_hit_names_its_sentence():
    hits = triage(turns([step(text="Two files read. I am blocked here. Sorry.")])[0])
    assert [(hit.kind, hit.sentence) for hit in hits] == [("blocked", "I am blocked here.")]


def test_own_words_leave_out_what_others_said():
    text = 'Read it. He wrote "I am blocked".\n```\ncode\n```\n> quoted\nMine again.'
    assert own_words(text) == ["Read it.", "He wrote  .", "Mine again."]
