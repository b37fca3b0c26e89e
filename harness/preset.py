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
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from harness.errors import PresetError, choices
from harness.fingerprint import digest, normalisation_version
from harness.guards import Guard
from harness.limits import limited
from harness.mechanisms import Mechanisms
from harness.presetfile import (
    MODELS,
    SETTINGS,
    guard_from,
    mechanisms_from,
    merged,
    models_from,
    parts_from,
    settings_from,
)
from harness.task import Limits
from harness.turns import WAIT_MS

SCHEMA = "harness/preset@1"
_KEYS = {"schema", "title", "extends", "observe", "guards", "mechanisms", "models", "settings"}


@dataclass(frozen=True)
class Preset:
    """A resolved preset: nothing left to inherit or to look up.

    Made in Python it needs no file: ``Preset(guards={"spin": Spin(threshold=4)})``.

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

    name: str = "own"
    title: str = ""
    observe: bool = False
    guards: Mapping[str, Guard] = field(default_factory=dict)
    mechanisms: Mechanisms = field(default_factory=Mechanisms)
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
        if not limits.model_fields_set or limits == _NO_LIMITS:
            return self
        guards, mechanisms = limited(self.guards, self.mechanisms, limits)
        return replace(self, guards=guards, mechanisms=mechanisms)


_NO_LIMITS = Limits()


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
    settings = dict(SETTINGS)
    models = dict(MODELS)
    observe = False
    for source, data in chain:
        for guard, value in data.get("guards", {}).items():
            raw_guards[guard] = merged(source, guard, raw_guards.get(guard), value)
        for mechanism, value in data.get("mechanisms", {}).items():
            before = raw_mechanisms.get(mechanism)
            merge = isinstance(before, dict) and isinstance(value, dict)
            raw_mechanisms[mechanism] = before | value if merge else value
        settings.update(settings_from(source, data.get("settings", {})))
        models.update(models_from(source, data.get("models", {})))
        observe = data.get("observe", observe)
    if not isinstance(observe, bool):
        raise PresetError(f"preset {path}: observe: must be true or false, found {observe!r}")
    built: dict[str, Guard] = {}
    combined = {n: v for n, v in raw_guards.items() if isinstance(v, dict) and "guards" in v}
    for guard, value in raw_guards.items():
        if value is not False and guard not in combined:
            built[guard] = guard_from(path, guard, value)
    for guard, value in combined.items():
        built[guard] = guard_from(path, guard, value, parts_from(path, guard, value, built))
    return Preset(
        name=path.stem,
        title=str(own.get("title", "")),
        observe=observe,
        guards={n: built[n] for n in raw_guards if n in built},
        mechanisms=mechanisms_from(path, raw_mechanisms),
        source=str(path.resolve()) if name.endswith(".toml") else name,
        models=models,
        **settings,
    )
