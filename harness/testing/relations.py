"""Metamorphic relations: a change to a recording, and what must hold between before and after.

What must hold for a guard follows from what the guard declares (its exit reason, its comparison,
its settings ``identity`` and ``on``), not from its kind; so users' guards are checked alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.guards import Guard, fires
from harness.preset import Preset
from harness.testing import _transform
from harness.testing._pairs import (
    Pair,
    cut_off,
    dearer,
    edited_by,
    flipped,
    mirror,
    rewritten,
    unmeasured,
    unscored,
)
from harness.testing._subject import Reading, Trace


def _nobody(guard: Guard) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A change and what must hold.

    Attributes:
        name: By which it is excluded.
        changes: What is changed, in words.
        holds: What must hold, in words.
        why: Why that is right.
        pairs: Makes the traces to compare.
        kept: Whether a reading after the change may stand beside one before it; the third value
            is the first reading of each that was compared.
        spared: Why a guard with these settings may change after all; empty where it must not.
    """

    name: str
    changes: str
    holds: str
    why: str
    pairs: Callable[[Trace, Preset, random.Random], Iterator[Pair]]
    kept: Callable[[Guard, Pair, Reading, Reading, tuple[Reading, Reading]], bool]
    spared: Callable[[Guard], str] = _nobody


# What must hold.


def _same(guard: Guard, pair: Pair, before: Reading, after: Reading, first: Any) -> bool:
    return before.told == after.told


def _same_or_unknown(guard: Guard, pair: Pair, before: Reading, after: Reading, first: Any) -> bool:
    """Unchanged; or unknown; or a lower bound, which is known to be one."""
    lower = not after.known and after.signal <= before.signal
    return before.told == after.told or after.signal != after.signal or lower


def _quieter(
    guard: Guard, pair: Pair, before: Reading, after: Reading, first: tuple[Reading, Reading]
) -> bool:
    """No nearer to the threshold; a running total differs by what was cut, always the same."""
    if after.signal != after.signal:
        return True
    compares = guard.compares(pair.after.direction)
    if before.signal != before.signal:
        return not fires(after.signal, compares, guard.threshold)
    if _is_total(guard):
        at_first = first[0].signal - first[1].signal
        return before.signal - after.signal == at_first >= 0
    return after.signal <= before.signal if compares == ">=" else after.signal >= before.signal


def _mirrored(guard: Guard, pair: Pair, before: Reading, after: Reading, first: Any) -> bool:
    """The same; of a guard that reads the score itself, the mirrored score."""
    reads_score = guard.compares("lower") != guard.compares("higher")
    if before.told == after.told or before.known != after.known:
        return before.told == after.told
    expected = flipped(before.signal) if reads_score else before.signal
    return abs(expected - after.signal) < 1e-8


def _spent(guard: Guard, pair: Pair, before: Reading, after: Reading, first: Any) -> bool:
    """The same; a running total may grow."""
    return before.told == after.told or (_is_total(guard) and after.signal >= before.signal)


def _is_total(guard: Guard) -> bool:
    """Whether the signal adds up over the episode: what limits do."""
    return guard.exit_reason.group == "limit" and not hasattr(guard, "guards")


# Who is spared, by what a guard declares.


def _parts(guard: Guard) -> Iterator[Mapping[str, Any]]:
    """The settings of a guard and of those that it joins."""
    yield guard.settings()
    for part in getattr(guard, "guards", ()):
        yield from _parts(part)


def _reads_raw_results(guard: Guard) -> str:
    raw = {"args+result", "result"} & {s.get("identity") for s in _parts(guard)}
    return f"identity {raw.pop()!r} compares results word for word" if raw else ""


def _reads_order(guard: Guard) -> str:
    single = {"call", "thought and call"} & {str(s.get("on")) for s in _parts(guard)}
    return f"on {single.pop()!r} follows single calls in their order" if single else ""


def _joins_scores(guard: Guard) -> str:
    parts = getattr(guard, "guards", ())
    turning = [p.kind() for p in parts if p.compares("lower") != p.compares("higher")]
    inner = next((words for part in parts if (words := _joins_scores(part))), "")
    return f"it joins {turning[0]}, whose threshold is a score" if turning else inner


RELATIONS: tuple[Relation, ...] = (
    Relation(
        "rename_ids",
        "opaque ids in arguments and results: other names of the same shape, consistently",
        "the signal is unchanged",
        "which ids are equal says something; what they are called does not",
        rewritten(_transform.mark_ids, _transform.rename_ids),
        _same,
    ),
    Relation(
        "rename_tools",
        "every tool gets another name, consistently",
        "the signal is unchanged",
        "a rule that knows tools by name fails in the next project",
        rewritten(_transform.rename_tools),
        _same,
    ),
    Relation(
        "respell_arguments",
        "keys of arguments in another order, and a null argument added",
        "the signal is unchanged",
        "providers write the same call in many ways",
        rewritten(_transform.respell_arguments),
        _same,
    ),
    Relation(
        "shuffle_parallel_calls",
        "the calls of one step in another order",
        "the signal is unchanged; spared: a setting `on` that follows single calls",
        "parallel calls have no order",
        rewritten(_transform.shuffle_parallel_calls),
        _same,
        _reads_order,
    ),
    Relation(
        "shift_timestamps",
        "times in results: all alike before, each another one after",
        "the signal is unchanged; spared: an `identity` that compares results word for word",
        "a clock in the output is neither progress nor a new state",
        rewritten(_transform.stamp, _transform.shift_timestamps),
        _same,
        _reads_raw_results,
    ),
    Relation(
        "insert_nudge",
        "the framework reminds the agent ahead of some steps",
        "the signal is unchanged",
        "only a person's message is news; a framework must not reset a guard by talking",
        rewritten(_transform.insert_nudge),
        _same,
    ),
    Relation(
        "append_suffix",
        "the recording goes on with further steps",
        "signals before its former end are unchanged",
        "a live loop does not know what comes next",
        rewritten(_transform.append_suffix, spare=1),
        _same,
    ),
    Relation(
        "cut_prefix",
        "the first iterations are left out",
        "no signal comes nearer to its threshold; a limit's total falls by what was cut",
        "a guard that forgets can only become quieter",
        cut_off,
        _quieter,
    ),
    Relation(
        "mirror_scores",
        "scores become 1 - score and the direction is turned round",
        "the signal is unchanged; of a guard whose comparison turns too it is mirrored; spared: "
        "guards that join such a one",
        "`direction: lower` mirrors every rule about scores",
        edited_by(mirror, flip=True),
        _mirrored,
        _joins_scores,
    ),
    Relation(
        "drop_scores",
        "nobody scored anything",
        "the signal is unchanged or unknown",
        "what was not measured is unknown, never zero",
        edited_by(unscored),
        _same_or_unknown,
    ),
    Relation(
        "drop_usage",
        "tokens, cost and times were not recorded",
        "the signal is unchanged, unknown, or a lower bound that `known` calls one",
        "what was not measured is unknown, never zero",
        edited_by(unmeasured),
        _same_or_unknown,
    ),
    Relation(
        "spend_more",
        "twice the tokens and cost, and a second more an iteration",
        "the signal is unchanged; a limit's may grow",
        "a dearer model is no other behaviour",
        edited_by(dearer),
        _spent,
    ),
)
