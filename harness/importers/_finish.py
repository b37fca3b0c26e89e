"""Why a model stopped, in the words of the providers and frameworks that say so."""

from __future__ import annotations

from typing import Any

#: Reasons by which a model ends by itself, in small letters; ``None`` where the source has none.
OWN_STOP = frozenset({None, "stop", "end_turn", "stop_sequence", "completed", "complete"})

_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
#: What OpenAI's Responses, and their items, say of how far they are.
_STATUS = ("completed", "incomplete", "failed", "cancelled", "in_progress", "queued")
#: Where a reply keeps its reason: itself, Chat Completions, LangChain's messages (also serialised)
#: and results, Gemini.
_HOLDERS: tuple[tuple[str | int, ...], ...] = (
    (),
    ("choices", 0),
    ("response_metadata",),
    ("kwargs", "response_metadata"),
    ("generations", 0, 0, "message", "kwargs", "response_metadata"),
    ("generations", 0, 0, "message", "response_metadata"),
    ("generations", 0, 0, "generation_info"),
    ("candidates", 0),
)


def finish_reason(reply: Any) -> str | None:
    """Why a reply ended, as its provider gives it; ``None`` where it does not say.

    Args:
        reply: As a provider or a framework has it; of a list of messages or items the last counts.
    """
    if isinstance(reply, list):
        reply = reply[-1] if reply else None
    return next((reason for path in _HOLDERS if (reason := _said(_within(reply, path)))), None)


def is_own_stop(reason: str | None) -> bool:
    """Whether a model that ended for this reason ended by itself and was not cut off."""
    return (reason.lower() if reason else None) in OWN_STOP


def _said(holder: Any) -> str | None:
    if not isinstance(holder, dict):
        return None
    # A response's own word comes before its status, which only tells that it is incomplete.
    words = [_within(holder, ("incomplete_details", "reason"))]
    words += [holder.get(key) for key in _REASONS]
    words += [holder.get("status")] if holder.get("status") in _STATUS else []
    return next((word for word in words if isinstance(word, str) and word), None)


def _within(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and len(value) > key else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value
