"""How a run ended, as far as the error of a span around it tells."""

from __future__ import annotations

import re
from typing import Any

#: What frameworks say where a limit of theirs was reached, and what its unit is to us.
_LIMITS = (
    # LangGraph counts super-steps of its graph, which are no model calls.
    (re.compile(r"Recursion limit of (\d{1,9}) reached"), "recursion_limit"),
    # A turn of OpenAI's Agents SDK is one model call.
    (re.compile(r"Max turns \((\d{1,9})\) exceeded"), "max_iterations"),
)


def ending_of(error: str) -> dict[str, Any]:
    """What ``recorded`` says of a run that ended with this error."""
    for words, limit in _LIMITS:
        if found := words.search(error):
            return {"exit_reason": "max_iterations", "limits": {limit: int(found[1])}}
    return {"exit_reason": "error"}
