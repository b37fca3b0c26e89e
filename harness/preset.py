"""Presets: named sets of guards, thresholds and mechanisms, as TOML files that can extend.

A file looks like this::

    schema = "harness/preset@1"
    title = "Reflection with a tighter round limit"
    extends = "reflection"

    [guards]
    max_rounds = 3                                   # a bare number is the threshold
    stagnation = { window = 3, min_delta = 0.01 }
    repetition = false                               # off
    spin_text = { kind = "spin", on = "text", threshold = 4, on_fire = ["warn", "stop"] }

    [mechanisms]
    triage = true
    judge = { model = "fast" }
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from harness.errors import PresetError, choices
from harness.fingerprint import digest, normalisation_version
from harness.guards import ACTIONS, Guard, guard_class
from harness.guards.all_of import AllOf
from harness.guards.any_of import AnyOf
from harness.mechanisms import Mechanisms
from harness.scenario import Limits
from harness.turns import WAIT_MS
from harness.validation import problem

SCHEMA = "harness/preset@1"
_KEYS = {"schema", "title", "extends", "observe", "guards", "mechanisms", "models", "settings"}
#: Models of the two classes that mechanisms choose from; `[models]` names others.
MODELS: dict[str, str] = {"fast": "gpt-4o-mini", "quality": "gpt-4o"}
_SETTINGS: dict[str, Any] = {"escalate_below": 0.6, "wait_ms": WAIT_MS, "on_limit": "best"}


@dataclass(frozen=True)
class Preset:
    """A resolved preset: nothing left to inherit or to look up.

    Attributes:
        observe: Every guard and path only records; the recording runs to its end.
        guards: By name, in the order of the file; names differ from kinds where one is used twice.
        escalate_below: An episode that did not succeed and whose best score is below this (or
            unknown) needs a human.
        wait_ms: A call of at least this many milliseconds counts as waiting.
        on_limit: What a live loop does at a limit: return the ``best`` result or ``raise``.
        source: How to load it again: its name or its file.
        models: Names of the models of the classes ``fast`` and ``quality``.
    """

    name: str
    title: str
    observe: bool
    guards: Mapping[str, Guard]
    mechanisms: Mechanisms
    escalate_below: float = 0.6
    wait_ms: int = WAIT_MS
    on_limit: Literal["best", "raise"] = "best"
    source: str = ""
    models: Mapping[str, str] = field(default_factory=lambda: dict(MODELS))

    def as_data(self) -> dict[str, Any]:
        """Everything that can influence an episode, as plain data."""
        return {
            "name": self.name,
            "observe": self.observe,
            "guards": {name: guard_data(guard) for name, guard in self.guards.items()},
            "mechanisms": self.mechanisms.model_dump(mode="json"),
            "escalate_below": self.escalate_below,
            "wait_ms": self.wait_ms,
            "on_limit": self.on_limit,
            "models": dict(self.models),
            "normalisation": normalisation_version(),
        }

    @cached_property
    def hash(self) -> str:
        """Hash of the resolved preset, its name included."""
        return digest("preset", json.dumps(self.as_data(), sort_keys=True))

    def observed(self) -> Preset:
        """The same preset in observe mode."""
        return replace(self, observe=True)

    def with_limits(self, limits: Limits) -> Preset:
        """The preset under a task's own limits.

        A limit sets its guard's threshold, adds the guard (as ``stop``) where the preset lacks
        it, and removes its warnings; ``patience`` replaces stagnation.
        """
        if limits == Limits():
            return self
        guards = dict(self.guards)
        for limit, (kind, parameter, factor) in _LIMITS.items():
            value = getattr(limits, limit)
            if value is None:
                continue
            names = [kind] if kind in guards else _of_kind(guards, kind)
            for name in names or [kind]:
                guard = guards.get(name)
                changed = {parameter: round(value * factor) if factor != 1 else value}
                if guard is None:
                    guards[name] = guard_class(kind)(**changed, on_fire="stop")
                else:
                    guards[name] = _hardened(replace(guard, **changed))
        if limits.patience is not None:
            for name in _of_kind(guards, "stagnation"):
                del guards[name]
        mechanisms = self.mechanisms
        if limits.watchdog_s is not None and mechanisms.verification is not None:
            verification = mechanisms.verification.model_copy(
                update={"watchdog_s": limits.watchdog_s}
            )
            mechanisms = mechanisms.model_copy(update={"verification": verification})
        return replace(self, guards=guards, mechanisms=mechanisms)


#: A task's limit: which guard, which of its parameters, in how many of the limit's units.
_LIMITS: dict[str, tuple[str, str, int]] = {
    "quality": ("quality", "threshold", 1),
    "stagnation_window": ("stagnation", "window", 1),
    "min_delta": ("stagnation", "threshold", 1),
    "patience": ("patience", "threshold", 1),
    "max_rounds": ("max_rounds", "threshold", 1),
    "max_iterations": ("max_iterations", "threshold", 1),
    "time_budget_s": ("time_budget", "threshold", 1000),
    "token_budget": ("token_budget", "threshold", 1),
    "cost_budget_usd": ("cost_budget", "threshold", 10**12),
    "tool_budget": ("tool_budget", "threshold", 1),
    "spin": ("spin", "threshold", 1),
    "oscillation": ("oscillation", "threshold", 1),
    "parse_failures": ("parse_failures", "threshold", 1),
}


def _of_kind(guards: Mapping[str, Guard], kind: str) -> list[str]:
    return [name for name, guard in guards.items() if guard.kind() == kind]


def _hardened(guard: Guard) -> Guard:
    """Without warnings: a limit of the task itself is meant."""
    soft = {"warn", "nudge", "observe"}
    action = guard.action
    if isinstance(action, str):
        return replace(guard, on_fire="stop") if action in soft else guard
    if isinstance(action, tuple):
        kept = tuple(step for step in action if step not in soft)
        return replace(guard, on_fire=kept or "stop")
    return replace(guard, on_fire={k: v for k, v in action.items() if v not in soft} or "stop")


def guard_data(guard: Guard) -> dict[str, Any]:
    """A guard as plain data: kind, threshold, what it does, and its structural settings."""
    action, threshold = guard.action, guard.threshold
    data: dict[str, Any] = {
        "kind": guard.kind(),
        # 3 and 3.0 are equal, so they have to look equal in hashes too.
        "threshold": int(threshold) if float(threshold).is_integer() else threshold,
        "on_fire": dict(action) if isinstance(action, Mapping) else action,
        **guard.settings(),
    }
    parts = getattr(guard, "guards", None)
    if parts is not None:
        data["guards"] = [guard_data(part) for part in parts]
    return data


#: What `harness run` compares when no preset is named.
DEFAULTS = ("observe", "cost", "strict", "fast", "reflection", "engine", "balanced")


@cache
def bundled() -> dict[str, Path]:
    """Files of the presets that come with the harness, by name: its own, then peers'."""
    folder = Path(str(files("harness.presets")))
    found = [*sorted(folder.glob("*.toml")), *sorted(folder.glob("peers/*.toml"))]
    return {path.stem: path for path in found}


