"""The verification gate: when it looks, and what its word is worth."""

from __future__ import annotations

import pytest

from tests.examples import call, step
from tests.mechanisms import asked, end, feed, live, noted, replay, verified

READ = call("read", {"path": "a"}, "text")
NOT_YET = {"verifier": verified(False)}
#: No throttle but the one under test.
OFF = {"every": 99, "after_s": 9999, "token_change": 10**6, "watchdog_s": 9999}


def looks(steps, settings=None, **more):
    """Iteration and trigger of each look, where a reply is always ready."""
    ready = [spec | {"roles": NOT_YET} for spec in steps]
    episode = replay(ready, verification=OFF | (settings or {}), **more)
    return [(n, trigger) for n, event, trigger in noted(episode, "verification") if event == "run"]


def tokens(n: int, **more):
    return step(READ, usage={"input": n - 100, "cache_read": 100}, **more)


@pytest.mark.parametrize(
    ("expected", "every"), [([2, 4, 6], 2), ([3, 6], 3), ([5], 5), ([1, 2, 3, 4, 5, 6], 1)]
)
def test_every_n_iterations(expected, every):
    assert [(n, "maybe") for n in expected] == looks(6 * [step(READ)], {"every": every})


@pytest.mark.parametrize(
    ("expected", "times"),
    [
        ([1], [30_000]),
        ([], [29_999]),
        ([2], [20_000, 10_000]),
        ([1, 3], [30_000, 29_000, 1000]),
    ],
    ids=["from the start", "not yet", "adds up", "since the last one"],
)
def test_thirty_seconds(expected, times):
    steps = [step(READ, ms=ms) for ms in times]
    assert [(n, "maybe") for n in expected] == looks(steps, {"after_s": 30})


@pytest.mark.parametrize(
    ("expected", "sizes"),
    [
        ([2], [1000, 1501]),
        ([], [1000, 1500]),
        ([2], [1000, 499]),
        ([], [1000, 500]),
        ([3], [1000, 1300, 1600]),
        ([2], [1000, 1600, 2000]),
    ],
    ids=["more", "just not", "less", "just not less", "little by little", "since the last one"],
)
def test_a_change_of_the_prompt(expected, sizes):
    steps = [tokens(n) for n in sizes]
    assert [(n, "maybe") for n in expected] == looks(steps, {"token_change": 500})


def test_unknown_tokens_are_no_change():
    assert looks([tokens(1000), step(READ), tokens(1400)], {"token_change": 500}) == []


def test_the_agent_asks():
    asks = step(call("request_verification", {}, "ok"))
    assert looks([step(READ), asks]) == [(2, "request")]


def test_a_handler_asks_now():
    assert looks([step(READ, handler={"verify": "checked by hand"})]) == [(1, "now")]


@pytest.mark.parametrize(
    ("expected", "spec"),
    [
        ([(2, "watchdog")], step(READ, ms=10, idle_ms=120_000)),
        ([], step(READ, ms=10, idle_ms=119_000)),
        ([(2, "watchdog")], step(READ, ms=125_000)),
        ([], step(call("wait", {}, "ok", ms=125_000), ms=10)),
        ([(2, "watchdog")], step(call("slow", {}, "ok", ms=125_000), ms=10)),
        ([(2, "watchdog")], step(call("wait", {}, "ok", ms=10_000), ms=10, idle_ms=120_000)),
    ],
    ids=[
        "in idle time",
        "not yet",
        "in a long reply",
        "suspended while a declared waiting tool runs",
        "not while another slow one does",
        "idle time beside waiting",
    ],
)
def test_the_watchdog(expected, spec):
    tools = {"wait": {"waits": True}, "slow": {}, "read": {}}
    assert expected == looks([step(READ, ms=10), spec], {"watchdog_s": 120}, tools=tools)


def test_the_watchdog_is_a_limit_of_the_task():
    steps = [step(READ, ms=10), step(READ, ms=10, idle_ms=7000)]
    assert looks(steps, limits={"watchdog_s": 7}) == [(2, "watchdog")]


def test_satisfied_is_verified():
    steps = [step(READ), step(READ, roles={"verifier": verified(True)}), step(READ)]
    assert end(replay(steps, verification={"every": 2})) == ("verified", 2)


def test_satisfied_beside_an_open_check_is_vetoed():
    phases = [{"id": "p", "checks": [{"id": "f", "kind": "file_exists", "path": "a.md"}]}]
    yes = {"verifier": verified(True)}
    steps = [step(READ, roles=yes), step(READ, roles=yes, writes=["a.md"])]
    episode = replay(steps, verification={"every": 1}, phases=phases)
    assert end(episode) == ("verified", 2)
    assert [(c.kind, c.state) for c in episode.decisions[0].conditions] == [("verified", "vetoed")]


@pytest.mark.parametrize(
    "reply",
    [
        "Satisfied.",
        '{"satisfied": "true", "reasoning": "r"}',
        '{"satisfied": true}',
        verified(True) + verified(True),
        verified(True, evidence="a.md"),
        verified(True, evidence_ops=[{"op": "steal", "item": "a"}]),
        verified(True, completed_task_index=-1),
    ],
)
def test_it_parses_strictly_and_never_fails_open(reply):
    episode = replay([step(READ, roles={"verifier": reply})], verification={"every": 1})
    assert noted(episode, "verification") == [(1, "parse_failure", "maybe")]
    assert end(episode) == ("recording_exhausted", 1)


def test_evidence_is_added_removed_and_carried_on():
    first = verified(False, evidence=["a", "b"], next_movements=["Run c."])
    ops = [{"op": "remove", "item": "a"}, {"op": "add", "item": "c"}]
    second = verified(False, evidence_ops=ops, next_movements=["Run d."])
    session = live({"verifier": [first, second]}, verification={"every": 1}, work_order=True)
    feed(session, [step(READ)])
    assert "Next movements:\n- Run c.\nEvidence so far:\n- a\n- b\n" in session.work_order()
    feed(session, [step(READ)])
    assert "Next movements:\n- Run d.\nEvidence so far:\n- b\n- c\n" in session.work_order()


def test_unrecorded_it_abstains_and_its_throttle_starts_anew():
    episode = replay(4 * [step(READ)], verification={"every": 2})
    assert noted(episode, "verification") == [
        (1, "skip", "maybe"),
        (2, "abstain", "maybe"),
        (3, "skip", "maybe"),
        (4, "abstain", "maybe"),
    ]
    assert episode.unrecorded_calls == 2
    assert asked(episode, "verifier") == []
