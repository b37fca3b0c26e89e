from __future__ import annotations

import pytest

from harness.guards.spin import Spin
from tests.examples import at, call, first_fire, holds, signals, step

READ = call("read", {"path": "a"}, "text")
OTHER = call("read", {"path": "b"}, "text")
RATE_LIMITED = call("read", {"path": "a"}, "HTTP 429 Too Many Requests", ok=False)


def runs(*results: str, tool: str = "run") -> list[dict]:
    """The same command once for each result."""
    return [step(call(tool, {"cmd": "make"}, result)) for result in results]


ARGS = Spin(identity="args")
CALL = Spin(on="call")
THOUGHT = Spin(on="thought and call")

FIRES = {
    "the same call three times": at(3, Spin(), 3 * [step(READ)]),
    "after other work": at(4, Spin(), [step(OTHER), *3 * [step(READ)]]),
    "an absent and a null argument are alike": at(
        3, Spin(), [step(READ), step(call("read", {"path": "a", "n": None}, "text")), step(READ)]
    ),
    "no arguments and an empty object are alike": at(
        3, ARGS, [step(call("ls")), step(call("ls", {})), step(call("ls", {"all": None}))]
    ),
    "the order of keys does not matter": at(
        3,
        Spin(),
        [
            step(call("f", {"a": 1, "b": 2})),
            step(call("f", {"b": 2, "a": 1})),
            step(call("f", {"a": 1, "b": 2})),
        ],
    ),
    "order inside a batch does not matter": at(
        3, Spin(), [step(READ, OTHER), step(OTHER, READ), step(READ, OTHER)]
    ),
    "turns without an action do not break a run": at(
        5, Spin(), [step(READ), step(text="Hm."), step(READ), step(), step(READ)]
    ),
    "a waiting call in between is passed over": at(
        4, Spin(), [step(READ), step(READ), step(call("sleep", ms=60_000)), step(READ)]
    ),
    "a transient failure in between is passed over": at(
        4, Spin(), [step(READ), step(READ), step(RATE_LIMITED), step(READ)]
    ),
    "only a process number moves": at(3, Spin(), runs("pid 10: ok", "pid 11: ok", "pid 92: ok")),
    "only a timestamp moves": at(
        3,
        Spin(),
        runs("2026-01-01T10:00:00Z up", "2026-01-01T10:00:07Z up", "2026-01-02T00:00:00Z up"),
    ),
    "only a duration moves": at(3, Spin(), runs("done in 12 ms", "done in 9 ms", "done in 1.5 s")),
    "only an address moves": at(3, Spin(), runs("at 0x7f01", "at 0x7fa2", "at 0x00ff")),
    "only a commit hash moves": at(3, Spin(), runs("a1b2c3d4 ok", "0f1e2d3c ok", "99aa88bb ok")),
    "only a temporary path moves": at(
        3, Spin(), runs("wrote /tmp/x1/log", "wrote /tmp/x2/log", "wrote /tmp/y/log")
    ),
    "only an id in JSON moves": at(
        3, Spin(), runs('{"request_id": "q"}', '{"request_id": "r"}', '{"request_id": 7}')
    ),
    "args alone: other results": at(3, ARGS, runs("1 left", "2 left", "3 left")),
    "action alone: other arguments": at(
        3, Spin(identity="action"), [step(call("read", {"path": p})) for p in "abc"]
    ),
    "the same text": at(3, Spin(on="text"), 3 * [step(text="I will look into it.")]),
    "the same text in other white space and case": at(
        3,
        Spin(on="text"),
        [step(text=t) for t in ("Look  into it", "look into it", "Look into\nit")],
    ),
    "the same error from other calls": at(
        3,
        Spin(identity="error"),
        [step(call("run", {"n": n}, "trace\nKeyError: 'a'", ok=False)) for n in range(3)],
    ),
    "the same output": at(
        4, Spin(on="output"), [step(output="a"), step(), *2 * [step(output="a")]]
    ),
    "single calls: equal ones of one turn count": at(1, CALL, [step(*3 * [READ])]),
    "single calls: waiting is no excuse": at(
        3, CALL, 3 * [step(call("poll", {"id": 1}, "queued", ms=60_000))]
    ),
    "single calls: an outage is no excuse": at(3, CALL, 3 * [step(RATE_LIMITED)]),
    "single calls: a turn of talk in between": at(
        4, CALL, [step(READ), step(READ), step(), step(READ)]
    ),
    "single calls: across a person's message": at(
        3, CALL, [step(READ), step(READ), step(READ, user="Go on.")]
    ),
    "single calls within this turn": at(
        2, Spin(on="call", since="turn"), [step(READ), step(*3 * [READ])]
    ),
    "thought and call": at(3, THOUGHT, 3 * [step(READ, text="I look.")]),
    "the same result of a tool, whatever the arguments": at(
        3, Spin(on="call", identity="result"), [step(call("read", {"p": p}, "no")) for p in "abc"]
    ),
    "all calls of a turn, equal ones counted": at(
        3, Spin(on="turn"), [step(READ, OTHER), step(OTHER, READ), step(READ, OTHER)]
    ),
    "zero is a value": at(1, Spin(threshold=0), [step(READ)]),
}
HOLDS = {
    "twice": holds(Spin(), 2 * [step(READ)]),
    "broken by other work": holds(Spin(), [step(READ), step(READ), step(OTHER), step(READ)]),
    "a counter that moves is progress": holds(Spin(), runs("3 of 9", "4 of 9", "5 of 9")),
    "raw output with a process number": holds(
        Spin(identity="args+result"), runs("pid 10: ok", "pid 11: ok", "pid 12: ok")
    ),
    "other arguments": holds(Spin(), [step(call("read", {"path": p}, "text")) for p in "abc"]),
    "another tool": holds(ARGS, [step(call(t, {"path": "a"})) for t in ("read", "stat", "read")]),
    "one batch of equal calls is one action": holds(Spin(), [step(*5 * [READ])]),
    "a tool that is declared to wait": holds(
        Spin(), runs("queued", "queued", "queued", tool="poll"), tools={"poll": {"waits": True}}
    ),
    "a call that took a minute": holds(
        Spin(), 4 * [step(call("poll", {"id": 1}, "queued", ms=60_000))]
    ),
    "transient failures": holds(Spin(), 4 * [step(RATE_LIMITED)]),
    "talk without an action": holds(Spin(), 5 * [step(text="same")]),
    "single calls: another one in between": holds(CALL, [step(READ), step(READ, OTHER, READ)]),
    "single calls: a person speaks in between": holds(
        Spin(on="call", since="person"), [step(READ), step(READ), step(READ, user="Go on.")]
    ),
    "single calls: nothing is called again": holds(
        Spin(on="call", since="person", threshold=2), [step(READ), step(user="Well?"), step()]
    ),
    "single calls of three turns": holds(Spin(on="call", since="turn"), 4 * [step(READ)]),
    "another thought": holds(THOUGHT, [step(READ, text=text) for text in "abab"]),
    "turns with another number of equal calls": holds(
        Spin(on="turn"), [step(READ), step(READ, READ), step(READ)]
    ),
    "other outputs": holds(Spin(on="output"), [step(output=t) for t in "aabb"]),
    "other texts": holds(Spin(on="text"), [step(text=t) for t in ("one", "two", "one")]),
}
CASES = FIRES | HOLDS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_it_fires(case):
    assert case.at == first_fire(case)


def test_a_call_just_short_of_a_minute_is_no_waiting():
    steps = 3 * [step(call("poll", {"id": 1}, "queued", ms=59_999))]
    assert signals(Spin(), steps) == [1, 2, 3]


def test_without_an_action_it_is_unknown():
    [signal] = signals(Spin(), [step(text="Hello.")])
    assert signal != signal


def test_a_turn_of_talk_is_no_further_repeat_of_a_call():
    """Rules over single calls look when a call is made; a ladder must not climb in between."""
    assert signals(CALL, [step(), step(READ), step(READ), step(), step(READ)])[1:] == [1, 2, 0, 3]
