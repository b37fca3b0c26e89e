from __future__ import annotations

import time

import pytest

from harness.passages import MAX_PERIOD, MIN_PASSAGE, repeats

SENTENCE = "I will look at the log file now."


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(0, "", id="nothing"),
        pytest.param(1, SENTENCE, id="once"),
        pytest.param(3, " ".join(3 * [SENTENCE]), id="sentences"),
        pytest.param(3, "\n".join(3 * [SENTENCE]), id="lines"),
        pytest.param(3, "\n".join(3 * ["no full stop at the end"]), id="lines without a stop"),
        pytest.param(2, f"{SENTENCE} A word. {SENTENCE}", id="others in between"),
        pytest.param(2, f"{SENTENCE} {SENTENCE.upper()}", id="case aside"),
        pytest.param(4, 4 * "我现在要去看一下这个日志文件。", id="Chinese"),
        pytest.param(3, 3 * "Is this really the end? ", id="questions"),
        pytest.param(0, 9 * "OK. ", id="too short to be a passage"),
        pytest.param(50, 50 * "and then again ", id="a run of words without a stop"),
        pytest.param(0, "Done." + 900 * " ", id="padding"),
        pytest.param(0, 90 * ". ", id="no words"),
    ],
)
def test_how_often_one_passage_occurs(expected, text):
    assert expected == repeats(text)


REGULAR = {
    "fence": "```\nassert value == 1\nassert value == 1\nassert value == 1\n```",
    "tilde fence": "~~~\nassert value == 1\nassert value == 1\nassert value == 1\n~~~",
    "table": 3 * "| passed | passed |\n",
    "bare table": 3 * "passed | passed | passed\n",
    "dashes": 3 * "- nothing to report\n",
    "stars": 3 * "* nothing to report\n",
    "bullets": 3 * "  • nothing to report\n",
    "numbers": "1. nothing to report\n2. nothing to report\n3) nothing to report\n",
    "headings": 3 * "### Nothing to report\n",
    "quotations": 3 * "> nothing to report\n",
    "rules": 3 * "------------------------\n",
    "double rules": 3 * "========================\n",
}


@pytest.mark.parametrize("text", REGULAR.values(), ids=REGULAR)
def test_what_is_regular_by_nature_does_not_count(text):
    assert repeats(text) == 0
    assert repeats(f"{SENTENCE}\n{text}\n{SENTENCE}") == 2


def test_a_fence_that_is_never_closed_reaches_to_the_end():
    assert repeats(f"{SENTENCE}\n```\n" + 3 * "assert value == 1\n") == 1


def test_a_passage_has_a_least_length():
    long, short = MIN_PASSAGE * "a", (MIN_PASSAGE - 1) * "a"
    assert repeats("\n".join(3 * [long])) == 3
    assert repeats("\n".join(3 * [short])) == 0


def test_the_longest_period_of_a_run_without_stops():
    def words(period: int) -> str:
        return " ".join(6 * [f"w{n}" for n in range(period)])

    assert repeats(words(MAX_PERIOD)) == 6
    assert repeats(words(MAX_PERIOD + 1)) != 6


@pytest.mark.parametrize("text", [200_000 * "a", 100_000 * "ab ", 50_000 * "```\n"])
def test_a_huge_reply_takes_no_long_time(text):
    start = time.perf_counter()
    repeats(text)
    assert time.perf_counter() - start < 5
