"""Readers of foreign recordings, one format a file.

Every module here whose name does not start with ``_`` is an importer; a new format is a new
file and nothing else. Modules are loaded when somebody asks for one, not with the package.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from harness.errors import ImportFormatError, choices
from harness.importers._base import ImporterModule

__all__ = ["ImporterModule", "available", "get"]

_PARTS = (*ImporterModule.__annotations__, "read")


@lru_cache(maxsize=1)
def _load() -> dict[str, ImporterModule]:
    found: dict[str, ImporterModule] = {}
    for info in iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{info.name}")
        if missing := [part for part in _PARTS if not hasattr(module, part)]:
            raise ImportFormatError(
                f"importer module {info.name!r} must define {', '.join(_PARTS)}; "
                f"missing: {', '.join(missing)}"
            )
        found[module.NAME] = cast("ImporterModule", module)
    return dict(sorted(found.items()))


def available() -> dict[str, ImporterModule]:
    """All importers by the name a user writes (``tau-bench``), in alphabetical order.

    Raises:
        ImportFormatError: A module of this package lacks a part every importer has.
    """
    return dict(_load())


def get(name: str) -> ImporterModule:
    """The importer called ``name``.

    Raises:
        ImportFormatError: No importer has that name; the message lists those there are.
    """
    importers = _load()
    if name not in importers:
        raise ImportFormatError(f"unknown import format: {choices(name, importers)}")
    return importers[name]
