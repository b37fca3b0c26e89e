"""From scenario file to turns: everything that can be known before a guard looks.

Fingerprints, normalised results, error signatures, prices and times are worked out here,
once for each scenario, so that a loop under any preset only compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from harness import prices
from harness.fingerprint import (
    DEFAULT_IDENTITY,
    IDENTITIES,
    call_prints,
    canonical,
    captured_prints,
    digest,
    is_transient,
    result_print,
)
from harness.passages import repeats
from harness.scenario import CallSpec, Passed, ReplySpec, Scenario, Step
from harness.task import Tool
from harness.trace import Call, Reply, Text, Turn, Usage

#: A call that takes this long was waiting (SPEC: waiting is not looping).
WAIT_MS = 60_000
_NO_TOOL = Tool()


@dataclass(frozen=True, slots=True)
class Tape:
    """A scenario made ready to replay: the trunk and the branches as turns.

    ``has_tools`` is ``None`` where nobody said whether the agent has tools; ``memo`` is for signals
    that depend on nothing but the turns. ``hashed``: requests can be checked for drift.
    """

    scenario: Scenario
    trunk: tuple[Turn, ...]
    branches: Mapping[str, tuple[tuple[Turn, ...], ...]]
    has_tools: bool | None
    hashed: bool = False
    memo: dict[tuple[object, ...], float] = field(default_factory=dict, compare=False)


def prepare(scenario: Scenario, *, wait_ms: int = WAIT_MS) -> Tape:
    """Work out everything about a scenario that does not depend on a preset.

    Args:
        scenario: A validated scenario with steps.
        wait_ms: A call of at least this many milliseconds counts as waiting.
    """
    tools = scenario.tools
    lists = [scenario.steps, *(steps for each in scenario.branches.values() for steps in each)]
    tracked = any(step.writes is not None for steps in lists for step in steps)
    trunk = _turns(scenario, scenario.steps, "", wait_ms, tracked)
    branches: dict[str, tuple[tuple[Turn, ...], ...]] = {
        kind: tuple(
            _turns(scenario, steps, f"{kind}[{n}]", wait_ms, tracked)
            for n, steps in enumerate(each)
        )
        for kind, each in scenario.branches.items()
    }
    every = [trunk, *(turns for each in branches.values() for turns in each)]
    return Tape(
        scenario=scenario,
        trunk=trunk,
        branches=branches,
        has_tools=None if tools is None else bool(tools),
        hashed=any(_hashed(turn) for turns in every for turn in turns),
    )


def _hashed(turn: Turn) -> bool:
    """Whether a role's reply carries the hash of its request."""
    return any(reply.request_hash for replies in turn.roles.values() for reply in replies)


def _turns(
    scenario: Scenario, steps: list[Step], branch: str, wait_ms: int, tracked: bool
) -> tuple[Turn, ...]:
    turns = []
    # `writes` is cumulative: a step that does not mention it left the workspace as it was.
    writes: list[str] | None = [] if tracked else None
    for number, step in enumerate(steps, 1):
        writes = writes if step.writes is None else step.writes
        turns.append(
            turn_from(step, scenario, source=(branch, number), writes=writes, wait_ms=wait_ms)
        )
    return tuple(turns)


def turn_from(
    step: Step,
    scenario: Scenario,
    *,
    source: tuple[str, int] = ("", 0),
    writes: list[str] | None = None,
    wait_ms: int = WAIT_MS,
) -> Turn:
    """One step as a turn; also how a live loop hands in what just happened.

    Args:
        step: What was said, done and measured.
        scenario: Gives the tools' properties, the score's scale and whether content was captured.
        source: Where it stands in the recording: branch (``""`` is the trunk), step from 1.
        writes: Workspace files changed so far; ``None`` where the workspace is not recorded.
        wait_ms: A call of at least this many milliseconds counts as waiting.
    """
    tools = scenario.tools or {}
    captured = scenario.content_captured
    calls = tuple(
        call_from(c, tools.get(c.tool, _NO_TOOL), wait_ms, captured=captured) for c in step.calls
    )
    failed = [call for call in calls if not call.ok]
    active = [call for call in calls if not call.waits and not call.transient]
    transient = bool(failed) and all(call.transient for call in failed)
    # An outage is nobody's loop: such a turn feeds no stuck guard, whatever else it did.
    moves, prints = _moves([] if transient else active)
    ms, known_ms = _elapsed(step)
    return Turn(
        reply=reply_from("actor", step.reply),
        text=_text(step.reply.text),
        calls=calls,
        user=step.user,
        nudge=step.nudge,
        interrupted=step.interrupted,
        idle_ms=step.idle_ms,
        ms=ms,
        known_ms=known_ms,
        output=_text(step.output),
        plan=_text(step.plan),
        feedback=_text(step.feedback),
        feedback_empty=step.feedback is not None and not step.feedback.strip(),
        score=_score(step.score, scenario.score_scale),
        roles=_roles(step),
        handler=step.handler.model_dump() if step.handler else None,
        writes=None if writes is None else frozenset(writes),
        confirms=tuple((c.phase, c.check) for c in step.confirms),
        loop=step.loop,
        moves=moves,
        call_prints=prints,
        results=tuple(
            result_print(c.args, c.result or "")
            for c in active
            if c.ok and DEFAULT_IDENTITY in c.prints
        ),
        errors=_errors(active),
        failed=bool(failed),
        transient=transient,
        waiting=bool(calls) and all(call.waits for call in calls),
        passage_repeats=repeats(step.reply.text),
        unseen=frozenset() if captured else _unseen(step.reply.text, calls),
        source=source,
    )


