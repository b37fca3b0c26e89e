"""Bodies of requests and replies: whole or streamed, good or failed, in each way of asking.

One file a way; all are read as chat completions, and recorded replies are written again in each.
"""

from __future__ import annotations

from harness.wire.anthropic import MESSAGES
from harness.wire.chat import CHAT, answer_from
from harness.wire.errors import error_from, error_in, error_words
from harness.wire.form import Format, Said, as_json, events_in, said_from
from harness.wire.responses import RESPONSES

__all__ = [
    "FORMATS",
    "Format",
    "Said",
    "answer_from",
    "as_json",
    "error_from",
    "error_in",
    "error_words",
    "events_in",
    "format_of",
    "said_from",
]

FORMATS = (CHAT, RESPONSES, MESSAGES)


def format_of(method: str, path: str) -> Format | None:
    """The way of asking that a request takes; ``None`` for anything else."""
    if method != "POST":
        return None
    return next((form for form in FORMATS if path.endswith(form.route)), None)
