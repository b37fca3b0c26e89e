"""All guards, found automatically: a new guard is one file here and one test file."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from harness.errors import PresetError, choices
from harness.guards._base import ACTIONS, ENDING, Action, Guard, OnFire, fires

__all__ = ["ACTIONS", "ENDING", "Action", "Guard", "OnFire", "catalogue", "fires", "guard_class"]


@cache
def catalogue() -> dict[str, type[Guard]]:
    """Every guard by kind, in alphabetical order."""
    found: dict[str, type[Guard]] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        for value in vars(import_module(f"{__name__}.{module.name}")).values():
            is_guard = isinstance(value, type) and issubclass(value, Guard) and value is not Guard
            if is_guard and value.__module__ == f"{__name__}.{module.name}":
                found[value.kind()] = value
    return dict(sorted(found.items()))


def guard_class(kind: str) -> type[Guard]:
    """The guard of this kind.

    Raises:
        PresetError: No guard has this name.
    """
    try:
        return catalogue()[kind]
    except KeyError:
        raise PresetError(f"guard kind: {choices(kind, catalogue())}") from None
