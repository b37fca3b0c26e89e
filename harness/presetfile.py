"""From a preset file's tables to guards, mechanisms and settings; errors name key and choices."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import cache
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import PresetError, choices
from harness.guards import ACTIONS, Guard, guard_class
from harness.guards.all_of import AllOf
from harness.guards.any_of import AnyOf
from harness.mechanisms import Mechanisms
from harness.turns import WAIT_MS
from harness.validation import problem

#: Models of the two classes that mechanisms choose from; `[models]` names others.
MODELS: dict[str, str] = {"fast": "gpt-4o-mini", "quality": "gpt-4o"}
SETTINGS: dict[str, Any] = {"escalate_below": 0.6, "wait_ms": WAIT_MS, "on_limit": "best"}


#: Above it a threshold is a mistake; every signal stays below.
MAX_THRESHOLD = 1e15
#: Keys that set the threshold; a child that uses one replaces whichever its parent used.
_THRESHOLD_KEYS = frozenset({"threshold", "bare", "min_delta", "limit_s", "limit_usd"})


def merged(path: Path, name: str, inherited: Any, value: Any) -> Any:
    """A child's entry over its parent's: a table is merged key by key, a number likewise."""
    if value is False:
        return False
    if isinstance(value, bool) or not isinstance(value, int | float | dict):
        raise PresetError(
            f"preset {path}: guards.{name}: must be a threshold, a table, or false for off; "
            f"found {value!r}"
        )
    own = dict(value) if isinstance(value, dict) else {"bare": value}
    if not isinstance(inherited, dict):
        return own
    kind = inherited.get("kind", name)
    if own.get("kind", kind) != kind:
        return own
    if _THRESHOLD_KEYS & set(own):
        inherited = {k: v for k, v in inherited.items() if k not in _THRESHOLD_KEYS}
    return inherited | own


def guard_from(
    path: Path, name: str, raw: dict[str, Any], parts: tuple[Guard, ...] | None = None
) -> Guard:
    """A guard from its table; ``parts`` are the guards that a combination names."""
    values = dict(raw)
    if parts is not None:
        values["guards"] = []
    try:
        cls = guard_class(str(values.pop("kind", name)))
    except PresetError as error:
        raise PresetError(f"preset {path}: guards.{name}: {error}") from None
    names = {"threshold": 1, **cls.aliases}
    if "bare" in values:
        if not cls.bare_number:
            raise PresetError(
                f"preset {path}: guards.{name}: a bare number is ambiguous here, found "
                f"{values['bare']!r}; write a table with one of: {', '.join(sorted(names))}"
            )
        values["threshold"] = values.pop("bare")
    used = [key for key in names if key in values]
    if len(used) > 1:
        raise PresetError(f"preset {path}: guards.{name}: set one of {used}, not all of them")
    for key in used:
        value = values.pop(key)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (0 <= value <= MAX_THRESHOLD or value == inf):
            raise PresetError(
                f"preset {path}: guards.{name}.{key}: must be a number from 0 to "
                f"{MAX_THRESHOLD:g}, or inf to record only; found {value!r}"
            )
        whole = names[key] != 1 and isfinite(value)
        values["threshold"] = round(value * names[key]) if whole else value
    _check_actions(path, name, values.get("on_fire"))
    try:
        # Through JSON, because strict validation takes a table for a guard only there.
        guard = _adapter(cls).validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        allowed = [*(f.name for f in fields(cls)), "kind", *cls.aliases]
        raise PresetError(f"preset {path}: guards.{name}{problem(error, allowed)}") from None
    # Set afterwards: they are guards already, not tables to validate.
    return replace(guard, guards=parts) if parts and isinstance(guard, AllOf | AnyOf) else guard


@cache
def _adapter(cls: type[Guard]) -> TypeAdapter[Guard]:
    return TypeAdapter(cls)


def _check_actions(path: Path, name: str, on_fire: Any) -> None:
    if on_fire is None:
        return
    steps = list(on_fire.values()) if isinstance(on_fire, dict) else on_fire
    for step in steps if isinstance(steps, list) else [steps]:
        if not isinstance(step, str) or step not in ACTIONS:
            raise PresetError(f"preset {path}: guards.{name}.on_fire: {choices(step, ACTIONS)}")
    for level in on_fire if isinstance(on_fire, dict) else ():
        if not _is_number(level):
            raise PresetError(
                f"preset {path}: guards.{name}.on_fire: levels are signal values, found {level!r}"
            )


def _is_number(text: str) -> bool:
    try:
        return not isnan(float(text))
    except ValueError:
        return False


def parts_from(
    path: Path, name: str, raw: dict[str, Any], built: dict[str, Guard]
) -> tuple[Guard, ...]:
    """The guards that a combination names, which must be built already."""
    parts = raw["guards"]
    if not isinstance(parts, list) or not parts:
        raise PresetError(f"preset {path}: guards.{name}.guards: must list names of other guards")
    for part in parts:
        if not isinstance(part, str) or part not in built:
            raise PresetError(f"preset {path}: guards.{name}.guards: {choices(part, built)}")
    return tuple(built[part] for part in parts)


def mechanisms_from(path: Path, raw: dict[str, Any]) -> Mechanisms:
    """The mechanisms that a file switches on."""
    values: dict[str, Any] = {}
    for name, value in raw.items():
        field = Mechanisms.model_fields.get(name)
        if field is None:
            known = choices(name, Mechanisms.model_fields)
            raise PresetError(f"preset {path}: mechanisms: {known}")
        tabular = field.default is None
        values[name] = ({} if value else None) if tabular and isinstance(value, bool) else value
    try:
        return Mechanisms.model_validate(values)
    except ValidationError as error:
        raise PresetError(f"preset {path}: mechanisms{_mechanism_problem(error)}") from None


def _mechanism_problem(error: ValidationError) -> str:
    """The first problem; where it is an unknown key, with the keys that the mechanism has."""
    name = str(error.errors()[0]["loc"][0])
    shape = Mechanisms.model_fields[name].annotation
    models = [part for part in getattr(shape, "__args__", ()) if hasattr(part, "model_fields")]
    return problem(error, [key for model in models for key in model.model_fields])


def models_from(path: Path, raw: dict[str, Any]) -> dict[str, str]:
    """Model names of the classes ``fast`` and ``quality``."""
    for key, value in raw.items():
        if key not in MODELS:
            raise PresetError(f"preset {path}: models: {choices(key, MODELS)}")
        if not isinstance(value, str):
            raise PresetError(f"preset {path}: models.{key}: must be a name, found {value!r}")
    return raw


def settings_from(path: Path, raw: dict[str, Any]) -> dict[str, Any]:
    """The other settings of a preset."""
    for key, value in raw.items():
        if key not in SETTINGS:
            raise PresetError(f"preset {path}: settings: {choices(key, SETTINGS)}")
        if key == "on_limit":
            if value not in ("best", "raise"):
                raise PresetError(
                    f"preset {path}: settings.on_limit: {choices(value, ['best', 'raise'])}"
                )
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
            raise PresetError(f"preset {path}: settings.{key}: must be 0 or more, found {value!r}")
        elif key == "wait_ms" and not isinstance(value, int):
            raise PresetError(
                f"preset {path}: settings.{key}: must be whole milliseconds, found {value!r}"
            )
    return raw