def load_preset(name: str) -> Preset:
    """Load a preset by name, or from a file ending in ``.toml``.

    Raises:
        PresetError: Unknown name, or a file that breaks a rule; the message names file, key,
            value and choices.
    """
    return _build(name, _chain(name, ()))


def load_presets(names: Iterable[str]) -> list[Preset]:
    """Load several presets; each name may be used once.

    Raises:
        PresetError: As ``load_preset``; also if two presets have the same name.
    """
    presets: dict[str, Preset] = {}
    for name in names:
        preset = load_preset(name)
        if preset.name in presets:
            raise PresetError(f"preset {preset.name!r} is asked for twice")
        presets[preset.name] = preset
    return list(presets.values())


def _chain(name: str, seen: tuple[str, ...]) -> list[tuple[Path, dict[str, Any]]]:
    """The files from the root of the inheritance down to ``name``."""
    path = _find(name, base=Path(seen[-1]).parent if seen else None)
    if str(path) in seen:
        raise PresetError(f"preset {path}: extends itself through {' -> '.join(seen)}")
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise PresetError(f"preset {path}: not valid TOML: {error}") from error
    except RecursionError:
        raise PresetError(f"preset {path}: nested too deeply") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PresetError(f"preset {path}: cannot be read: {error}") from error
    for key in data:
        if key not in _KEYS:
            raise PresetError(f"preset {path}: key: {choices(key, _KEYS)}")
    if data.get("schema") != SCHEMA:
        raise PresetError(f"preset {path}: schema: {choices(data.get('schema'), [SCHEMA])}")
    for key in ("guards", "mechanisms", "models", "settings"):
        if not isinstance(data.get(key, {}), dict):
            raise PresetError(f"preset {path}: {key}: must be a table, found {data[key]!r}")
    parent = data.get("extends")
    if parent is None:
        return [(path, data)]
    if not isinstance(parent, str):
        raise PresetError(f"preset {path}: extends: must be a name or a file, found {parent!r}")
    return [*_chain(parent, (*seen, str(path))), (path, data)]


