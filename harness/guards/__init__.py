"""All guards by kind: the harness's own, found automatically, and those of users.

A new guard of the harness is one file here and one test file. A user's own guard becomes known
by ``register`` in the process that calls it, or in every process by an entry point of an
installed package::

    [project.entry-points."harness.guards"]
    refusal_run = "my_package.guards:RefusalRun"
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TypeVar

from harness.errors import HarnessError, PresetError, choices
from harness.exits import ExitReason
from harness.guards._base import ACTIONS, ENDING, Action, Guard, OnFire, fires

__all__ = [
    "ACTIONS", "ENDING", "Action", "Guard", "OnFire", "built_in", "catalogue", "fires",
    "guard_class", "lent", "register",
]  # fmt: skip

#: Group of entry points under which installed packages offer guards, each by its kind.
GROUP = "harness.guards"

#: What importing somebody else's module can end with.
_IMPORT_FAILS = (
    AttributeError, HarnessError, ImportError, LookupError, NameError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip

G = TypeVar("G", bound=type[Guard])
_registered: dict[str, type[Guard]] = {}


@cache
def built_in() -> Mapping[str, type[Guard]]:
    """The harness's own guards by kind, in alphabetical order."""
    found: dict[str, type[Guard]] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        for value in vars(import_module(f"{__name__}.{module.name}")).values():
            is_guard = isinstance(value, type) and issubclass(value, Guard) and value is not Guard
            if is_guard and value.__module__ == f"{__name__}.{module.name}":
                found[value.kind()] = value
    return MappingProxyType(dict(sorted(found.items())))


@cache
def catalogue() -> dict[str, type[Guard]]:
    """Every guard by kind, users' own included, in alphabetical order.

    Raises:
        PresetError: An installed package offers a guard that cannot be used; names it.
    """
    return {kind: guard_class(kind) for kind in sorted({*built_in(), *_registered, *_offered()})}


def guard_class(kind: str) -> type[Guard]:
    """The guard of this kind; of installed packages only the one that offers it is imported.

    Raises:
        PresetError: No guard has this name, or an installed package offers one that cannot be
            used.
    """
    if kind in built_in():
        return built_in()[kind]
    registered, offer = _registered.get(kind), _offered().get(kind)
    if offer is None:
        if registered is None:
            known = {*built_in(), *_registered, *_offered()}
            raise PresetError(f"guard kind: {choices(kind, known)}")
        return registered
    offered = _load(offer)
    if registered is not None and not _same(registered, offered):
        raise PresetError(f"{_named(offer)}: {_place(registered)} is registered as {kind!r}")
    return registered or offered


def register(cls: G) -> G:
    """Make a guard of your own known by its kind, in this process; usable as a decorator.

    Afterwards preset files can name it, and ``harness docs guards`` would list it. A guard that
    command-line and worker processes have to find needs an entry point instead (or as well).
    A guard put into ``Preset(guards=...)`` as an object needs neither.

    Args:
        cls: A frozen dataclass derived from ``Guard`` with ``reason``, ``measures`` and
            ``signal``. Registering the same class again (a cell run anew) replaces it.

    Returns:
        The class itself.

    Raises:
        PresetError: Another guard has this kind, or the class is no complete guard.
    """
    problem = _incomplete(cls)
    if problem:
        raise PresetError(f"register: {problem}")
    taken = built_in().get(cls.kind()) or _registered.get(cls.kind())
    if taken is not None and not _same(taken, cls):
        raise PresetError(
            f"register: kind {cls.kind()!r} of {_place(cls)} is taken by {_place(taken)}"
        )
    if cls.kind() not in built_in():
        _registered[cls.kind()] = cls
        catalogue.cache_clear()
    return cls


@contextmanager
def lent(cls: type[Guard]) -> Iterator[None]:
    """Register a guard for a while, unless it is known already.

    Raises:
        PresetError: As ``register``.
    """
    before = dict(_registered)
    register(cls)
    try:
        yield
    finally:
        _registered.clear()
        _registered.update(before)
        catalogue.cache_clear()


@cache
def _offered() -> dict[str, EntryPoint]:
    """Entry points of installed packages by kind; nothing is imported yet."""
    found: dict[str, EntryPoint] = {}
    for offer in entry_points(group=GROUP):
        known = found.setdefault(offer.name, offer)
        if known.value != offer.value:
            raise PresetError(f"{_named(offer)}: {_named(known)} has the same kind")
        if offer.name in built_in():
            raise PresetError(f"{_named(offer)}: a guard of the harness has this kind")
    return found


@cache
def _load(offer: EntryPoint) -> type[Guard]:
    try:
        found: type[Guard] = offer.load()
    except _IMPORT_FAILS as error:
        words = " ".join(str(error).split())
        raise PresetError(f"{_named(offer)}: {type(error).__name__}: {words}") from error
    problem = _incomplete(found)
    if not problem and found.kind() != offer.name:
        problem = f"{_place(found)} has the kind {found.kind()!r}; name the entry point so"
    if problem:
        raise PresetError(f"{_named(offer)}: {problem}")
    return found


def _named(offer: EntryPoint) -> str:
    package = f" of package {offer.dist.name}" if offer.dist is not None else ""
    return f"entry point {offer.name!r} ({offer.value}){package}"


def _incomplete(cls: object) -> str:
    """What a class lacks to be a guard; empty if nothing."""
    if not isinstance(cls, type) or not issubclass(cls, Guard):
        return f"must be a class derived from harness.Guard, found {cls!r}"
    if "__dataclass_params__" not in vars(cls):
        return f"{_place(cls)} must be decorated with @dataclass(frozen=True, kw_only=True)"
    if inspect.isabstract(cls):
        return f"{_place(cls)} must define: {', '.join(sorted(cls.__abstractmethods__))}"
    if not isinstance(getattr(cls, "reason", None), ExitReason):
        return f"{_place(cls)}.reason must be one of harness.ExitReason"
    if not isinstance(getattr(cls, "measures", None), str):
        return f"{_place(cls)}.measures must say what the signal measures"
    return ""


def _same(one: type[Guard], other: type[Guard]) -> bool:
    """Whether two classes are one definition, be it read twice (a reload, a cell run anew)."""
    return one is other or _place(one) == _place(other)


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
