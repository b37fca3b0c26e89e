"""What only stream-json says: exact counts of a message, totals and the end of a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.importers._base import Place
from harness.importers._spread import shares
from harness.importers._usage import usage_from

#: How stream-json names the end, by what it is to us.
_RESULTS = {
    "success": "agent_finished",
    "error_max_turns": "max_iterations",
    "error_max_budget_usd": "cost_budget",
}


@dataclass(slots=True)
class Streamed:
    """The end of one message, as its ``message_delta`` has it.

    Attributes:
        usage: Exact counts; the message's own lines hold what was known at its start.
        stop: Why it ended.
    """

    usage: dict[str, int] = field(default_factory=dict)
    stop: str | None = None

    def take(self, place: Place, event: dict[str, Any]) -> None:
        """Read a ``message_delta``."""
        delta = place.get_or_none(event, "delta", dict) or {}
        self.stop = place.get_or_none(delta, "stop_reason", str) or self.stop
        if usage := place.get_or_none(event, "usage", dict):
            self.usage |= usage_from(place.at("usage"), plain(usage)) or {}

    def write(self, reply: dict[str, Any]) -> str | None:
        """Put the counts into the reply; why it ended."""
        if self.usage:
            reply["usage"] = {**reply.get("usage", {}), **self.usage}
        if self.stop:
            reply["finish_reason"] = self.stop
        return self.stop


def plain(usage: dict[str, Any]) -> dict[str, Any]:
    """The counts of a usage object, without its breakdowns and labels."""
    return {key: value for key, value in usage.items() if key.endswith("_tokens")}


def ending_of(place: Place, line: dict[str, Any]) -> dict[str, Any]:
    """What ``recorded`` says of a query that ended with this ``result``."""
    subtype = place.get_or_none(line, "subtype", str) or ""
    failed = line.get("is_error") is True
    reason = _RESULTS.get(subtype, "error" if failed or subtype.startswith("error") else None)
    if reason == "agent_finished" and failed:
        reason = "error"
    return {"exit_reason": reason} if reason else {}


def even_out(place: Place, line: dict[str, Any], steps: list[dict[str, Any]]) -> bool:
    """Share out the totals of a ``result`` where its query's messages say less.

    Messages that were written before they ended have a placeholder for their output. Totals that
    are smaller than a sum of the messages are of something else, and are left.

    Returns:
        Whether anything was shared out over several steps.
    """
    usage = place.get_or_none(line, "usage", dict)
    total = usage and usage_from(place.at("usage"), plain(usage))
    replies = [step["reply"] for step in steps if "error" not in step["reply"]]
    if not total or not replies:
        return False
    told = {key: sum(reply.get("usage", {}).get(key, 0) for reply in replies) for key in _KEYS}
    if any(told[key] > total.get(key, 0) for key in _KEYS):
        return False
    for key in (key for key in _KEYS if total.get(key, 0) > told[key]):
        for reply, share in zip(replies, shares(total[key], len(replies)), strict=True):
            kept = {name: n for name, n in reply.get("usage", {}).items() if name != key}
            reply["usage"] = {**kept, **({key: share} if share else {})}
    return len(replies) > 1 and any(told[key] != total.get(key, 0) for key in _KEYS)


_KEYS = ("input", "cache_read", "cache_write", "output")
