"""A recording in every form that it can take, and how what is the same is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import recorded
from harness.clock import VirtualClock
from harness.ending import own_finish
from harness.episode import Episode
from harness.errors import HarnessError
from harness.export.files import held, line_of, plain, yaml_of
from harness.files import Raw, parse
from harness.live import LoopGuard
from harness.llm import RecordedLLM
from harness.loop import run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.turns import Tape, prepare


def read_text(text: str, name: str) -> Scenario:
    """The scenario of a text, through the reader of files."""
    (found,) = parse(Raw(name, 1, text))
    return found


def as_files(data: Mapping[str, Any]) -> dict[str, Scenario]:
    """A recording written in both forms and read again."""
    return {
        "jsonl": read_text(line_of(data), "x.jsonl"),
        "yaml": read_text(yaml_of(data), "x.yaml"),
    }


def seen(scenario: Scenario, under: Preset) -> Any:
    """All of an episode that is compared."""
    episode = run_episode(prepare(scenario, wait_ms=under.wait_ms), under)
    return (
        episode.decisions,
        _measured(episode.series),
        episode.elapsed,
        episode.best,
        episode.message,
        episode.summary,
    )


def _measured(series: Any) -> list[Any]:
    return [(s.guard, [x for x in s.signals if x == x], s.fired_at) for s in series]


def lived(tape: Tape, under: Preset) -> LoopGuard:
    """The recording handed in to a live guard as it stands, until the loop ends.

    Nobody answers roles but the recording's own replies, which are handed in with their steps.
    """
    scenario, reader = tape.scenario, RecordedLLM(tape)
    data = plain(scenario)
    head = {k: v for k, v in data.items() if k not in ("schema", "id", "goal", "steps", "branches")}
    guard = LoopGuard(
        under, goal=scenario.goal, task=head, clock=VirtualClock(), name=scenario.id
    )  # fmt: skip
    number, turn, lists = 1, reader.turn(1), recorded.by_source(data)
    while turn is not None:
        decision = guard.decision
        if decision is not None and decision.ends:
            if turn.user is None:
                break
            try:
                guard.resume(turn.user)
            except HarnessError:
                # It ended for good, whatever the recording goes on with.
                break
        branch, at = turn.source
        step = dict(lists[branch][at - 1])
        if number == 1 and turn.writes is not None:
            # That files are tracked is known only from the first step that says so.
            step.setdefault("writes", [])
        reply = {"ms": "unknown", **step.pop("reply", {})}
        last = reader.turn(number + 1) is None
        stops = last and own_finish(scenario, turn, tape.has_tools)[0]
        decision = guard.observe(**reply, **step, last=stops)
        if decision.name in recorded.BRANCHING and not guard.session.observe:
            reader.switch(decision.name, number)
        number += 1
        turn = reader.turn(number)
    return guard


def check_live(scenario: Scenario, under: Preset) -> None:
    """A live loop that is told a recording decides alike, and records what it was told.

    Not carried, because they did not happen: steps behind the end of the loop (so also the answer
    to a pause, where something else had ended the loop for good), and branches that its decisions
    did not take. Added, because a live loop is told so: that the agent stopped by itself, where a
    recording only lets it be inferred; and from the first step on that files are tracked.
    """
    tape = prepare(scenario, wait_ms=under.wait_ms)
    replay, guard = run_episode(tape, under), lived(tape, under)
    course, end = guard.session.course, replay.decisions[-1]
    assert len(course.decisions) == len(replay.decisions)
    unasked = end.ends and any(each.state == "answered" for each in end.conditions)
    told = -1 if unasked else len(replay.decisions)
    decisions = tuple(course.decisions)
    assert decisions[:told] == replay.decisions[:told]
    assert course.elapsed == list(replay.elapsed)
    assert _measured(guard.session.monitor.series()) == _measured(replay.series)
    found = Scenario.model_validate(guard.recording())
    again = run_episode(prepare(found, wait_ms=under.wait_ms), under)
    assert _happened(found, again) == _happened(scenario, replay)
    assert again.decisions == decisions
    assert _measured(again.series) == _measured(replay.series)
    assert unasked or (again.message, again.summary) == (replay.message, replay.summary)


def _happened(scenario: Scenario, episode: Episode) -> dict[str, Any]:
    """What of a recording its replay has come to, in order; files as they were at each step."""
    data = scenario.model_dump()
    data["recorded"] = {k: v for k, v in data["recorded"].items() if not k.startswith("exit_")}
    lists, turns = recorded.by_source(data), [each.turn for each in episode.iterations]
    steps = [lists[turn.source[0]][turn.source[1] - 1] | {"writes": turn.writes} for turn in turns]
    return {**data, "branches": {}, "steps": steps}


def check_files(data: Mapping[str, Any], unders: list[Preset], *, yaml: bool = True) -> Scenario:
    """A recording is the same data from a file of either form, and replays the same."""
    scenario = Scenario.model_validate(data)
    forms = as_files(data) if yaml else {"jsonl": read_text(line_of(data), "x.jsonl")}
    for form, found in forms.items():
        assert held(plain(found)) == held(plain(scenario)), form
        assert (found, found.content_hash) == (scenario, scenario.content_hash), form
        for under in unders:
            assert seen(found, under) == seen(scenario, under), (form, under.name)
    return scenario
