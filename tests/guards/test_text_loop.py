from __future__ import annotations

import pytest

from harness.guards.text_loop import TextLoop
from tests.examples import at, first_fire, holds, signals, step

THREE = TextLoop(threshold=3)
SENTENCE = "I will look at the log file now. "


def says(text: str) -> list[dict]:
    return [step(text=text)]


FIRES = {
    "one sentence again and again": at(1, THREE, says(3 * SENTENCE)),
    "with others in between": at(1, THREE, says(f"{SENTENCE}First. {SENTENCE}Second. {SENTENCE}")),
    "white space and case aside": at(
        1, THREE, says("Let me look at it.\nLET me look  at it.\nlet me look at it.")
    ),
    "Chinese sentences": at(1, THREE, says(3 * "我现在要去看一下这个日志文件。")),
    "without a full stop": at(1, THREE, says(60 * "and then again ")),
    "prose around a fence still counts": at(
        1, THREE, says(f"{SENTENCE}\n```\nx = 1\n```\n{SENTENCE}\n{SENTENCE}")
    ),
    "the newest reply is the one": at(2, THREE, [*says("Fine."), *says(3 * SENTENCE)]),
}
HOLDS = {
    "twice": holds(THREE, says(2 * SENTENCE)),
    "once in each of three replies": holds(THREE, 3 * says(SENTENCE)),
    "short words recur in healthy prose": holds(THREE, says("OK. Done. OK. Done. OK. Done.")),
    "a code fence": holds(THREE, says("Here:\n```python\n" + 5 * "assert value == 1\n" + "```")),
    "a fence that is never closed": holds(THREE, says("~~~\n" + 5 * "assert value == 1\n")),
    "a table": holds(THREE, says(5 * "| passed | passed | passed |\n")),
    "a table without outer bars": holds(THREE, says(5 * "passed | passed | passed | passed\n")),
    "a list": holds(THREE, says(5 * "- nothing to report today\n")),
    "a numbered list": holds(
        THREE, says("".join(f"{n}. nothing to report today\n" for n in range(1, 6)))
    ),
    "headings": holds(THREE, says(5 * "## Nothing to report\n")),
    "a quotation": holds(THREE, says(5 * "> nothing to report today\n")),
    "rules": holds(THREE, says(5 * "--------------------------------\n")),
    "padding": holds(THREE, says("Done" + 500 * "\n")),
    "no text": holds(THREE, [step()]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_it_counts_occurrences_of_one_passage():
    assert signals(THREE, [*says(""), *says(SENTENCE), *says(4 * SENTENCE)]) == [0, 1, 4]
