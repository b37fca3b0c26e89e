"""The values that one setting takes in a space: fixed, listed, a range, or observed signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.guards import Guard
from harness.tune.corpus import Corpus

Values = tuple[Any, ...]
#: Thresholds at observed signals are thinned to so many where a file does not say.
OBSERVED = 10
#: Above it a range is a mistake.
_MOST_STEPS = 10_000


def values_of(
    where: str, value: Any, name: str, cls: type[Guard], scale: int | None, corpus: Corpus
) -> Values:
    """What a setting takes, in the order of its neighbours.

    Args:
        where: Beginning of an error message: file and key.
        value: As the file has it.
        name: The guard's name.
        cls: Its class.
        scale: From the file's unit to the signal's; ``None`` where it is no threshold.
        corpus: Where observed signals come from.

    Raises:
        HarnessError: It cannot be read.
    """
    if isinstance(value, list):
        if not value:
            raise HarnessError(f"{where}: must list at least one value")
        if not all(isinstance(one, int | float) for one in value):
            return tuple(value)
        # By size, so that the ones beside a value are its neighbours; true and false behind.
        return (
            *sorted({one for one in value if _number(one)}),
            *dict.fromkeys(one for one in value if not _number(one)),
        )
    if value == "observed":
        return _observed(where, name, cls, scale, corpus, OBSERVED)
    if not isinstance(value, dict):
        return (value,)
    if set(value) == {"observed"}:
        count = value["observed"]
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_STEPS:
            raise HarnessError(
                f"{where}.observed: must be a whole number from 1 to {_MOST_STEPS}, found {count!r}"
            )
        return _observed(where, name, cls, scale, corpus, count)
    return _range(where, value)


def _range(where: str, value: dict[str, Any]) -> Values:
    if set(value) != {"from", "to", "steps"}:
        raise HarnessError(
            f'{where}: must be a value, a list, "observed", {{ observed = N }} or '
            f"{{ from, to, steps }}; found keys {', '.join(value) or 'none'}"
        )
    low, high, steps = value["from"], value["to"], value["steps"]
    for key, number in (("from", low), ("to", high)):
        if not _number(number) or abs(number) > 1e15:
            raise HarnessError(f"{where}.{key}: must be a number, found {number!r}")
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= _MOST_STEPS:
        raise HarnessError(
            f"{where}.steps: must be a whole number from 2 to {_MOST_STEPS}, found {steps!r}"
        )
    if not low < high:
        raise HarnessError(f"{where}: from must be less than to, found {low!r} and {high!r}")
    numbers = [round(float(v), 9) for v in np.linspace(low, high, steps)]
    if isinstance(low, int) and isinstance(high, int) and all(v.is_integer() for v in numbers):
        return tuple(int(v) for v in numbers)
    return tuple(dict.fromkeys(numbers))


def _observed(
    where: str, name: str, cls: type[Guard], scale: int | None, corpus: Corpus, most: int
) -> Values:
    """Distinct signals; where there are more than ``most``, thinned by quantile."""
    if scale is None:
        raise HarnessError(f"{where}: only a threshold can be observed; list the values instead")
    readings = corpus.guards.get(name)
    found = [readings] if readings is not None and readings.kind == cls.kind() else [
        other for other in corpus.guards.values() if other.kind == cls.kind()
    ]  # fmt: skip
    signals = np.concatenate([r.signals for r in found]) if found else np.array([])
    # Signals below zero (a score that fell) are no thresholds: a preset takes 0 and more.
    signals = np.sort(signals[np.isfinite(signals) & (signals >= 0)])
    if not len(signals):
        raise HarnessError(f"{where}: the run observed no signal of {cls.kind()}; list the values")
    distinct = np.unique(signals)
    if len(distinct) > most:
        # Both ends, and between them by quantile of the readings: each step moves as many of them.
        # The ends are left out there, because most readings of a count are its lowest value.
        inner = signals[(signals > distinct[0]) & (signals < distinct[-1])]
        shares = np.linspace(0, 1, most)[1:-1] if most > 2 else np.array([])
        between = np.quantile(inner, shares, method="nearest") if len(shares) else inner[:0]
        distinct = np.unique(np.concatenate([distinct[[0, -1]][:most], between]))
    return tuple(_short(value / scale) for value in distinct)


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def ordered(values: Values) -> bool:
    """Whether the values lie on a line, so that the ones beside a value are its neighbours."""
    return sum(_number(value) for value in values) > 1 and all(
        _number(value) or isinstance(value, bool) for value in values
    )
