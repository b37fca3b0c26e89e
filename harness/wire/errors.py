"""What an error body says, in words, and what the words of a recording say of the body again.

Agents branch on an error's type and code, so both stay with the words: ``too long {"type":
"invalid_request_error","code":"context_length_exceeded"}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.wire.form import as_json

#: What is kept of an error beside its message.
MARKS = ("type", "code", "param")
_LONGEST = 2000
_MARKED = re.compile(r'(.*) (\{"(?:type|code|param)":.*\})', re.DOTALL)


def error_in(data: Mapping[str, Any]) -> str | None:
    """The error that a reply holds although its status was good."""
    error = data.get("error")
    return None if not error else error_words(as_json({"error": error}))


def error_words(body: str) -> str:
    """What an error body says, in words where it has some, with its type and code.

    Args:
        body: The body as it came.
    """
    try:
        error = json.loads(body)
        error = error.get("error", error)
    except (ValueError, AttributeError, RecursionError):
        error = None
    message = error.get("message") if isinstance(error, dict) else error
    found = str(message or body)[:_LONGEST]
    if not message or not isinstance(error, dict):
        return found
    marks = {key: error[key] for key in MARKS if isinstance(error.get(key), str | int)}
    return f"{found} {as_json(marks)}" if marks else found


def error_from(words: str) -> tuple[str, dict[str, Any]]:
    """A recorded error as its message and what else the body said: the way back of ``error_words``.

    Args:
        words: As recorded, without the status.
    """
    found = _MARKED.fullmatch(words)
    try:
        marks = json.loads(found[2]) if found else {}
    except ValueError:
        marks = {}
    if found and marks and set(marks) <= set(MARKS):
        return found[1], marks
    return words, {}
