"""Chat messages in the shapes in use, as one plain kind of message."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from harness.errors import choices
from harness.importers._base import Place, shown
from harness.importers._finish import finish_reason
from harness.importers._usage import usage_from
from harness.text import mended

#: What roles are called, by what they are to us.
ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "function_response": "tool",
    "observation": "tool",
}
_PROSE = ("text", "input_text", "output_text")
#: Where parts of other kinds have their words.
SAID = {"refusal": "refusal", "input_audio": "transcript", "output_audio": "transcript"}
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_MS_A_YEAR = 366 * 86_400_000


@dataclass(slots=True)
class Result:
    """What came back from a call; ``failed`` where the message itself says so."""

    call_id: str | None
    tool: str | None
    text: str
    failed: bool
    exit_code: int | None = None


@dataclass(slots=True)
class Message:
    """One message.

    Attributes:
        calls: Id (``None`` where there is none) and call, as a scenario has it.
        reply: Model, finish reason, usage, time and error, as a scenario has them.
        at_ms: When it was there.
    """

    role: str
    text: str = ""
    calls: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)
    score: Any = None
    ms: int | None = None
    at_ms: int | None = None


def message_from(spot: Place, raw: Any) -> Message:
    """One message of a transcript; a response of Chat Completions is an assistant message.

    Raises:
        ImportFormatError: It is no object, its role is unknown, or a part has another type.
    """
    if not isinstance(raw, dict):
        raise spot.error(f"must be an object with 'role' and 'content', found {shown(raw)}")
    about: dict[str, Any] = raw
    if response := _response(spot, raw):
        (choice, *_) = spot.get(response, "choices", list) or [{}]
        inner = spot.get(choice, "message", dict)
        about = {**raw, **response, **_given(choice, "finish_reason"), **inner}
        about.setdefault("role", "assistant")
    name = about.get("role") or about.get("from") or about.get("type")
    if not isinstance(name, str) or name not in ROLES:
        raise spot.error(f"key 'role': {choices(name, ROLES)}")
    found = Message(ROLES[name])
    content = about.get("content", about.get("value"))
    if found.role == "tool":
        found.results.append(_result(spot, about, content))
    elif name == "function_call":
        found.calls.append((None, _call(loaded(content), spot)))
    else:
        found.text = _content(spot, content, found)
    if found.role == "assistant":
        found.text = found.text or _instead(about)
        _take_calls(spot, about, found)
        _take_reply(spot, about, found)
        found.score = about.get("score")
    found.ms = next(
        (milliseconds(spot, about, key) for key in _SPANS if about.get(key) is not None), None
    )
    stamp = next((about[key] for key in ("timestamp", "created_at") if about.get(key)), None)
    found.at_ms = None if stamp is None else moment(spot, stamp)
    return found


def _instead(about: dict[str, Any]) -> str:
    """What stands for the content: words of refusal, or what was said aloud."""
    audio = about.get("audio")
    spoken = audio.get("transcript") if isinstance(audio, dict) else None
    return next((text for text in (about.get("refusal"), spoken) if isinstance(text, str)), "")


def _response(spot: Place, raw: dict[str, Any]) -> dict[str, Any] | None:
    if "choices" in raw:
        return raw
    inner = raw.get("response")
    return inner if isinstance(inner, dict) and "choices" in inner else None


def _given(holder: dict[str, Any], key: str) -> dict[str, Any]:
    return {} if holder.get(key) is None else {key: holder[key]}


def _content(spot: Place, content: Any, found: Message | None) -> str:
    """The text; calls and results among the parts go to ``found``."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise spot.error(
            f"key 'content' must be a text, a list of parts or null, found {shown(content)}"
        )
    texts = []
    for number, part in enumerate(content, 1):
        at = spot.at(f"part {number}")
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = at.get_or_none(part, "type", str) or "part"
        if kind in _PROSE or (kind == "part" and "text" in part):
            texts.append(at.get(part, "text", str))
        elif isinstance(text := part.get(SAID.get(kind, "")), str):
            texts.append(text)
        elif kind == "tool_use" and found is not None:
            found.calls.append((at.get_or_none(part, "id", str), _call(part, at)))
        elif kind == "tool_result" and found is not None:
            found.results.append(_result(at, part, part.get("content")))
        elif kind not in _THOUGHTS:
            texts.append(f"[{kind}]")
    return "\n".join(texts)


