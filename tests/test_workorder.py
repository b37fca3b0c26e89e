"""The text ahead of the actor's input."""

from __future__ import annotations

from harness.lessons import Entry, FeedbackLog
from harness.trace import Lesson
from harness.workorder import Orders, work_order


def order(orders: Orders | None = None, **more) -> str:
    given = {"iteration": 1, "limit": 20, "goal": "Write it.", "phase": None, "open_checks": (),
             "lessons": ()}  # fmt: skip
    return work_order(orders or Orders(), **given | more)


RULES = """\
Rules:
- Do not claim that the whole task is done while a phase is open.
- Do not skip checks.
- Return concrete evidence: output, files, test results."""


def test_the_first_one():
    assert order() == f"Work order: iteration 1 of 20\nGoal: Write it.\n{RULES}"


def test_without_a_limit():
    assert order(limit=None, iteration=7).startswith("Work order: iteration 7\n")


def test_everything_in_its_place():
    lesson = Lesson("guessed a path", "guessing", "list first")
    orders = Orders(
        message="Use the blue cover.",
        tried=["Shorten it.", "Rewrite\nchapter  two."],
        movements=["Run check.py."],
        evidence=["a.md, 40 lines"],
        sections=["<perception-7f>\nTopics: covers\n</perception-7f>", "Reflection:\n- slower"],
    )
    text = order(
        orders, iteration=3, phase="text", open_checks=["text/words: file a.md"],
        lessons=[Entry(2, "r", "none", lesson)],
    )  # fmt: skip
    assert text == (
        f"""\
Work order: iteration 3 of 20
Goal: Write it.
Phase: text (locked until its checks hold)
Checks still open:
- text/words: file a.md
These did not work; take another approach:
- Shorten it.
- Rewrite chapter two.
Lessons so far:
- guessed a path; guessing; list first
Message from the person: Use the blue cover.
Next movements:
- Run check.py.
Evidence so far:
- a.md, 40 lines
<perception-7f>
Topics: covers
</perception-7f>
Reflection:
- slower
{RULES}"""
    )


def test_what_was_tried_is_cut_and_named_once():
    orders = Orders(tried=["again", *(f"way {n}" for n in range(12)), "again", "x" * 500])
    lines = order(orders).split("These did not work; take another approach:\n")[1].splitlines()
    shown = [line for line in lines if line.startswith("- ")][:10]
    assert shown == [*(f"- way {n}" for n in range(4, 12)), "- again", "- " + "x" * 159 + "…"]


def test_the_same_state_gives_the_same_text():
    assert order(Orders(tried=["a", "b"])) == order(Orders(tried=["a", "b"]))


def test_the_feedback_log_keeps_the_last_ones():
    log = FeedbackLog(2)
    for number in range(4):
        log.record(Entry(number, None, None, Lesson(f"m{number}", None, None)))
    assert [entry.iteration for entry in log.entries] == [2, 3]
    none = FeedbackLog(0)
    none.record(Entry(1, None, None, Lesson("m", None, None)))
    assert list(none.entries) == []
