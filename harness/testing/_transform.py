"""Changes to a scenario that a guard must not notice, or must notice in a known way.

Each takes the plain data of a scenario and changes it in place.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from harness.fingerprint import digest

Data = dict[str, Any]

_ID = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"
    r"|\b(?:call|job|msg|req|request|run|session|span|task|trace)[_-](?=[A-Za-z]*\d)[^\W_]{5,}\b"
)
_MOMENT = re.compile(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}")
_EPOCH = re.compile(r"\b1[5-9]\d{8}(?:\d{3})?\b")
_START = datetime(2026, 1, 2, 3, 4, 5)


def steps_of(data: Data) -> Iterator[Data]:
    """The steps of the trunk: what is measured in observe mode."""
    yield from data["steps"]


def calls_of(data: Data) -> Iterator[Data]:
    """All calls of the trunk, in order."""
    for step in steps_of(data):
        yield from step.get("calls", ())


def mark_ids(data: Data, rng: random.Random) -> None:
    """Arguments and results carry ids, equal ones where they are equal; few recordings do."""
    for call in calls_of(data):
        args, result = call.get("args"), call.get("result")
        if args is None or isinstance(args, dict):
            call["args"] = {"ref": f"req_{digest('args', str(args))}"} | (args or {})
        if (result or "").strip():
            call["result"] = f"{digest('result', str(result))} {result}"


def rename_ids(data: Data, rng: random.Random) -> None:
    """Opaque ids in arguments and results get other names of the same shape."""
    mark_ids(data, rng)
    known: dict[str, str] = {}
    used: set[str] = set()

    def other(found: re.Match[str]) -> str:
        name = found[0]
        prefix = re.match(r"[a-z]+[_-]", name)
        start = prefix.end() if prefix and not re.fullmatch(r"[0-9a-f-]+", name) else 0
        while name not in known:
            made = name[:start] + "".join(_alike(c, rng) for c in name[start:])
            if made not in used:
                known[name] = made
                used.add(made)
        return known[name]

    for call in calls_of(data):
        for key in ("args", "result"):
            if key in call:
                call[key] = _texts(call[key], lambda text: _ID.sub(other, text))


def _alike(char: str, rng: random.Random) -> str:
    """A character of the same class, so that the name keeps its shape."""
    for alphabet in (string.digits, "abcdef", "ABCDEF", string.ascii_lowercase):
        if char in alphabet:
            return rng.choice(alphabet)
    return rng.choice(string.ascii_uppercase) if char in string.ascii_uppercase else char


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _texts(item, change) for key, item in value.items()}
    return [_texts(item, change) for item in value] if isinstance(value, list) else value


def rename_tools(data: Data, rng: random.Random) -> None:
    """Every tool gets another name, in the calls and where tools are declared."""
    if any(check["kind"] == "script" for p in data.get("phases", ()) for check in p["checks"]):
        return  # such a check knows terminals by their names
    names: dict[str, str] = {}

    def other(name: str) -> str:
        return names.setdefault(name, f"tool_{len(names) + 1}_{rng.randrange(10**6):06}")

    if data.get("tools"):
        data["tools"] = {other(name): tool for name, tool in data["tools"].items()}
    for call in calls_of(data):
        call["tool"] = other(call["tool"])


def shuffle_parallel_calls(data: Data, rng: random.Random) -> None:
    """The calls of one step come in another order."""
    for step in steps_of(data):
        calls = step.get("calls", [])
        before = list(calls)
        rng.shuffle(calls)
        if calls == before:
            calls.reverse()


def respell_arguments(data: Data, rng: random.Random) -> None:
    """Keys of arguments in another order, and one more that is null."""
    for call in calls_of(data):
        args = call.get("args")
        if args is None or isinstance(args, dict):
            call["args"] = {"unset": None} | _reordered(args or {}, rng)


def _reordered(value: Any, rng: random.Random) -> Any:
    if isinstance(value, list):
        return [_reordered(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    rng.shuffle(keys)
    return {key: _reordered(value[key], rng) for key in keys}


def insert_nudge(data: Data, rng: random.Random) -> None:
    """The framework reminds the agent ahead of about every other step."""
    for step in steps_of(data):
        if "nudge" not in step and rng.random() < 0.5:
            step["nudge"] = "Reminder from the framework: keep to the task."


def stamp(data: Data, rng: random.Random) -> None:
    """Every result begins with one and the same time."""
    _stamped(data, lambda: _START)


def shift_timestamps(data: Data, rng: random.Random) -> None:
    """Every result begins with its own time, and each time in it is another one."""
    elapsed = 0

    def moved() -> datetime:
        nonlocal elapsed
        elapsed += rng.randrange(1, 5000)
        return _START + timedelta(seconds=elapsed)

    for call in calls_of(data):
        if call.get("result"):
            text = _MOMENT.sub(lambda found: moved().strftime(f"%Y-%m-%d{found[0][10]}%H:%M:%S"),
                               call["result"])  # fmt: skip
            call["result"] = _EPOCH.sub(
                lambda found: str(rng.randrange(15 * 10**8, 20 * 10**8)) + found[0][10:], text
            )
    _stamped(data, moved)


def _stamped(data: Data, moment: Callable[[], datetime]) -> None:
    for call in calls_of(data):
        if (call.get("result") or "").strip():
            call["result"] = f"{moment():%Y-%m-%dT%H:%M:%SZ} {call['result']}"


def append_suffix(data: Data, rng: random.Random) -> None:
    """The recording goes on: its first steps come once more."""
    data["steps"] = data["steps"] + [dict(step) for step in data["steps"][:3]]
