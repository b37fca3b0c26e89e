"""What a source's own record tells beside the recording: moments, and ids that come twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

#: Members that hold a moment, by the sources that are known.
_TIMES = (
    "timestamp", "ts", "created", "created_at", "createdAt", "start_time",
    "startTime", "started_at", "startedAt", "startTimeUnixNano", "end_time", "endTime",
)  # fmt: skip
#: What an agent sent, which may hold times of anything.
_PAYLOAD = frozenset({"args", "arguments", "kwargs", "parameters", "tool_input"})
#: Lists whose items are in the order in which they happened; spans and events need not be.
_IN_ORDER = frozenset({
    "messages", "steps", "traj", "trajectory", "history", "turns", "conversation",
})  # fmt: skip
_IDS = ("id", "uuid", "message_id", "response_id")
_FIRST_S, _LAST_S = 946_684_800, 4_102_444_800  # 2000 and 2100
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)


@dataclass(slots=True)
class RawFacts:
    """Of one record.

    Attributes:
        first: The earliest moment, in seconds since 1970; ``None`` where none is told.
        last: The latest.
        backwards: How often an item of a list in order is earlier than the one before it.
        repeated: How many items of such a list have the id of one before them.
    """

    first: float | None = None
    last: float | None = None
    backwards: int = 0
    repeated: int = 0


def raw_facts(raw: Any) -> RawFacts:
    """Look through a record, whatever its shape."""
    facts = RawFacts()
    if isinstance(raw, list):
        _in_order(raw, facts)
    waiting = [raw]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += [item for item in value if isinstance(item, dict | list)]
        elif isinstance(value, dict):
            for moment in _moments(value):
                facts.first = moment if facts.first is None else min(facts.first, moment)
                facts.last = moment if facts.last is None else max(facts.last, moment)
            for name, item in value.items():
                if isinstance(item, list) and name in _IN_ORDER:
                    _in_order(item, facts)
                if isinstance(item, dict | list) and name not in _PAYLOAD:
                    waiting.append(item)
    return facts


def _in_order(items: list[Any], facts: RawFacts) -> None:
    before: float | None = None
    ids: set[str] = set()
    for item in items:
        if not isinstance(item, dict):
            continue
        if (at := next(_moments(item), None)) is not None:
            facts.backwards += before is not None and at < before
            before = at
        own = next((item[name] for name in _IDS if isinstance(item.get(name), str)), None)
        if own is not None:
            facts.repeated += own in ids
            ids.add(own)


def _moments(value: dict[str, Any]) -> Iterator[float]:
    for name in _TIMES:
        if name in value and (at := moment(value[name])) is not None:
            yield at


def moment(value: object) -> float | None:
    """A moment in seconds since 1970 (UTC where no zone is told), between 2000 and 2100."""
    if isinstance(value, str):
        if not value.isdecimal():
            return _iso(value)
        value = int(value) if len(value) < 20 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return next((value / unit for unit in _UNITS if _FIRST_S <= value / unit < _LAST_S), None)


def _iso(text: str) -> float | None:
    # A day alone is rather what a task is about.
    if not 16 <= len(text) <= 40:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
