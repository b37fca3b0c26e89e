"""What a request says beside its conversation: system prompt, tools, model, settings.

A recorded reply keeps a hash of each, so that a replay can tell which of them has changed. Texts
are hashed without their secrets, which may differ from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.conversation import Framing
from harness.conversation.messages import SYSTEM, text_of
from harness.fingerprint import digest
from harness.redact import Redactor, same

_WORDS = {"system": "system prompt", "tools": "tools", "model": "model", "settings": "settings"}
#: Settings of the three ways of asking that change what a model says.
_SETTINGS = (
    "temperature", "top_p", "top_k", "n", "seed", "stop", "stop_sequences", "max_tokens",
    "max_completion_tokens", "max_output_tokens", "frequency_penalty", "presence_penalty",
    "logit_bias", "tool_choice", "parallel_tool_calls", "response_format", "text", "reasoning",
    "reasoning_effort", "verbosity", "thinking", "output_config",
)  # fmt: skip


def request_hash(body: Mapping[str, Any], request: Mapping[str, Any], redactor: Redactor) -> str:
    """Hashes of all parts, as ``system:1f… tools:0a… model:77… settings:c4…``.

    Args:
        body: The request as it was sent.
        request: The same as one of chat completions.
        redactor: Takes secrets out.
    """
    messages = (m for m in request.get("messages") or () if isinstance(m, Mapping))
    parts = {
        "system": [text_of(message) for message in messages if message.get("role") in SYSTEM],
        "tools": body.get("tools") or [],
        "model": body.get("model"),
        "settings": {name: body[name] for name in _SETTINGS if body.get(name) is not None},
    }
    return " ".join(f"{name}:{_hash(part, redactor)}" for name, part in parts.items())


def framing_of(hashes: str) -> Framing:
    """What tells whether two requests are one agent's, of what ``request_hash`` makes."""
    parts = _parts(hashes)
    return Framing(f"{parts['system']} {parts['tools']}", hashes)


def _hash(part: Any, redactor: Redactor) -> str:
    clean = redactor.value(part)
    return digest("request", same(json.dumps(clean, ensure_ascii=False, sort_keys=True)))


def changed(recorded: str | None, asked: str) -> list[str]:
    """Which parts differ, in words; none where the recording has no such hashes.

    Args:
        recorded: What a recorded reply keeps; of whatever origin.
        asked: What ``request_hash`` makes of the request now.
    """
    before, now = _parts(recorded or ""), _parts(asked)
    return [words for name, words in _WORDS.items() if before.get(name, now[name]) != now[name]]


def _parts(hashes: str) -> dict[str, str]:
    return {name: value for name, _, value in (each.partition(":") for each in hashes.split())}
