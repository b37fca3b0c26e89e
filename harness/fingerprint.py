"""When two actions, results or texts count as the same.

Identity is a policy, because each choice errs on one side: arguments alone kill legitimate
polling, raw output misses loops whose output carries a process number. Fingerprints are
worked out once, when a scenario is loaded, and only compared afterwards.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

#: Policies by which two calls are the same action, loosest first.
IDENTITIES: dict[str, str] = {
    "action": "kind of action and tool",
    "args": "action plus canonical JSON arguments; an absent and a null argument are alike",
    "args+result": "args plus the result word for word",
    "args+normalised result": "args plus the result without ids, times, durations, hex, "
    "process numbers and temporary paths",
    "normalised": "as before, and arguments that are new by design (nonces, request ids) left out",
    "result": "tool plus the result word for word, whatever the arguments",
    "error": "last non-empty line of a failed call's result, normalised",
    "batch": "the set of the turn's calls by args; order does not matter",
}
DEFAULT_IDENTITY = "args+normalised result"

#: Policies that read the result of a call, and those that read its arguments.
_READ_RESULT = frozenset({"args+result", "args+normalised result", "normalised", "result", "error"})
_READ_ARGS = frozenset(IDENTITIES) - {"action", "result", "error"}

#: A result shorter than this counts as new only together with its arguments ("ok").
SHORT_RESULT = 40


@lru_cache(maxsize=1)
def _normalisation() -> tuple[int, list[tuple[re.Pattern[str], str]]]:
    data = tomllib.loads(files("harness.data").joinpath("normalise.toml").read_text("utf-8"))
    return data["version"], [(re.compile(r["pattern"]), r["with"]) for r in data["rule"]]


@lru_cache(maxsize=1)
def _one_off() -> re.Pattern[str]:
    data = tomllib.loads(files("harness.data").joinpath("normalise.toml").read_text("utf-8"))
    return re.compile(data["one_off_arguments"], re.IGNORECASE)


@lru_cache(maxsize=1)
def _transience() -> tuple[frozenset[int], re.Pattern[str]]:
    data = tomllib.loads(files("harness.data").joinpath("transient.toml").read_text("utf-8"))
    return frozenset(data["exit_codes"]), re.compile("|".join(data["patterns"]), re.IGNORECASE)


def normalisation_version() -> int:
    """Version of the normalisation rules; stored signals are kept under it."""
    return _normalisation()[0]


def digest(*parts: str) -> str:
    """A short deterministic hash of ``parts``, the same on every machine (64 bit, hex)."""
    hasher = blake2b(digest_size=8)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        hasher.update(len(raw).to_bytes(8, "big"))
        hasher.update(raw)
    return hasher.hexdigest()


@lru_cache(maxsize=256)
def normalise(text: str) -> str:
    """``text`` without what moves although nothing happened, white space collapsed."""
    for pattern, replacement in _normalisation()[1]:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def canonical(args: Any) -> str:
    """Arguments as JSON with sorted keys and without null members, so that equal ones compare.

    No arguments at all (null) and an empty object are alike.
    """
    args = {} if args is None else args
    return json.dumps(
        _without_null(args), sort_keys=True, separators=(",", ":"), default=str, ensure_ascii=False
    )


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _without_null(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_null(v) for v in value]
    return value


def last_line(text: str) -> str:
    """The last line with something on it, where tracebacks and compilers name the error."""
    for line in reversed(text.splitlines()):
        if line.strip():
            return line.strip()
    return ""


def is_transient(result: str | None, exit_code: int | None) -> bool:
    """Whether a failed call failed for a reason that may pass (HTTP 429, time-out, exit 124)."""
    codes, pattern = _transience()
    if exit_code in codes:
        return True
    return result is not None and pattern.search(result) is not None


def call_prints(tool: str, args: str, result: str | None, *, ok: bool) -> dict[str, str]:
    """Fingerprints of one call under each policy of ``IDENTITIES``."""
    action = digest("call", tool)
    with_args = digest(action, args)
    plain = "" if result is None else result
    prints = {
        "action": action,
        "args": with_args,
        "args+result": digest(with_args, plain),
        "args+normalised result": digest(with_args, normalise(plain)),
        "batch": with_args,
        "normalised": digest(action, _one_off().sub("", args), normalise(plain)),
        "result": digest("result", tool, plain),
    }
    if not ok:
        prints["error"] = digest("error", normalise(last_line(plain)))
    return prints


def captured_prints(prints: dict[str, str], *, args: bool, result: bool) -> dict[str, str]:
    """The fingerprints that can be told where arguments or the result were not captured."""
    unknown = (frozenset() if args else _READ_ARGS) | (frozenset() if result else _READ_RESULT)
    return {policy: found for policy, found in prints.items() if policy not in unknown}


def result_print(args: str, result: str) -> str:
    """What makes a result new: a long one by itself, a short one ("ok") with its arguments."""
    normal = normalise(result)
    return digest(args, normal) if len(normal) < SHORT_RESULT else digest(normal)
