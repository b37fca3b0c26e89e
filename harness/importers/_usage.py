"""Token counts as the APIs in use report them, as counts that do not overlap."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place, shown

#: The rule, in words for ``TOKENS``.
RULE = (
    "By the names a usage object has. prompt_tokens contain cached and cache-written tokens, "
    "completion_tokens the reasoning (unless more reasoning than completion is reported). "
    "input_tokens contain them where a details object stands beside (OpenAI Responses, "
    "LangChain), and do not where cache_read_input_tokens does (Anthropic). Where total_tokens is "
    "another sum of them (cached or reasoning tokens beside the others), that sum decides. input, "
    "output, cache_read, cache_write and reasoning do not overlap. A bare total_tokens is unknown "
    "usage."
)

_READ = ("cached_tokens", "cache_read", "cache_read_input_tokens", "prompt_cache_hit_tokens")
_WRITTEN = (
    "cache_write_tokens",
    "cache_creation",
    "cache_creation_tokens",
    "cache_creation_input_tokens",
)
_REASONED = ("reasoning_tokens", "reasoning")
_OURS = ("input", "cache_read", "cache_write", "output", "reasoning")
_CAMEL = {
    "promptTokens": "prompt_tokens",
    "completionTokens": "completion_tokens",
    "totalTokens": "total_tokens",
}


def usage_from(spot: Place, data: dict[str, Any]) -> dict[str, int] | None:
    """A usage object as a scenario has it; ``None`` where it says nothing that can be split.

    Raises:
        ImportFormatError: A count is no whole number, parts are larger than their whole, or the
            object has none of the known names.
    """
    data = {_CAMEL.get(key, key): value for key, value in data.items() if value is not None}
    if "prompt_tokens" in data or "completion_tokens" in data:
        inside = ("prompt_tokens_details", "completion_tokens_details")
        return _split(spot, data, "prompt_tokens", "completion_tokens", inside, whole=True)
    if "input_tokens" in data or "output_tokens" in data:
        for inside in _DETAILS:
            if inside[0] in data or inside[1] in data:
                return _split(spot, data, "input_tokens", "output_tokens", inside, whole=True)
        return _split(spot, data, "input_tokens", "output_tokens", _DETAILS[0], whole=False)
    if any(key in data for key in _OURS):
        return _nonzero({key: spot.count(data, key) for key in _OURS if key in data})
    if not data or set(data) <= {"total", "total_tokens", "totalTokens", "unit"}:
        return None
    raise spot.error(
        "usage must have prompt_tokens and completion_tokens, input_tokens and output_tokens, or "
        f"input and output; found keys: {', '.join(map(shown, list(data)[:12]))}"
    )


def beside(total: Any, counts: tuple[int, int, int, int], *, cached: bool) -> tuple[bool, bool]:
    """Whether cached tokens stand beside the input, and reasoning tokens beside the output.

    The record's own total decides where it is the sum of one of these ways, else the format's rule.

    Args:
        total: The total as the record has it; anything but a whole number says nothing.
        counts: Input, cached, output and reasoning tokens as the record has them.
        cached: The format's rule: cached tokens stand beside the input. Reasoning is within the
            output by every format's rule, unless there is more of it.
    """
    asked, held, answered, thought = counts
    rule = (cached, thought > answered)
    for way in (rule, (cached, not rule[1]), (not cached, rule[1]), (not cached, not rule[1])):
        parts = asked + answered + held * way[0] + thought * way[1]
        fits = (way[0] or held <= asked) and (way[1] or thought <= answered)
        if type(total) is int and fits and parts == total:
            return way
    return rule


#: Where input_tokens keep what is cached, output_tokens what was reasoned.
_DETAILS = (
    ("input_tokens_details", "output_tokens_details"),
    ("input_token_details", "output_token_details"),
)


def _split(
    spot: Place,
    data: dict[str, Any],
    asked: str,
    answered: str,
    inside: tuple[str, str],
    *,
    whole: bool,
) -> dict[str, int]:
    """``whole`` says that what was asked contains what the cache held."""
    prompt = spot.count(data, asked) if asked in data else 0
    completion = spot.count(data, answered) if answered in data else 0
    read = _part(spot, data, inside[0], _READ)
    written = _part(spot, data, inside[0], _WRITTEN)
    reasoning = _part(spot, data, inside[1], _REASONED)
    counts = (prompt, read + written, completion, reasoning)
    cached_apart, reasoned_apart = beside(data.get("total_tokens"), counts, cached=not whole)
    if not cached_apart and read + written > prompt:
        raise spot.error(
            f"key {asked!r} must be at least what the cache read and wrote, which is "
            f"{read + written}; found {prompt}"
        )
    return _nonzero(
        {
            "input": prompt if cached_apart else prompt - read - written,
            "cache_read": read,
            "cache_write": written,
            "output": completion if reasoned_apart else completion - reasoning,
            "reasoning": reasoning,
        }
    )


def _part(spot: Place, data: dict[str, Any], inside: str, names: tuple[str, ...]) -> int:
    """The first of the counts that stands in the details, or beside them."""
    details = spot.get_or_none(data, inside, dict) or {}
    for holder in (details, data):
        for name in names:
            if type(holder.get(name)) is not dict and holder.get(name) is not None:
                return spot.count(holder, name)
    return 0


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {key: count for key, count in counts.items() if count}
