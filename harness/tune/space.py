"""The space of presets that tuning chooses from: a TOML file, or the bundled one.

A file looks like this::

    schema = "harness/space@1"
    preset = "balanced"          # where all else comes from; left out: no other guards
    limit = 5000                 # at most so many presets are tried; more are sampled
    seed = 1                     # of that sample

    [guards]
    patience = [1, 2, 3, false]                   # thresholds; false is off, true as in the preset
    quality = "observed"                          # thresholds at signals of the run
    cost_budget = { limit_usd = { from = 0.1, to = 0.5, steps = 5 } }
    stagnation = { min_delta = { observed = 8 }, window = [1, 2, 3], off = true }
    repetition = { threshold = [0.9, 0.95], on_fire = "stop" }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError, PresetError, choices
from harness.guards import Guard, guard_class
from harness.preset import Preset, load_preset
from harness.presetfile import guard_from, merged
from harness.trace import Direction
from harness.tune.corpus import Corpus, Floats
from harness.tune.values import Values, ordered, values_of
from harness.verdicts import Comparison

SCHEMA = "harness/space@1"
#: At most so many presets are tried where a file does not say.
LIMIT = 10_000
#: Above it a file asks for more than a machine holds.
MOST = 1_000_000
_KEYS = ("schema", "title", "preset", "limit", "seed", "guards")


@dataclass(frozen=True)
class Variant:
    """One way to have a guard.

    Attributes:
        guard: The guard; ``None`` is off.
        at: Its place on each of the guard's settings that vary; empty for off.
    """

    guard: Guard | None
    at: tuple[int, ...] = ()


@dataclass(frozen=True)
class Space:
    """What is tried.

    Attributes:
        source: File, or what else it comes from, as people read it.
        base: Preset that holds whatever does not vary.
        variants: By guard, in the order in which they are read.
        ordered: By guard, whether each setting that varies has an order, so that there are
            neighbours along it.
        limit: At most so many presets are tried.
        seed: Of the sample where there are more.
    """

    source: str
    base: Preset
    variants: Mapping[str, tuple[Variant, ...]]
    ordered: Mapping[str, tuple[bool, ...]]
    limit: int = LIMIT
    seed: int = 1

    @property
    def size(self) -> int:
        """How many presets there are in all."""
        total = 1
        for variants in self.variants.values():
            total *= len(variants)
        return total


def read_space(path: Path | None, corpus: Corpus, observed: Preset) -> Space:
    """The space of a file, or the bundled one.

    Args:
        path: The file; ``None`` for the bundled space.
        corpus: Where thresholds at observed signals come from.
        observed: The preset under which it was observed: its mechanisms hold where the file names
            no preset.

    Raises:
        HarnessError: The file breaks a rule; names file, key, value and choices.
    """
    bundled = path is None
    file = path or Path(str(files("harness.data").joinpath("space.toml")))
    shown = Path("bundled") if bundled else file
    data = _data(file, shown)
    base = _base(shown, file, data.get("preset"), observed)
    variants: dict[str, tuple[Variant, ...]] = {}
    orders: dict[str, tuple[bool, ...]] = {}
    for name, entry in data.get("guards", {}).items():
        if bundled and not _measured(corpus, name):
            continue
        found, order = _variants(shown, name, entry, base.guards.get(name), corpus)
        if bundled:
            found = _felt(found, name, corpus)
        if len(found) > 1 or not bundled:
            variants[name], orders[name] = found, order
    if not variants:
        raise HarnessError(
            "tune: no guard of the bundled space ever speaks in this run; write a --space"
            if bundled else f"space {shown}: guards: nothing varies; name at least one guard"
        )  # fmt: skip
    limit = _whole(shown, "limit", data.get("limit", LIMIT), 1, MOST)
    seed = _whole(shown, "seed", data.get("seed", 1), 0, MOST)
    return Space("the bundled space" if bundled else str(file), base, variants, orders, limit, seed)


def _data(file: Path, shown: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HarnessError(f"space {shown}: not valid TOML: {error}") from error
    except RecursionError:
        raise HarnessError(f"space {shown}: nested too deeply") from None
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"space {shown}: cannot be read: {error}") from error
    for key in data:
        if key not in _KEYS:
            raise HarnessError(f"space {shown}: key: {choices(key, _KEYS)}")
    if data.get("schema") != SCHEMA:
        raise HarnessError(f"space {shown}: schema: {choices(data.get('schema'), [SCHEMA])}")
    if not isinstance(data.get("guards", {}), dict):
        raise HarnessError(f"space {shown}: guards: must be a table, found {data['guards']!r}")
    return data


def _base(shown: Path, file: Path, name: Any, observed: Preset) -> Preset:
    if name is None:
        return Preset(
            name="tuned", mechanisms=observed.mechanisms, models=observed.models,
            escalate_below=observed.escalate_below, wait_ms=observed.wait_ms,
            on_limit=observed.on_limit,
        )  # fmt: skip
    if not isinstance(name, str):
        raise HarnessError(f"space {shown}: preset: must be a name or a file, found {name!r}")
    beside = file.parent / name
    return load_preset(str(beside) if name.endswith(".toml") and beside.is_file() else name)


def _whole(shown: Path, key: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise HarnessError(
            f"space {shown}: {key}: must be a whole number from {low} to {high}, found {value!r}"
        )
    return value


def _variants(
    shown: Path, name: str, entry: Any, inherited: Guard | None, corpus: Corpus
) -> tuple[tuple[Variant, ...], tuple[bool, ...]]:
    """All ways to have one guard, and whether each of its varying settings has an order."""
    table = dict(entry) if isinstance(entry, dict) and not _is_values(entry) else None
    settings = {"bare": entry} if table is None else table
    off = settings.pop("off", False)
    if not isinstance(off, bool):
        raise HarnessError(
            f"space {shown}: guards.{name}.off: must be true or false, found {off!r}"
        )
    kind = settings.get("kind", inherited.kind() if inherited else name)
    raw = {} if inherited is None else _raw(inherited)
    try:
        cls = guard_class(str(kind))
    except PresetError as error:
        raise HarnessError(f"space {shown}: guards.{name}: {error}") from None
    if "guards" in settings or hasattr(inherited, "guards"):
        raise HarnessError(f"space {shown}: guards.{name}: a combination cannot vary; leave it out")
    axes: dict[str, Values] = {}
    for key, value in settings.items():
        scale = 1 if key == "bare" else {"threshold": 1, **cls.aliases}.get(key)
        where = f"space {shown}: guards.{name}" + ("" if key == "bare" else f".{key}")
        # An action's list is a ladder, not a choice.
        fixed = key in ("kind", "on_fire")
        axes[key] = (value,) if fixed else values_of(where, value, name, cls, scale, corpus)
    found = [Variant(None)] if off else []
    for places in product(*(range(len(values)) for values in axes.values())):
        chosen = {key: axes[key][at] for key, at in zip(axes, places, strict=True)}
        bare = chosen.get("bare")
        if bare is False:
            found.append(Variant(None))
            continue
        if isinstance(bare, bool):
            del chosen["bare"]
        found.append(Variant(_guard(shown, name, raw, chosen), places))
    return tuple(found), tuple(ordered(values) for values in axes.values())


def _is_values(entry: Mapping[str, Any]) -> bool:
    return bool({"from", "to", "steps", "observed"} & set(entry))


def _raw(guard: Guard) -> dict[str, Any]:
    raw: dict[str, Any] = {"kind": guard.kind(), "threshold": guard.threshold, **guard.settings()}
    return raw if guard.on_fire is None else raw | {"on_fire": guard.on_fire}


def _guard(shown: Path, name: str, raw: dict[str, Any], chosen: dict[str, Any]) -> Guard:
    if list(chosen) == ["bare"]:
        chosen = {"threshold": chosen["bare"]} if _plain(name, raw) else chosen
    try:
        return guard_from(shown, name, merged(shown, name, raw, chosen))
    except PresetError as error:
        raise HarnessError(str(error).replace("preset ", "space ", 1)) from None


def _plain(name: str, raw: Mapping[str, Any]) -> bool:
    return guard_class(str(raw.get("kind", name))).bare_number


def _measured(corpus: Corpus, name: str) -> bool:
    readings = corpus.guards.get(name)
    return readings is not None and bool(np.isfinite(readings.signals).any())


def _felt(found: tuple[Variant, ...], name: str, corpus: Corpus) -> tuple[Variant, ...]:
    """Without thresholds that no signal reaches: off stands for them, or else the first of them."""
    signals = corpus.guards[name].signals
    ways: set[Direction] = {"lower" if low else "higher" for low in corpus.lower.tolist()}
    kept, spare = [], not any(variant.guard is None for variant in found)
    for variant in found:
        guard = variant.guard
        reached = guard is None or any(
            _reaches(signals, guard.compares(way), guard.threshold) for way in ways
        )
        if reached or spare:
            kept.append(variant)
        spare &= reached
    return tuple(kept)


def _reaches(signals: Floats, comparison: Comparison, threshold: float) -> bool:
    if comparison == ">=":
        return bool((signals >= threshold).any())
    return bool((signals < threshold if comparison == "<" else signals <= threshold).any())
