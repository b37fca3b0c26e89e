"""Labelled examples for rules that read texts: bundled ones, and a user's own file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, choices
from harness.triage import CLASSES

#: What can be labelled, with the keys of an example.
KINDS: Mapping[str, tuple[str, ...]] = {
    "triage": ("text", "label"),
    "similarity": ("a", "b", "same"),
    "spin": ("a", "b", "same"),
    "continuity": ("message", "goal", "label"),
}
_LABELS = {"triage": (*CLASSES, "none"), "continuity": ("same", "new")}


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled example.

    Attributes:
        kind: What it is an example for, a key of ``KINDS``.
        data: Its fields.
        hard: Why it is easily misjudged; empty if it is not said to be.
    """

    kind: str
    data: Mapping[str, Any]
    hard: str = ""


@cache
def bundled() -> tuple[Example, ...]:
    """The labelled examples that come with the harness."""
    found = []
    for kind in KINDS:
        text = files("harness.data").joinpath("labelled", f"{kind}.toml").read_text("utf-8")
        for data in tomllib.loads(text)["examples"]:
            if kind == "spin":
                data = {**data, "a": _call(data["a"]), "b": _call(data["b"])}  # noqa: PLW2901
            found.append(Example(kind, data, data.get("hard", "")))
    return tuple(found)


def _call(written: Sequence[str]) -> dict[str, Any]:
    tool, args, result = written
    return {"tool": tool, "args": json.loads(args), "result": result}


def read_labelled(path: Path) -> tuple[Example, ...]:
    """Labelled examples of your own: one JSON object a line.

    ``{"text", "label"}`` is triage, ``{"message", "goal", "label"}`` continuity, ``{"a", "b",
    "same"}`` similarity where both are texts and spin where both are calls (``{"tool", "args",
    "result"}``).

    Raises:
        HarnessError: A line that is no such example; names file, line and rule.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"labels {path}: cannot be read: {error}") from error
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                data = json.loads(line)
            except ValueError as error:
                raise HarnessError(f"labels {path}:{number}: not valid JSON: {error}") from error
            found.append(_example(data, f"labels {path}:{number}"))
    if not found:
        raise HarnessError(f"labels {path}: holds no examples")
    return tuple(found)


def _example(data: Any, where: str) -> Example:
    if not isinstance(data, dict):
        raise HarnessError(f"{where}: must be an object")
    kind = next((k for k, keys in KINDS.items() if all(key in data for key in keys)), None)
    if kind is None:
        wanted = "; ".join(", ".join(keys) for keys in dict.fromkeys(KINDS.values()))
        raise HarnessError(f"{where}: must have the keys of one kind ({wanted})")
    if kind == "similarity" and isinstance(data["a"], dict) and isinstance(data["b"], dict):
        kind = "spin"
    for key in KINDS[kind]:
        types: type = bool if key == "same" else dict if kind == "spin" else str
        if not isinstance(data[key], types):
            raise HarnessError(f"{where}: {key}: must be a {types.__name__}")
    if kind == "spin" and not all(isinstance(data[k].get("tool"), str) for k in ("a", "b")):
        raise HarnessError(f"{where}: a and b: must name their tool")
    if kind in _LABELS and data["label"] not in _LABELS[kind]:
        raise HarnessError(f"{where}: label: {choices(data['label'], _LABELS[kind])}")
    return Example(kind, data, str(data.get("hard", "")))