def call_from(
    spec: CallSpec, tool: Tool = _NO_TOOL, wait_ms: int = WAIT_MS, *, captured: bool = True
) -> Call:
    """One recorded call with its fingerprints; ``captured``: what is absent of it was empty."""
    ok = spec.ok if spec.ok is not None else spec.exit_code in (None, 0)
    args = canonical(spec.args)
    prints = call_prints(spec.tool, args, spec.result, ok=ok)
    if not captured:
        prints = captured_prints(prints, args=spec.args is not None, result=spec.result is not None)
    silent = not (spec.result or "").strip()
    return Call(
        tool=spec.tool,
        args=args,
        result=spec.result,
        ok=ok,
        exit_code=spec.exit_code,
        ms=spec.ms,
        waits=tool.waits or (spec.ms is not None and spec.ms >= wait_ms),
        external=tool.effect == "external",
        transient=not ok and is_transient(spec.result, spec.exit_code),
        key=spec.key,
        builtin=spec.builtin,
        prints=prints,
        error=None if ok or silent else prints["error"],
    )


def reply_from(role: str, spec: ReplySpec) -> Reply:
    """One recorded reply with its price."""
    usage = Usage(**spec.usage.model_dump()) if spec.usage else None
    return Reply(
        role=role,
        text=spec.text,
        model=spec.model,
        usage=usage,
        cost=prices.cost(spec.model, usage),
        ms=spec.ms,
        finish_reason=spec.finish_reason,
        request_hash=spec.request_hash,
        error=spec.error,
    )


def _unseen(text: str, calls: tuple[Call, ...]) -> frozenset[str]:
    """What of a turn cannot be compared; a call that succeeded has no error to be known."""
    policies = {
        policy
        for call in calls
        for policy in IDENTITIES
        if policy not in call.prints and not (policy == "error" and call.ok)
    }
    return frozenset(policies if text.strip() else {*policies, "text"})


def _moves(active: list[Call]) -> tuple[dict[str, str | None], dict[str, tuple[str, ...]]]:
    """The turn's action under each identity: its one call, or the set of its calls."""
    moves: dict[str, str | None] = {}
    prints: dict[str, tuple[str, ...]] = {}
    for identity in IDENTITIES:
        distinct = tuple(
            dict.fromkeys(call.prints[identity] for call in active if identity in call.prints)
        )
        prints[identity] = distinct
        if not distinct:
            moves[identity] = None
        elif len(distinct) == 1:
            moves[identity] = distinct[0]
        else:
            moves[identity] = digest("batch", *sorted(distinct))
    return moves, prints


def _errors(active: list[Call]) -> frozenset[str]:
    """Signatures by which a whole turn failed; empty where a call of it succeeded."""
    if not active or any(call.ok for call in active):
        return frozenset()
    return frozenset(call.error for call in active if call.error)


def _elapsed(step: Step) -> tuple[int | None, int]:
    """Reply plus the longest of its parallel calls plus idle time; the known part beside it."""
    times = [call.ms for call in step.calls]
    known = (step.reply.ms or 0) + max((ms or 0 for ms in times), default=0) + step.idle_ms
    return (None if step.reply.ms is None or None in times else known), known


def _score(score: float | Passed | None, scale: list[float] | None) -> float | None:
    if score is None:
        return None
    if isinstance(score, Passed):
        return round(score.passed / score.total, 9)
    if scale:
        low, high = scale
        score = (score - low) / (high - low)
    return round(score, 9)


def _roles(step: Step) -> dict[str, tuple[Reply, ...]]:
    """Recorded replies of the other roles, the judge's under its own name."""
    roles = {name: _several(name, value) for name, value in step.roles.items()}
    if step.judge is not None:
        roles["judge"] = (role_reply("judge", step.judge),)
    return roles


def _several(role: str, value: Any) -> tuple[Reply, ...]:
    return tuple(role_reply(role, v) for v in (value if isinstance(value, list) else [value]))


def role_reply(role: str, value: Any) -> Reply:
    """A recorded role reply: text, an error, an object with text and usage, or a bare object."""
    if isinstance(value, Mapping) and value and set(value) <= set(ReplySpec.model_fields):
        return reply_from(role, ReplySpec.model_validate(dict(value)))
    return Reply(role=role, text=as_text(value))


def priced(reply: Reply, model: str) -> Reply:
    """A role's reply; one that names no model came from the preset's ``model``."""
    if reply.model is not None:
        return reply
    return replace(reply, model=model, cost=prices.cost(model, reply.usage))


@lru_cache(maxsize=4096)
def _text(text: str | None) -> Text | None:
    """The same words are the same object, so that a similarity is worked out once."""
    if text is None or not text.strip():
        return None
    normal = " ".join(text.split())
    return Text(normal, digest("text", normal.casefold()))


def as_text(value: Any) -> str:
    """A recorded role reply as text: objects become JSON, texts stay."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
