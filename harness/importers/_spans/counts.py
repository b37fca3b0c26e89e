"""Token counts in the attributes of spans, whatever they are called there."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place, is_finite
from harness.importers._usage import usage_from

#: The rule, in words for ``TOKENS``.
RULE = (
    "As each span of a model call reports them; wrappers and agents, which repeat sums, are not "
    "read. Input contains cached and cache-written tokens (OpenTelemetry's rule, OpenInference's "
    "and OpenLLMetry's), output the reasoning; where more was cached than input is reported, they "
    "stand beside it (Anthropic's rule). A total alone is unknown usage."
)


def counts_from(
    spot: Place, attributes: dict[str, Any], names: dict[str, tuple[str, ...]]
) -> dict[str, int] | None:
    """Counts that do not overlap; ``None`` where there are none.

    Args:
        spot: The span.
        attributes: Its attributes.
        names: What the counts are called there, by ours: input, output, cache_read, cache_write,
            reasoning. The first that is there counts.

    Raises:
        ImportFormatError: A count is no whole number.
    """
    found = {}
    for ours, theirs in names.items():
        value = next((attributes[key] for key in theirs if attributes.get(key) is not None), None)
        if isinstance(value, float) and is_finite(value) and value.is_integer():
            value = int(value)
        if isinstance(value, str) and value.isdecimal() and len(value) < 20:
            # Some backends keep every attribute as text.
            value = int(value)
        if value is not None:
            found[ours] = spot.count({theirs[0]: value}, theirs[0])
    if "input" not in found and "output" not in found:
        return None
    cached = {
        "cache_read_input_tokens": found.get("cache_read"),
        "cache_creation_input_tokens": found.get("cache_write"),
        "reasoning_tokens": found.get("reasoning"),
    }
    beside = found.get("cache_read", 0) + found.get("cache_write", 0) > found.get("input", 0)
    whole = ("input_tokens", "output_tokens") if beside else ("prompt_tokens", "completion_tokens")
    given = dict(zip(whole, (found.get("input"), found.get("output")), strict=True))
    return usage_from(spot, {**given, **cached})
