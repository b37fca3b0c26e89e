"""A preset as the text of its file: complete, nothing inherited, the same bytes each time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from harness.errors import HarnessError
from harness.guards import Guard
from harness.mechanisms import Mechanisms
from harness.preset import SCHEMA, Preset
from harness.presetfile import MODELS, SETTINGS
from harness.text import inert

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def preset_text(preset: Preset, *, title: str, header: Iterable[str] = ()) -> str:
    """A preset file that loads as this preset.

    Args:
        preset: What is written; its name is the file's.
        title: One line.
        header: Lines of a comment above it.
    """
    lines = [f"# {inert(' '.join(line.split()))}".rstrip() for line in header]
    lines += [f"schema = {_text(SCHEMA)}", f"title = {_text(title)}"]
    if preset.observe:
        lines.append("observe = true")
    lines += ["", "[guards]"]
    lines += [f"{_key(name)} = {_guard(name, guard, preset.guards)}"
              for name, guard in preset.guards.items()]  # fmt: skip
    mechanisms = _mechanisms(preset.mechanisms)
    if mechanisms:
        lines += ["", "[mechanisms]", *(f"{k} = {_value(v)}" for k, v in mechanisms.items())]
    models = {k: v for k, v in preset.models.items() if MODELS.get(k) != v}
    if models:
        lines += ["", "[models]", *(f"{k} = {_value(v)}" for k, v in models.items())]
    own = {k: getattr(preset, k) for k, v in SETTINGS.items() if getattr(preset, k) != v}
    if own:
        lines += ["", "[settings]", *(f"{k} = {_value(v)}" for k, v in own.items())]
    return "\n".join(lines) + "\n"


def _guard(name: str, guard: Guard, all_guards: Mapping[str, Guard]) -> str:
    table: dict[str, Any] = {} if guard.kind() == name else {"kind": guard.kind()}
    table["threshold"] = guard.threshold
    defaults = {f.name: f.default for f in fields(guard)}
    table |= {k: v for k, v in guard.settings().items() if v != defaults[k]}
    if guard.on_fire is not None:
        table["on_fire"] = guard.on_fire
    parts = getattr(guard, "guards", None)
    if parts is not None:
        table["guards"] = [_named(name, part, all_guards) for part in parts]
    if set(table) == {"threshold"} and guard.bare_number and math.isfinite(guard.threshold):
        return _value(guard.threshold)
    return _value(table)


def _named(name: str, part: Guard, all_guards: Mapping[str, Guard]) -> str:
    for other, guard in all_guards.items():
        if guard == part:
            return other
    raise HarnessError(
        f"tune: guard {name} combines a guard that the preset does not have by itself; vary "
        "guards that no combination names"
    )


def _mechanisms(found: Mechanisms) -> dict[str, Any]:
    """What is on: ``true``, or the settings that are not the usual ones."""
    kept: dict[str, Any] = {}
    for name in Mechanisms.model_fields:
        value = getattr(found, name)
        if value is None or value is False or value == 0:
            continue
        if isinstance(value, bool | int):
            kept[name] = value
        else:
            kept[name] = value.model_dump(mode="json", exclude_defaults=True) or True
    return kept


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        if math.isinf(value):
            return "inf"
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_value(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(_value(one) for one in value) + "]"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    # A JSON string is a TOML basic string, but for lone surrogates and DEL, which are made inert.
    return json.dumps(inert(text), ensure_ascii=False)
