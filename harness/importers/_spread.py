"""Scores, tokens and times of a run, given by message, by turn or as a total."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place, is_finite, shown
from harness.importers._messages import milliseconds, moment
from harness.importers._turns import Transcript
from harness.importers._usage import usage_from


def measured(place: Place, run: dict[str, Any], found: Transcript) -> list[str]:
    """Write scores, usage and times into the steps.

    Returns:
        What stands in the steps as an even share of a total: ``usage``, ``ms``.

    Raises:
        ImportFormatError: A list has another length, or a value is no measurement.
    """
    spread = []
    _scores(place, run, found)
    if not any("usage" in message.reply for message in found.spoken):
        spread += _usages(place, run, found)
    if not _times(place, run, found):
        spread += _total_time(place, run, found)
    return spread


def shares(total: int, parts: int) -> list[int]:
    """``total`` as ``parts`` whole numbers, as equal as can be, whose sum is exact."""
    share, rest = divmod(total, parts)
    return [share + (index < rest) for index in range(parts)]


def _scores(place: Place, run: dict[str, Any], found: Transcript) -> None:
    given = [message.score for message in found.spoken]
    if run.get("scores") is not None:
        given = _listed(place, run, "scores", len(found.steps))
    elif run.get("score") is not None:
        given[-1] = run["score"]
    for number, (step, value) in enumerate(zip(found.steps, given, strict=True), 1):
        if value is None:
            continue
        number_like = isinstance(value, int | float) and not isinstance(value, bool)
        if not isinstance(value, dict) and not (number_like and is_finite(value)):
            raise place.at(f"turn {number}").error(
                f"key 'score' must be a number, {{passed, total}} or null, found {shown(value)}"
            )
        step["score"] = value


def _listed(place: Place, run: dict[str, Any], key: str, length: int) -> list[Any]:
    values = place.get(run, key, list)
    if len(values) != length:
        raise place.error(
            f"key {key!r} must have one value for each of the {length} assistant messages, "
            f"found {len(values)}"
        )
    return values


def _reply(step: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = step.setdefault("reply", {})
    return reply


def _usages(place: Place, run: dict[str, Any], found: Transcript) -> list[str]:
    given = run.get("usage")
    if isinstance(given, list):
        values = _listed(place, run, "usage", len(found.steps))
        for number, (step, value) in enumerate(zip(found.steps, values, strict=True), 1):
            spot = place.at(f"usage {number}")
            if value is not None and not isinstance(value, dict):
                raise spot.error(f"must be an object or null, found {shown(value)}")
            if value is not None and (counts := usage_from(spot, value)) is not None:
                _reply(step)["usage"] = counts
        return []
    total = place.get_or_none(run, "usage", dict)
    counts = None if total is None else usage_from(place.at("usage"), total)
    if counts is None:
        return []
    parts = {key: shares(count, len(found.steps)) for key, count in counts.items()}
    for index, step in enumerate(found.steps):
        _reply(step)["usage"] = {key: share[index] for key, share in parts.items() if share[index]}
    return ["usage"] if len(found.steps) > 1 else []


def _times(place: Place, run: dict[str, Any], found: Transcript) -> bool:
    """Times by message or turn; whether there were any."""
    if run.get("timestamps") is not None:
        stamps = place.get(run, "timestamps", list)
        if len(stamps) != len(found.all):
            raise place.error(
                f"key 'timestamps' must have one value for each of the {len(found.all)} messages, "
                f"found {len(stamps)}"
            )
        for number, ((message, _), stamp) in enumerate(zip(found.all, stamps, strict=True), 1):
            if stamp is not None:
                message.at_ms = moment(place.at(f"time stamp {number}"), stamp)
    if isinstance(run.get("ms"), list):
        values = _listed(place, run, "ms", len(found.steps))
        for number, (message, value) in enumerate(zip(found.spoken, values, strict=True), 1):
            if value is not None:
                message.ms = milliseconds(place.at(f"turn {number}"), {"ms": value}, "ms")
    return _by_message(found)


def _by_message(found: Transcript) -> bool:
    """A message took as long as since the one before it, unless it says how long it took.

    Results count from the assistant's message, since calls of one turn run side by side. What a
    person took is idle time of the next step.
    """
    known = False
    steps = iter(found.steps)
    step: dict[str, Any] = {}
    before: int | None = None
    asked: int | None = None
    idle = 0
    for message, answered in found.all:
        at = message.at_ms
        since = asked if answered else before
        gap = None if at is None or since is None or at < since else at - since
        ms = gap if message.ms is None else message.ms
        if message.role == "assistant":
            step = next(steps)
            if idle:
                step["idle_ms"] = idle
            if ms is not None:
                _reply(step)["ms"] = ms
                known = True
            asked, idle = at, 0
        for call in answered:
            if ms is not None:
                call["ms"] = ms
        if message.role == "user" and not answered and step and gap:
            idle += gap
        before = at if at is not None and (before is None or at > before) else before
    return known


def _total_time(place: Place, run: dict[str, Any], found: Transcript) -> list[str]:
    key = next((key for key in ("ms", "latency_ms", "duration_ms") if run.get(key)), None)
    if key is None or isinstance(run[key], list):
        return []
    parts = shares(milliseconds(place, run, key), len(found.steps))
    for step, ms in zip(found.steps, parts, strict=True):
        _reply(step)["ms"] = ms
        for call in step.get("calls", ()):
            # The total holds the calls too.
            call.setdefault("ms", 0)
    return ["ms"] if len(found.steps) > 1 else []
