"""How what happened is written down as a scenario, so that a replay finds it where it was.

The way back is ``harness.turns``: from a scenario to what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.llm import RecordedLLM
from harness.scenario import Recorded, Scenario, Step
from harness.task import json_numbers
from harness.trace import Reply, Usage
from harness.turns import prepare
from harness.validation import problem
from harness.verdicts import Decision

#: Decisions after which the recording goes on in a branch of this kind.
BRANCHING = ("switch_strategy", "delegate")
#: Keys of a recording that are no keys of ``task``; how it ended is no part of what goes on.
_NO_TASK = ("schema", "id", "goal", "steps", "branches", "recorded")
#: How a loop ended whose agent stopped by itself, with nothing decided.
OWN_STOP = Recorded(exit_reason=ExitReason.AGENT_FINISHED)


def counts(usage: Usage | None) -> dict[str, int] | None:
    """Token counts as a scenario has them."""
    if usage is None:
        return None
    return {name: getattr(usage, name) for name in Usage.__slots__}


def recorded_reply(reply: Reply) -> dict[str, Any]:
    """A role's reply as a scenario has it."""
    return known(
        text=reply.text, model=reply.model, ms=reply.ms,
        usage=counts(reply.usage), finish_reason=reply.finish_reason,
        request_hash=reply.request_hash, error=reply.error,
    )  # fmt: skip


def known(**values: Any) -> dict[str, Any]:
    """What is known of these values, as a scenario has it: what is unknown is left out."""
    return {key: value for key, value in values.items() if value is not None}


def added(told: Mapping[str, Sequence[Reply]], asked: Sequence[Reply]) -> dict[str, list[Reply]]:
    """What a model said in an iteration, by role, beyond the replies that were handed in.

    Args:
        told: Replies handed in, which answer first.
        asked: Replies that the iteration's roles gave, in the order of asking.
    """
    found: dict[str, list[Reply]] = {}
    for reply in asked:
        found.setdefault(reply.role, []).append(reply)
    found = {role: replies[len(told.get(role, ())) :] for role, replies in found.items()}
    return {role: replies for role, replies in found.items() if replies}


def with_roles(data: Mapping[str, Any], new: Mapping[str, Sequence[Reply]]) -> dict[str, Any]:
    """The step with the replies that a model gave, as a recording holds them.

    Args:
        data: The step as it was observed; replies handed in stay as they are.
        new: What a model said beyond them, by role.
    """
    # A copy: what the caller does with its arguments later happened later.
    found: dict[str, Any] = json_numbers(data)
    roles = found.get("roles", {})
    for role, replies in new.items():
        made = [recorded_reply(reply) for reply in replies]
        before = roles.get(role, [])
        if role == "judge" and not before:
            found["judge"] = made[0]
        else:
            roles[role] = [*(before if isinstance(before, list) else [before]), *made]
    return {**found, "roles": roles} if roles else found


def assembled(
    head: Mapping[str, Any],
    steps: Sequence[dict[str, Any]],
    decisions: Sequence[Decision],
    *,
    observe: bool,
) -> dict[str, Any]:
    """A scenario of these steps; what followed a switch or a delegation goes into branches.

    Args:
        head: Every other key of the scenario.
        steps: In the order in which they happened.
        decisions: One for each step.
        observe: Decisions were only recorded, so that nothing branched.
    """
    trunk: list[dict[str, Any]] = []
    branches: dict[str, list[list[dict[str, Any]]]] = {}
    target = trunk
    writes: list[str] | None = None
    for step, decision in zip(steps, decisions, strict=True):
        writes = step.get("writes", writes)
        # A branch is read by itself: what its first step leaves out would be forgotten.
        begins = target is not trunk and not target and writes is not None
        target.append({**step, "writes": writes} if begins else step)
        if not observe and decision.name in BRANCHING:
            target = []
            branches.setdefault(decision.name, []).append(target)
    filled = {kind: [b for b in lists if b] for kind, lists in branches.items()}
    filled = {kind: lists for kind, lists in filled.items() if lists}
    return {**head, "steps": trunk, **({"branches": filled} if filled else {})}


def by_source(recording: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The lists of steps of a scenario under the names that ``Turn.source`` gives them."""
    found = {"": recording["steps"]}
    for kind, lists in recording.get("branches", {}).items():
        found |= {f"{kind}[{n}]": steps for n, steps in enumerate(lists)}
    return found


def task_of(recording: Mapping[str, Any]) -> dict[str, Any]:
    """What of a recording a loop that goes on with it takes as its task."""
    return {key: value for key, value in recording.items() if key not in _NO_TASK}


def stopped(head: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a recording whose agent stopped by itself with the last step."""
    own_stop = OWN_STOP.model_dump(mode="json", exclude_defaults=True)
    return {**head, "recorded": {**head.get("recorded", {}), **own_stop}}


def walk(recording: Mapping[str, Any], take: Callable[[dict[str, Any], bool], Decision]) -> None:
    """Hand on a recording's steps one by one, along the branches that the decisions take.

    Args:
        recording: A scenario; one of a loop before its first turn has no steps yet.
        take: Given a step, and whether the agent stopped by itself with it; says what is decided
            after it.
    """
    if not recording["steps"]:
        return
    scenario = Scenario.model_validate(recording)
    tape = RecordedLLM(prepare(scenario))
    stops = scenario.recorded.exit_reason is OWN_STOP.exit_reason
    data = by_source(recording)
    length = sum(map(len, data.values()))
    number, turn = 1, tape.turn(1)
    while turn is not None:
        branch, at = turn.source
        decision = take(data[branch][at - 1], stops and number == length)
        if decision.name in BRANCHING:
            tape.switch(decision.name, number)
        number += 1
        turn = tape.turn(number)


def checked_head(head: dict[str, Any]) -> dict[str, Any]:
    """Every key of a scenario but its steps, if they keep the format.

    Raises:
        HarnessError: They do not; names the key.
    """
    try:
        Scenario.model_validate({**head, "steps": [{}]})
    except ValidationError as error:
        raise HarnessError(f"loop {head.get('id')}: task{problem(error)}") from None
    return dict(head)


def checked_step(name: str, number: int, data: dict[str, Any]) -> Step:
    """One step of a live loop, if it keeps the format.

    Args:
        name: Id of the loop, for the message.
        number: Of the iteration.
        data: The step.

    Raises:
        HarnessError: It does not; names the key.
    """
    try:
        return Step.model_validate(data)
    except ValidationError as error:
        raise HarnessError(f"loop {name}: iteration {number}{problem(error)}") from None