def _find(name: str, base: Path | None) -> Path:
    if name.endswith(".toml"):
        path = Path(name)
        if base is not None and not path.is_absolute():
            path = base / path
        if not path.is_file():
            raise PresetError(f"preset file {name!r} does not exist")
        return path
    if name not in bundled():
        raise PresetError(f"preset: {choices(name, bundled())}; or a file ending in .toml")
    return bundled()[name]


def _build(name: str, chain: list[tuple[Path, dict[str, Any]]]) -> Preset:
    path, own = chain[-1]
    raw_guards: dict[str, Any] = {}
    raw_mechanisms: dict[str, Any] = {}
    settings = dict(_SETTINGS)
    models = dict(MODELS)
    observe = False
    for source, data in chain:
        for guard, value in data.get("guards", {}).items():
            raw_guards[guard] = _merged(source, guard, raw_guards.get(guard), value)
        for mechanism, value in data.get("mechanisms", {}).items():
            before = raw_mechanisms.get(mechanism)
            merge = isinstance(before, dict) and isinstance(value, dict)
            raw_mechanisms[mechanism] = before | value if merge else value
        settings.update(_settings(source, data.get("settings", {})))
        models.update(_models(source, data.get("models", {})))
        observe = data.get("observe", observe)
    if not isinstance(observe, bool):
        raise PresetError(f"preset {path}: observe: must be true or false, found {observe!r}")
    built: dict[str, Guard] = {}
    combined = {n: v for n, v in raw_guards.items() if isinstance(v, dict) and "guards" in v}
    for guard, value in raw_guards.items():
        if value is not False and guard not in combined:
            built[guard] = _guard(path, guard, value)
    for guard, value in combined.items():
        built[guard] = _guard(path, guard, value, _parts(path, guard, value, built))
    return Preset(
        name=path.stem,
        title=str(own.get("title", "")),
        observe=observe,
        guards={n: built[n] for n in raw_guards if n in built},
        mechanisms=_mechanisms(path, raw_mechanisms),
        source=str(path.resolve()) if name.endswith(".toml") else name,
        models=models,
        **settings,
    )


#: Above it a threshold is a mistake; every signal stays below.
MAX_THRESHOLD = 1e15
#: Keys that set the threshold; a child that uses one replaces whichever its parent used.
_THRESHOLD_KEYS = frozenset({"threshold", "bare", "min_delta", "limit_s", "limit_usd"})


def _merged(path: Path, name: str, inherited: Any, value: Any) -> Any:
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


def _guard(
    path: Path, name: str, raw: dict[str, Any], parts: tuple[Guard, ...] | None = None
) -> Guard:
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


def _parts(
    path: Path, name: str, raw: dict[str, Any], built: dict[str, Guard]
) -> tuple[Guard, ...]:
    parts = raw["guards"]
    if not isinstance(parts, list) or not parts:
        raise PresetError(f"preset {path}: guards.{name}.guards: must list names of other guards")
    for part in parts:
        if not isinstance(part, str) or part not in built:
            raise PresetError(f"preset {path}: guards.{name}.guards: {choices(part, built)}")
    return tuple(built[part] for part in parts)


def _mechanisms(path: Path, raw: dict[str, Any]) -> Mechanisms:
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


def _models(path: Path, raw: dict[str, Any]) -> dict[str, str]:
    for key, value in raw.items():
        if key not in MODELS:
            raise PresetError(f"preset {path}: models: {choices(key, MODELS)}")
        if not isinstance(value, str):
            raise PresetError(f"preset {path}: models.{key}: must be a name, found {value!r}")
    return raw


def _settings(path: Path, raw: dict[str, Any]) -> dict[str, Any]:
    for key, value in raw.items():
        if key not in _SETTINGS:
            raise PresetError(f"preset {path}: settings: {choices(key, _SETTINGS)}")
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
