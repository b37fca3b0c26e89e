"""Live and replay agree: the object that was tested is the object that runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from harness.clock import VirtualClock
from harness.ending import own_finish
from harness.episode import Series
from harness.errors import HarnessError
from harness.guards import Guard
from harness.live import LoopGuard
from harness.llm import RecordedLLM
from harness.loop import run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.task import Task
from harness.testing._subject import preset_of, quiet, scenarios_of
from harness.trace import Turn
from harness.turns import Tape, prepare
from harness.verdicts import Condition, Decision

#: What a recording holds and a live loop is not told: roles are asked, hashes are of requests.
_UNTOLD = ("judge", "roles")
_BESIDE = ("goal", "schema", "id")


def check_parity(
    subject: Guard | Preset | str, scenarios: Iterable[Scenario] | None = None
) -> None:
    """Check that a live loop decides as a replay of the same steps does.

    Each scenario is replayed; then its steps are fed to a ``LoopGuard`` one by one, as a live
    loop would: ``observe``, ``resume`` after a pause that a person answers, a virtual clock, the
    roles answered by the recording. Then the live loop's ``recording()`` is replayed. All three
    must have the same decision, conditions, exit reason and signals at every iteration.

    A live loop always knows how much time has passed; so times that a scenario leaves out are
    taken as zero. A recording may hold an answer to a pause beside which something else ended the
    loop for good; a live loop is never asked for it, and that is no difference.

    Args:
        subject: A guard, a preset, or a preset's name or file. A guard by itself is checked
            beside a judge and goal continuity, acting and observing.
        scenarios: What is replayed; left out: the hand-written scenarios that come with
            the harness, and ``made_scenarios()``.

    Raises:
        AssertionError: They differ; names preset, scenario, iteration, and both sides.
        HarnessError: No such preset, or no scenario.
    """
    preset = preset_of(subject)
    presets = [preset, preset.observed()] if isinstance(subject, Guard) else [preset]
    with quiet():
        for scenario in scenarios_of(scenarios):
            timed = as_told(scenario)
            for each in presets:
                _check(prepare(timed, wait_ms=each.wait_ms), each)


def _check(tape: Tape, preset: Preset) -> None:
    where = f"{preset.name} on scenario {tape.scenario.id}: parity: "
    replay = run_episode(tape, preset)
    guard = drive(tape, preset)
    decisions, series = guard.session.course.decisions, guard.session.monitor.series()
    _same(where, "the live loop", (replay.decisions, replay.series), (decisions, series))
    recording = Scenario.model_validate(guard.recording())
    again = run_episode(prepare(recording, wait_ms=preset.wait_ms), preset)
    words = "the replay of the live loop's recording"
    _same(where, words, (replay.decisions, replay.series), (again.decisions, again.series))


def as_told(scenario: Scenario) -> Scenario:
    """The scenario as a live loop would record it: an unrecorded time is the zero on its clock."""
    data = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    branches = data.get("branches", {})
    for steps in (data["steps"], *(each for lists in branches.values() for each in lists)):
        for step in steps:
            reply = step.setdefault("reply", {})
            reply.pop("request_hash", None)
            if "ms" not in reply:
                reply["ms"] = 0
                for call in step.get("calls", ()):
                    call.setdefault("ms", 0)
    return Scenario.model_validate(data)


def drive(tape: Tape, preset: Preset) -> LoopGuard:
    """Hand a recording's turns to a live guard one by one, as an agent would.

    Args:
        tape: The recording, made ready by ``harness.prepare``.
        preset: What guards the loop.

    Returns:
        The guard after its last iteration: the loop ended for good, or the recording did.
    """
    scenario, recorded = tape.scenario, RecordedLLM(tape)
    raw = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    task = {key: raw[key] for key in Task.model_fields if key in raw and key not in _BESIDE}
    guard = LoopGuard(
        preset, goal=scenario.goal, task=task, llm=recorded, clock=VirtualClock(), name=scenario.id
    )
    sources = {"": raw["steps"]} | {
        f"{kind}[{n}]": steps
        for kind, lists in raw.get("branches", {}).items()
        for n, steps in enumerate(lists)
    }
    number, turn = 1, recorded.turn(1)
    while turn is not None:
        if guard.decision is not None and guard.decision.ends and not _resumed(guard, turn):
            break
        branch, at = turn.source
        # A replay knows what a live loop is told: that the agent stopped by itself.
        last = recorded.turn(number + 1) is None
        own_stop = last and own_finish(scenario, turn, tape.has_tools)[0]
        decision = guard.observe(**_observed(sources[branch][at - 1], turn), last=own_stop)
        if decision.name in ("switch_strategy", "delegate") and not guard.session.observe:
            recorded.switch(decision.name, number)
        number += 1
        turn = recorded.turn(number)
    return guard


def _resumed(guard: LoopGuard, turn: Turn) -> bool:
    """Whether a person answered the pause that ended the loop."""
    if turn.user is None:
        return False
    try:
        guard.resume(turn.user)
    except HarnessError:
        # It ended for good, whatever the recording goes on with.
        return False
    return True


def _observed(step: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """A recorded step as the arguments of ``observe``."""
    told = {key: value for key, value in step.items() if key not in _UNTOLD}
    reply = told.pop("reply", {})
    reply.pop("request_hash", None)
    if turn.writes is not None:
        told["writes"] = sorted(turn.writes)
    return {**reply, **told}


_Seen = tuple[Sequence[Decision], Sequence[Series]]


def _same(where: str, other: str, expected: _Seen, found: _Seen) -> None:
    """Compare iteration by iteration; the first difference is told."""
    (decisions, series), (decided, measured) = expected, found
    names = [one.guard for one in series]
    if names != [one.guard for one in measured]:
        raise AssertionError(
            f"{where}the replay measures {names}, {other} {[one.guard for one in measured]}"
        )
    for number, (one, two) in enumerate(zip(decisions, decided, strict=False), 1):
        for replayed, live in zip(series, measured, strict=True):
            told = [_told(each, number - 1) for each in (replayed, live)]
            if told[0] != told[1]:
                raise AssertionError(
                    f"{where}{replayed.guard} is {told[0]} in iteration {number} of the replay, "
                    f"and {told[1]} in {other}"
                )
        if (one.path, one.name, one.exit, one.ends) != (two.path, two.name, two.exit, two.ends):
            raise AssertionError(
                f"{where}iteration {number} of the replay is decided as {_words(one)}, {other} "
                f"as {_words(two)}"
            )
        if _standing(one) != _standing(two):
            raise AssertionError(
                f"{where}the conditions of iteration {number} are {list(one.conditions)} in the "
                f"replay, and {list(two.conditions)} in {other}"
            )
    if len(decisions) != len(decided):
        raise AssertionError(
            f"{where}the replay ends after iteration {len(decisions)}, {other} after {len(decided)}"
        )


def _standing(decision: Decision) -> tuple[Condition, ...]:
    """Its conditions; a pause that is answered after the loop has ended is not answered."""
    if not decision.ends:
        return decision.conditions
    return tuple(
        replace(each, state="true") if each.state == "answered" else each
        for each in decision.conditions
    )


def _told(series: Series, at: int) -> tuple[object, str]:
    signal = series.signals[at]
    state = "fired" if series.fired[at] else "unknown" if series.unknown[at] else "quiet"
    return "unknown" if signal != signal else signal, state


def _words(decision: Decision) -> str:
    return f"{decision.name} ({decision.exit})" if decision.exit else decision.name
