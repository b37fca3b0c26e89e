"""How runs of OpenHands ended, and what their metrics say of single replies."""

from __future__ import annotations

import re
from typing import Any

from harness.importers._base import Place, inferred
from harness.importers._messages import milliseconds
from harness.importers._spread import shares
from harness.importers._steps import plain_model
from harness.importers._usage import usage_from

#: The words OpenHands ends a run with, by what they are to us. The detector of loops does not say
#: which of its patterns it found; most are repetitions of one action, so that reason is inferred.
_STUCK = re.compile(r"AgentStuckInLoop|stuck in a loop", re.IGNORECASE)
_LIMITS = (
    (
        "max_iterations",
        "max_iterations",
        re.compile(r"maximum iterations?\b|MaxIterationsReached", re.IGNORECASE),
        re.compile(r"(?:max iteration: |limit \()(\d{1,12})\b"),
    ),
    (
        "cost_budget",
        "cost_budget_usd",
        re.compile(r"maximum budget|budget limit|MaxBudget|BudgetExceeded", re.IGNORECASE),
        re.compile(r"(?:max budget: |limit \(\$)(\d{1,9}(?:\.\d{1,9})?)"),
    ),
)
#: States of the agent (V0) and of the conversation (SDK) that end a run. A run that a person
#: paused or stopped, or that was still at work, ended for reasons unknown.
_STATES = {
    "finished": {"exit_reason": "agent_finished"},
    "awaiting_user_input": {"exit_reason": "awaiting_user"},
    "awaiting_user_confirmation": {"exit_reason": "awaiting_user"},
    "waiting_for_confirmation": {"exit_reason": "awaiting_user"},
    "rejected": {"exit_reason": "blocked"},
    "stuck": inferred({"exit_reason": "spin"}),
    "error": {"exit_reason": "error"},
}


def ending_of_error(words: str) -> dict[str, Any]:
    """What ``recorded`` says of a run that ended with an error in these words."""
    if _STUCK.search(words):
        return inferred({"exit_reason": "spin"})
    for reason, key, named, number in _LIMITS:
        if named.search(words):
            found = number.search(words)
            limit = {} if found is None else {key: _number(found[1])}
            return {"exit_reason": reason, **({"limits": limit} if limit else {})}
    return {"exit_reason": "error"}


def ending_of_state(state: str | None, why: str = "") -> dict[str, Any]:
    """What ``recorded`` says of a run whose last state this was; empty where it tells nothing."""
    if state == "error" and why:
        return ending_of_error(why)
    return dict(_STATES.get(state or "", {}))


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


class Ledger:
    """Tokens and times of single replies, by the id of the response.

    Attributes:
        usage: Tokens of each response.
        ms: How long each took.
        models: Which model gave each, where it is told.

    Raises:
        ImportFormatError: The metrics have another shape.
    """

    def __init__(self, place: Place, metrics: Any) -> None:
        self.place = place.at("metrics")
        self.usage: dict[str, dict[str, int]] = {}
        self.ms: dict[str, int] = {}
        self.models: dict[str, str] = {}
        self._taken: dict[str, dict[str, Any]] = {}
        self._order: list[str] = []
        self._total: dict[str, Any] | None = None
        if metrics is None:
            return
        for item in self.place.get_or_none(metrics, "token_usages", list) or ():
            name = self.place.get(item, "response_id", str)
            counts = usage_of(self.place, item)
            if name and counts:
                self.usage[name] = counts
            if name and (model := self.place.get_or_none(item, "model", str)):
                self.models[name] = plain_model(model)
        for item in self.place.get_or_none(metrics, "response_latencies", list) or ():
            name = self.place.get(item, "response_id", str)
            seconds = self.place.number(item, "latency")
            self.ms[name] = milliseconds(self.place, {"latency": seconds * 1000}, "latency")
        # A reply that brought no usage has a latency all the same.
        self._order = list(self.ms or self.usage)
        self._total = self.place.get_or_none(metrics, "accumulated_token_usage", dict)

    def after(self, name: str | None, known: set[str]) -> str | None:
        """The response behind this one, where no event speaks of it."""
        if name is not None and name not in self._order:
            return None
        index = 0 if name is None else self._order.index(name) + 1
        following = self._order[index] if index < len(self._order) else None
        return None if following in known else following

    def takes(self, name: str | None, reply: dict[str, Any]) -> None:
        """A response stands in this reply, or will count to it."""
        if name is not None:
            self._taken[name] = reply

    def settle(self, steps: list[dict[str, Any]]) -> None:
        """Count responses that are no replies, as the condenser's, to the reply behind them."""
        late: dict[str, int] = {}
        for name, counts in self.usage.items():
            if name not in self._taken:
                late = added(late, counts)
            elif late:
                reply = self._taken[name]
                reply["usage"], late = added(reply.get("usage", {}), late), {}
        if late and self._taken:
            reply = steps[-1].setdefault("reply", {})
            reply["usage"] = added(reply.get("usage", {}), late)

    def spread(self, steps: list[dict[str, Any]]) -> list[str]:
        """Share the total out where no reply has tokens of its own; the tags that say so."""
        if self._total is None or any("usage" in step.get("reply", {}) for step in steps):
            return []
        parts = {key: shares(n, len(steps)) for key, n in usage_of(self.place, self._total).items()}
        for index, step in enumerate(steps):
            if parts:
                reply = step.setdefault("reply", {})
                reply["usage"] = {key: share[index] for key, share in parts.items() if share[index]}
        return ["spread:usage"] if parts and len(steps) > 1 else []


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """The sum of two usages."""
    return {key: one.get(key, 0) + other.get(key, 0) for key in one | other}


def merged(place: Place, stats: Any) -> dict[str, Any]:
    """The metrics of each use of a model as one, as the file of a conversation's state has them."""
    uses = place.get_or_none(stats, "usage_to_metrics", dict) or {}
    return {
        key: [
            item
            for name, metrics in uses.items()
            for item in place.at(name).get_or_none(metrics, key, list) or ()
        ]
        for key in ("token_usages", "response_latencies")
    }


def usage_of(place: Place, item: dict[str, Any]) -> dict[str, int]:
    """Tokens as OpenHands counts them, as counts that do not overlap; empty where all are zero.

    ``prompt_tokens`` hold what the cache read and wrote, unless that is more than they are: then
    the provider counts it beside them.
    """
    known = {key: place.count(item, key) for key in _COUNTS if item.get(key) is not None}
    cached = known.get("cache_read_tokens", 0) + known.get("cache_write_tokens", 0)
    if cached > known.get("prompt_tokens", 0):
        known["prompt_tokens"] = known.get("prompt_tokens", 0) + cached
    names = {"cache_read_tokens": "cached_tokens"}
    return usage_from(place, {names.get(key, key): n for key, n in known.items()}) or {}


_COUNTS = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