def _take_calls(spot: Place, about: dict[str, Any], found: Message) -> None:
    for number, item in enumerate(spot.get_or_none(about, "tool_calls", list) or (), 1):
        at = spot.at(f"tool call {number}")
        found.calls.append((at.get_or_none(item, "id", str), _call(item, at)))
    if (legacy := spot.get_or_none(about, "function_call", dict)) is not None:
        found.calls.append((None, _call(legacy, spot)))


def _call(item: Any, spot: Place) -> dict[str, Any]:
    """Arguments that are no JSON object make a failed call."""
    inner = spot.get_or_none(item, "function", dict) or item
    if isinstance(custom := inner.get("custom"), dict) and "name" not in inner:
        # The input of a custom tool is a text of any kind.
        return {"tool": spot.get(custom, "name", str), "args": {"input": custom.get("input")}}
    keys = ("arguments", "args", "input", "parameters")
    raw = next((inner[key] for key in keys if isinstance(inner, dict) and key in inner), None)
    args = loaded(raw) if isinstance(raw, str) and raw.strip() else raw or {}
    call = {"tool": spot.get(inner, "name", str)}
    if isinstance(args, dict):
        return {**call, "args": args} if args else call
    return {**call, "args": {"unparsed": raw}, "ok": False}


def loaded(raw: Any) -> Any:
    """A JSON text as a value; what is none stays as it is."""
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
        if isinstance(raw, str) and "\\ud" in raw.lower():
            value = mended(value)
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which no JSON can hold
    except (ValueError, RecursionError):
        return raw
    return value


def _dumped(spot: Place, value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise spot.error("nested too deeply") from None


def _result(spot: Place, about: dict[str, Any], content: Any) -> Result:
    plain = isinstance(content, str | list) or content is None
    text = _content(spot, content, None) if plain else _dumped(spot, content)
    told = loaded(text) if text.lstrip().startswith("{") else {}
    known = {**told, **about} if isinstance(told, dict) else about
    code = known.get("exit_code")
    whole = type(code) is int and abs(code) < 2**31
    call_id = spot.get_or_none(about, "tool_call_id", str)
    return Result(
        call_id or spot.get_or_none(about, "tool_use_id", str),
        spot.get_or_none(about, "name", str),
        text,
        True in (known.get("is_error"), known.get("isError")) or known.get("status") == "error",
        code if whole else None,
    )


def _take_reply(spot: Place, about: dict[str, Any], found: Message) -> None:
    if model := spot.get_or_none(about, "model", str):
        found.reply["model"] = model
    if reason := spot.get_or_none(about, "finish_reason", str) or finish_reason(about):
        found.reply["finish_reason"] = reason
    error = about.get("error")
    if error:
        words = error.get("message") if isinstance(error, dict) else error
        found.reply["error"] = words if isinstance(words, str) else _dumped(spot, error)
    extra = about.get("response_metadata")
    inner = extra.get("token_usage") if isinstance(extra, dict) else None
    for key in ("usage", "usage_metadata"):
        if about.get(key) is not None:
            inner = spot.get(about, key, dict)
            break
    if isinstance(inner, dict) and (counts := usage_from(spot.at("usage"), inner)) is not None:
        found.reply["usage"] = counts


_SPANS = ("ms", "latency_ms", "duration_ms")


def milliseconds(spot: Place, about: dict[str, Any], key: str) -> int:
    """``about[key]``, a time in ms, as a whole number."""
    value = spot.number(about, key)
    if not 0 <= value <= _MS_A_YEAR:
        raise spot.error(f"key {key!r} must lie between 0 and {_MS_A_YEAR}, found {shown(value)}")
    return round(value)


def moment(spot: Place, stamp: Any) -> int:
    """A time stamp in ms: seconds or ms since 1970, or ISO 8601."""
    if isinstance(stamp, str):
        try:
            when = datetime.fromisoformat(stamp)
            return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError, OSError):
            pass
    elif isinstance(stamp, int | float) and not isinstance(stamp, bool) and 0 <= stamp < 1e14:
        # Seconds stay below this for 3,000 years, milliseconds passed it in 1973.
        return round(stamp if stamp >= 1e11 else stamp * 1000)
    raise spot.error(
        f"a time stamp must be seconds or ms since 1970 or ISO 8601, found {shown(stamp)}"
    )


def moment_ns(spot: Place, stamp: Any) -> int | None:
    """A time stamp in ns, as spans have them; ``None`` where there is none."""
    return None if stamp is None else moment(spot, stamp) * 1_000_000
