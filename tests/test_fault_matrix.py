"""Ten thousand faulty replies of a judge: none of them ends a loop."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from harness.judge import ParseFailure, parse
from harness.preset import load_preset
from tests.examples import run, step
from tests.faults import FAULTS, GOOD, replies

N = 13_000
#: The one fault that obeys the format: it parses, and its done does not count.
WELL_FORMED = {"no_evidence"}


def outcome(text: str) -> str:
    try:
        verdict = parse(text, has_phases=True)
    except ParseFailure:
        return "refused"
    return "done" if verdict.done or verdict.phase_done else "read, not done"


def test_none_of_them_is_done():
    seen = Counter((fault, outcome(text)) for fault, text in replies(N, seed=1811))
    assert sum(seen.values()) >= 10_000
    wanted = {
        (fault.__name__, "read, not done" if fault.__name__ in WELL_FORMED else "refused")
        for fault in FAULTS
    }
    assert wanted == set(seen)


def test_the_reply_that_they_are_made_of_is_fine():
    assert outcome(json.dumps(GOOD)) == "done"


def test_the_same_seed_gives_the_same_replies():
    assert list(replies(200, seed=7)) == list(replies(200, seed=7))
    assert list(replies(200, seed=7)) != list(replies(200, seed=8))


@pytest.mark.parametrize("size", range(len(json.dumps(GOOD))))
def test_cut_at_every_length(size):
    assert outcome(json.dumps(GOOD)[:size]) == "refused"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_whole_loop_of_one_fault_ends_without_success(fault):
    """Through the session: three in a row are given up on, and no success is ever claimed."""
    texts = [text for name, text in replies(13 * 8, seed=3) if name == fault.__name__]
    steps = [step(text=f"Round {n}.", output=f"Draft {n}.", judge=t) for n, t in enumerate(texts)]
    episode = run(steps, load_preset("engine"), phases=[{"id": "only"}])
    assert episode.exit_group != "success"
    if fault.__name__ not in WELL_FORMED:
        assert (str(episode.exit_reason), episode.exit_iteration) == ("evaluator_unparseable", 3)
