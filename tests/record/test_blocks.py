"""Agents with one task get their own answers; what a block takes, and what it tells at its end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import openai
import pytest

from harness import HarnessError
from harness.record import Recorder, cassette, recording
from tests.openai_server import say, serving
from tests.record.agents import REPLIES, START, agent, recorded
from tests.record.test_modes import client, record

ROLES = {"Plan.": ["P1", "P2"], "Check.": ["C1", "C2"]}


def role(asking: openai.OpenAI, system: str, model: str = "m") -> list[str]:
    """One of two agents that are given the same task."""
    talk: list[Any] = [{"role": "system", "content": system}, START[1]]
    heard = []
    for _ in range(2):
        made = asking.chat.completions.create(model=model, messages=talk)
        heard.append(str(made.choices[0].message.content))
        talk += [{"role": "assistant", "content": heard[-1]}, {"role": "user", "content": "And?"}]
    return heard


def both(asking: openai.OpenAI, order: tuple[str, ...], at_once: bool, model: str = "m") -> Any:
    heard: dict[str, list[str]] = {}
    agents = [
        threading.Thread(target=lambda each=each: heard.update({each: role(asking, each, model)}))
        for each in order
    ]
    for each in agents:
        each.start()
        if not at_once:
            each.join()
    for each in agents:
        each.join()
    return heard


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("model", ["m", "other"])
@pytest.mark.parametrize("order", [("Plan.", "Check."), ("Check.", "Plan.")])
def test_agents_with_one_task_get_their_own_answers(
    tmp_path: Path, at_once: bool, model: str, order: tuple[str, ...]
) -> None:
    path = tmp_path / "a.jsonl"

    def script(body: dict[str, Any]) -> Any:
        replies = ROLES[body["messages"][0]["content"]]
        return say(replies[len(body["messages"]) // 2 - 1])

    with serving(script=script) as server, recording(path), server.client() as asking:
        assert both(asking, ("Plan.", "Check."), at_once) == ROLES
    with cassette(path) as tape, client() as asking:
        assert both(asking, order, at_once, model) == ROLES
    assert len(tape.tally.drifted) == (0 if model == "m" else 4)


@pytest.mark.parametrize("block", [recording, cassette])
def test_a_recorder_goes_in_place_of_the_path(tmp_path: Path, block: Any) -> None:
    path = tmp_path / "a.jsonl"
    tape = Recorder(path, mode="once", name="mine")
    with serving(*REPLIES) as server, block(tape) as made, server.client() as asking:
        agent(asking)
    assert (made, tape.tally.recorded, recorded(path)[0].family) == (tape, 3, "mine")
    words = f"{block.__name__}: mode: say it to the Recorder that is given"
    with pytest.raises(HarnessError, match=words), block(tape, mode="all"):
        pass


def test_a_block_in_which_nothing_was_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients that are not on httpx2 went past it."""
    path = tmp_path / "a.jsonl"
    record(path, *REPLIES)
    words = "no model was asked through it; it sees clients on httpx2 only"
    with pytest.raises(HarnessError, match=rf"cassette .*a\.jsonl: {words}"), cassette(path):
        pass
    with pytest.raises(ZeroDivisionError), cassette(path):
        _ = 1 / 0
    with recording(path):
        pass
    assert f"recording {path}: {words}" in caplog.text
