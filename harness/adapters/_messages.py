"""LangChain's messages as a guard takes them: replies, and the results of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.adapters._loop import tokens, unanswered


def observed(
    reply: Any,
    results: Mapping[str, Any] | None,
    held: frozenset[str | None] = frozenset(),
    errors: Mapping[str | None, str] | None = None,
) -> dict[str, Any]:
    """A reply with the results of its calls as a guard takes it; ``None``: no call ran.

    Calls that were ``held`` back did not run; ``errors`` is what calls raised that broke off a run.
    """
    about = reply.response_metadata
    calls = [] if results is None else [
        _call(call, results.get(call["id"] or ""), errors)
        for call in reply.tool_calls if call["id"] not in held
    ]  # fmt: skip
    for broken in reply.invalid_tool_calls:
        told = broken.get("error") or "the arguments are not one JSON object"
        call = {"tool": broken["name"] or "", "args": broken["args"], "result": told, "ok": False}
        calls.append(call)
    return {
        "text": str(reply.text),
        "calls": calls,
        "model": about.get("model_name") or about.get("model"),
        "usage": _usage(reply),
        "finish_reason": about.get("finish_reason") or about.get("stop_reason"),
    }


def _call(
    call: Mapping[str, Any], result: Any, errors: Mapping[str | None, str] | None
) -> dict[str, Any]:
    found = {"tool": call["name"], "args": call["args"]}
    if result is not None:
        return {**found, "result": str(result.text), "ok": result.status != "error"}
    return found if errors is None else unanswered(found, errors.get(call["id"]))


def _usage(reply: Any) -> dict[str, int] | None:
    usage = reply.usage_metadata
    if usage is None:
        return None
    inside = usage.get("input_token_details") or {}
    outside = usage.get("output_token_details") or {}
    return tokens(
        asked=usage["input_tokens"],
        answered=usage["output_tokens"],
        read=inside.get("cache_read") or 0,
        written=inside.get("cache_creation") or 0,
        reasoned=outside.get("reasoning") or 0,
    )
