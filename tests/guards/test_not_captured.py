"""What was not captured is unknown: no guard compares an absent text, argument or result."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest

from harness import load_preset
from harness.exits import ExitReason
from harness.guards import Guard
from harness.guards.cycle import Cycle
from harness.guards.no_progress import NoProgress
from harness.guards.oscillation import Oscillation
from harness.guards.recurrence import Recurrence
from harness.guards.repeated_error import RepeatedError
from harness.guards.repeated_failure import RepeatedFailure
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.guards.text_loop import TextLoop
from harness.guards.tool_spin import ToolSpin
from harness.guards.transient_errors import TransientErrors
from harness.loop import run_episode
from harness.turns import prepare
from tests.examples import call, scenario, signals, step

#: A span of a tool without its arguments and its result; one that failed.
SH, LS = call("sh"), call("ls")
LOST = call("sh", ok=False)
TOLD = call("sh", {"cmd": "make"}, "a result of more than forty characters, all of it new")
ASKED = call("sh", {"cmd": "make"})


def unseen(guard: Guard, steps: list[dict[str, Any]]) -> list[float | None]:
    """Its signals where content was not captured, ``None`` where they are unknown."""
    found = signals(guard, steps, content_captured=False, tools=["sh", "ls"])
    return [None if isnan(signal) else signal for signal in found]


@pytest.mark.parametrize(
    ("guard", "steps"),
    [
        (Spin(), [step(SH)]),
        (Spin(identity="args"), [step(SH)]),
        (Spin(identity="args+result"), [step(ASKED)]),
        (Spin(identity="result"), [step(ASKED)]),
        (Spin(on="text"), [step()]),
        (Spin(on="call"), [step(SH)]),
        (Spin(on="call", since="person"), [step(SH)]),
        (Spin(on="turn"), [step(SH, LS)]),
        (Spin(on="thought and call", identity="action"), [step(SH)]),
        (Cycle(), [step(SH), step(LS)]),
        (Oscillation(threshold=4, on="action"), [step(SH), step(LS)]),
        (Recurrence(threshold=4), [step(SH)]),
        (Recurrence(threshold=4, on="call"), [step(SH)]),
        (ToolSpin(threshold=3), [step(SH)]),
        (RepeatedFailure(threshold=3), [step(LOST)]),
        (RepeatedError(), [step(LOST)]),
        (TransientErrors(threshold=3), [step(LOST)]),
        (NoProgress(), [step(SH)]),
        (Repetition(on=("reply",)), [step(SH)]),
        (TextLoop(threshold=3), [step(SH)]),
    ],
)  # fmt: skip
def test_what_compares_it_is_unknown(guard: Guard, steps: list[dict[str, Any]]) -> None:
    assert unseen(guard, 5 * steps) == 5 * len(steps) * [None]


@pytest.mark.parametrize(
    ("guard", "steps", "expected"),
    [
        (Spin(identity="action"), 3 * [step(SH)], [1, 2, 3]),
        (Spin(on="call", identity="action"), [step(SH, SH), step(LS)], [2, 1]),
        (ToolSpin(threshold=3), 3 * [step(ASKED)], [1, 2, 3]),
        (Spin(identity="args"), 3 * [step(ASKED)], [1, 2, 3]),
        (RepeatedFailure(threshold=3, identity="any"), 3 * [step(LOST)], [1, 2, 3]),
        (RepeatedFailure(threshold=3, identity="action"), 2 * [step(LOST)], [1, 2]),
        (RepeatedError(), [step(SH)], [0]),
        (NoProgress(progress_counts="any_success"), [step(SH), step(LOST)], [0, 1]),
        (NoProgress(), [step(LOST), step(LOST)], [1, 2]),
        (TextLoop(threshold=3), [step(text="Fine.")], [0]),
    ],
)
def test_what_is_known_all_the_same_counts(
    guard: Guard, steps: list[dict[str, Any]], expected: list[float]
) -> None:
    assert unseen(guard, steps) == expected


@pytest.mark.parametrize(
    ("guard", "steps", "expected"),
    [
        (Spin(), [step(TOLD), step(TOLD), step(SH), step(TOLD)], [1, 2, None, 1]),
        (Spin(), [step(TOLD), step(SH, TOLD), step(), step(TOLD)], [1, None, None, 1]),
        (Spin(on="text"), [step(text="a"), step(text="a"), step(), step(text="a")],
         [1, 2, None, 1]),
        (ToolSpin(threshold=3), [step(ASKED), step(ASKED), step(SH), step(ASKED)],
         [1, 2, None, 1]),
        (RepeatedFailure(threshold=3), [step({**ASKED, "ok": False}), step(SH),
         step({**ASKED, "ok": False})], [1, None, 1]),
        (NoProgress(), [step(TOLD), step(TOLD), step(SH), step(TOLD)], [0, 1, None, None]),
        (NoProgress(), [step(SH), step(TOLD), step(TOLD)], [None, 0, 1]),
        (RepeatedError(), [step(LOST), step(SH)], [None, 0]),
    ],
)  # fmt: skip
def test_a_run_that_something_unknown_breaks_begins_anew(
    guard: Guard, steps: list[dict[str, Any]], expected: list[float | None]
) -> None:
    """It may have been something else, so that the count is what is certain."""
    assert unseen(guard, steps) == expected


@pytest.mark.parametrize(
    ("fields", "reason", "iterations"),
    [
        ({}, ExitReason.SPIN, 3),
        # A tag says the same to a reader, and influences no replay.
        ({"tags": ["content:none"]}, ExitReason.SPIN, 3),
        ({"content_captured": False}, ExitReason.RECORDING_EXHAUSTED, 10),
    ],
)
def test_spans_without_content_are_no_loop(
    fields: dict[str, Any], reason: ExitReason, iterations: int
) -> None:
    steps = 10 * [step(SH, ms=5)]
    episode = run_episode(prepare(scenario(steps, tools=["sh"], **fields)), load_preset("balanced"))
    assert (episode.exit_reason, len(episode.iterations)) == (reason, iterations)


def test_it_counts_as_content_of_the_scenario_only_where_it_is_said() -> None:
    plain, said = scenario([step(SH)]), scenario([step(SH)], content_captured=True)
    assert plain.content_hash == said.content_hash
    assert plain.content_hash != scenario([step(SH)], content_captured=False).content_hash
