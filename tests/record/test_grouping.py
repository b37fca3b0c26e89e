"""Which calls belong together, and when they happened."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import prepare
from harness.clock import VirtualClock
from harness.record import Recorder
from tests.openai_server import call, say, serving
from tests.record.agents import (
    REPLIES,
    START,
    TOOLS,
    agent,
    ask,
    check_steps,
    client_of,
    recorded,
    result,
)


def test_two_conversations_at_once(tmp_path: Path) -> None:
    """Same first messages, taken turn about: each reply tells where the next request belongs."""
    path = tmp_path / "a.jsonl"
    script = [say("I am A.", call("look", {}, "a")), say("I am B.", call("look", {}, "b")),
              say("Still A."), say("Still B.")]  # fmt: skip
    with serving(*script) as server, client_of(server, path) as client:
        one, two = list(START), list(START)
        one.append(ask(client, one))
        two.append(ask(client, two))
        ask(client, [*one, result("for A", "a")])
        ask(client, [*two, result("for B", "b")])
    found = recorded(path)
    assert [[s.reply.text for s in each.steps] for each in found] == [
        ["I am A.", "Still A."], ["I am B.", "Still B."],
    ]  # fmt: skip
    assert [each.steps[0].calls[0].result for each in found] == ["for A", "for B"]


def test_the_same_task_again_is_another_episode(tmp_path: Path) -> None:
    with serving(*REPLIES, *REPLIES) as server, client_of(server, tmp_path / "a.jsonl") as client:
        agent(client)
        agent(client)
    one, two = recorded(tmp_path / "a.jsonl")
    check_steps(one)
    check_steps(two)
    assert one.id != two.id


def test_system_messages_may_change_and_replies_be_written_otherwise(tmp_path: Path) -> None:
    with serving(*REPLIES) as server, client_of(server, tmp_path / "a.jsonl") as client:
        messages: list[Any] = list(START)
        for number, reply in enumerate(REPLIES):
            ask(client, [{"role": "system", "content": f"Order {number}"}, *messages[1:]],
                tools=TOOLS)  # fmt: skip
            # Without its text, with arguments spaced otherwise, as some agents write it back.
            calls = [
                call(c["function"]["name"], json.dumps(json.loads(c["function"]["arguments"]),
                                                       indent=2), c["id"])
                for c in reply["calls"]
            ]  # fmt: skip
            messages.append({"role": "assistant", "content": "(thought left out)",
                             "tool_calls": calls})  # fmt: skip
            messages += [result(f"closed {number}", c["id"]) for c in reply["calls"]]
    check_steps(recorded(tmp_path / "a.jsonl")[0])


def test_a_shortened_history_is_known_by_its_call(tmp_path: Path) -> None:
    with serving(*REPLIES[:2]) as server, client_of(server, tmp_path / "a.jsonl") as client:
        first = ask(client, START, tools=TOOLS)
        ask(client, [{"role": "user", "content": "Summary so far: a door."}, first,
                     result("closed 0", "c1")])  # fmt: skip
    (found,) = recorded(tmp_path / "a.jsonl")
    assert [c.result for c in found.steps[0].calls] == ["closed 0"]
    assert len(found.steps) == 2


def test_what_a_person_says_later(tmp_path: Path) -> None:
    for said in ("user", "nudge"):
        path = tmp_path / f"{said}.jsonl"
        with (
            serving(say("Which door?"), say("Done.")) as server,
            client_of(server, Recorder(path, said=said)) as client,  # type: ignore[arg-type]
        ):
            first = ask(client, START)
            parts = [{"type": "text", "text": "The red one."},
                     {"type": "image_url", "image_url": {"url": "data:,"}}]  # fmt: skip
            ask(client, [*START, first, {"role": "user", "content": parts}])
        step = recorded(path)[0].steps[1]
        assert getattr(step, said) == "The red one.\n[image_url]"


def test_time_is_the_replies_and_what_lies_between(tmp_path: Path) -> None:
    clock = VirtualClock()
    left = [*REPLIES, say("Again.")]

    def script(body: dict[str, Any]) -> dict[str, Any]:
        clock.advance(1000)
        return left.pop(0)

    with (
        serving(script=script) as server,
        client_of(server, Recorder(tmp_path / "a.jsonl", clock=clock)) as client,
    ):
        messages: list[Any] = list(START)
        for _ in range(2):
            messages.append(ask(client, messages))
            clock.advance(70)
            messages += [result("r", c["id"]) for c in messages[-1]["tool_calls"]]
        messages.append(ask(client, messages))
        clock.advance(5000)
        ask(client, [*messages, {"role": "user", "content": "And now close it."}])
    (found,) = recorded(tmp_path / "a.jsonl")
    assert [step.reply.ms for step in found.steps] == [1000] * 4
    assert [[c.ms for c in step.calls] for step in found.steps] == [[70], [70, 70], [], []]
    assert [step.idle_ms for step in found.steps] == [0, 0, 0, 5000]
    assert [turn.ms for turn in prepare(found).trunk] == [1070, 1070, 1000, 6000]


# By header, and by idle time


def posted(path: Path, asked: Sequence[tuple[float, str, Any]], **options: Any) -> Recorder:
    """Calls at times in seconds, each with its header and its messages; replies are R0, R1, ..."""
    clock = VirtualClock()
    recorder = Recorder(path, clock=clock, **options)
    script = [say(f"R{n}") for n in range(len(asked))]
    with serving(*script) as server, client_of(server, recorder) as client:
        for at, header, messages in asked:
            clock.advance(round(at * 1000) - clock.now_ms())
            ask(client, messages, extra_headers={"x-harness-episode": header} if header else {})
    return recorder


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def texts(path: Path) -> list[tuple[str, str, list[str]]]:
    return [(each.title, each.goal, [s.reply.text for s in each.steps]) for each in recorded(path)]


SHOTS = [(0, "", [user("a")]), (1, "", [user("b")]), (60, "", [user("c")]), (61, "", [user("d")])]
LATER = [(0, "", [user("a")]), (99, "", [user("a"), said("R0"), user("more")])]


@pytest.mark.parametrize(
    ("asked", "idle_s", "episodes", "rule"),
    [
        (SHOTS, None, [("", "a", ["R0"]), ("", "b", ["R1"]), ("", "c", ["R2"]), ("", "d", ["R3"])],
         "prefix"),
        (SHOTS, 10, [("", "a", ["R0", "R1"]), ("", "c", ["R2", "R3"])], "idle"),
        (LATER, None, [("", "a", ["R0", "R1"])], "prefix"),
        (LATER, 10, [("", "a", ["R0"]), ("", "a", ["R1"])], "idle"),
        ([(at, f"e{n % 2}", m) for n, (at, _, m) in enumerate(SHOTS)], None,
         [("e0", "a", ["R0", "R2"]), ("e1", "b", ["R1", "R3"])], "header"),
        ([(at, "one", m) for at, _, m in SHOTS], 10,
         [("one", "a", ["R0", "R1", "R2", "R3"])], "header"),
    ],
)  # fmt: skip
def test_rules(tmp_path: Path, asked: Any, idle_s: float | None, episodes: Any, rule: str) -> None:
    path = tmp_path / "a.jsonl"
    tally = posted(path, asked, idle_s=idle_s).tally
    assert texts(path) == episodes
    assert tally.episodes == {rule: len(episodes)}
    assert {tag for each in recorded(path) for tag in each.tags} == {"recorded", f"grouped:{rule}"}
    # Replayed without any waiting, and without being told how the calls were put together.
    again = posted(path, [(0, h, m) for _, h, m in asked], mode="none").tally
    assert (again.answered, again.missed, again.drifted) == (len(asked), [], [])


def test_what_a_call_without_history_says_is_the_frameworks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    posted(path, SHOTS[:2], idle_s=10)
    assert [(s.user, s.nudge, s.idle_ms) for s in recorded(path)[0].steps] == [
        (None, None, 0), (None, "b", 1000),
    ]  # fmt: skip


def test_agents_within_one_episode(tmp_path: Path) -> None:
    """A planner and a worker share a header; each result finds the call that asked for it."""
    path = tmp_path / "a.jsonl"
    script = [say("Plan.", call("plan", {}, "p")), say("Work.", call("work", {}, "w")),
              say("Done."), say("Over.")]  # fmt: skip
    header = {"x-harness-episode": "both"}
    with serving(*script) as server, client_of(server, path) as client:
        planned = ask(client, [user("Plan it.")], extra_headers=header)
        worked = ask(client, [user("Work on it.")], extra_headers=header)
        ask(client, [user("Work on it."), worked, result("worked", "w")], extra_headers=header)
        ask(client, [user("Plan it."), planned, result("planned", "p")], extra_headers=header)
    (found,) = recorded(path)
    assert [c.result for s in found.steps for c in s.calls] == ["planned", "worked"]
    assert [s.nudge for s in found.steps] == [None, "Work on it.", None, None]


def test_calls_at_once_within_one_episode(tmp_path: Path) -> None:
    """None has an answer when the next begins; each says what was asked, and no time is idle."""
    path = tmp_path / "a.jsonl"
    clock = VirtualClock()
    clock.advance(5000)
    came = {name: threading.Event() for name in "abc"}
    go = {name: threading.Event() for name in "abc"}

    def script(body: dict[str, Any]) -> dict[str, Any]:
        name = body["messages"][0]["content"]
        came[name].set()
        assert go[name].wait(60)
        return say(f"Re {name}")

    def one(name: str) -> None:
        ask(client, [user(name)], extra_headers={"x-harness-episode": "all"})

    with serving(script=script) as server, client_of(server, Recorder(path, clock=clock)) as client:
        threads = {name: threading.Thread(target=one, args=(name,)) for name in "abc"}
        for name, each in threads.items():
            each.start()
            assert came[name].wait(60)
        for name, each in threads.items():
            go[name].set()
            each.join()
    (found,) = recorded(path)
    assert [(s.user, s.nudge, s.reply.text, s.idle_ms) for s in found.steps] == [
        (None, None, "Re a", 0), (None, "b", "Re b", 0), (None, "c", "Re c", 0),
    ]  # fmt: skip


def test_calls_without_ids_are_told_apart_by_their_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    calls = [call("look", {"at": n}, "") for n in range(2)]
    with serving(say("", *calls), say("Done.")) as server, client_of(server, path) as client:
        first = ask(client, START)
        ask(client, [*START, first, result("r0", ""), result("r1", "")])
    assert [c.result for c in recorded(path)[0].steps[0].calls] == ["r0", "r1"]
