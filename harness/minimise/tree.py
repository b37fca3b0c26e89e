"""A recording as a tree of parts that can be left out, and parts left out of it.

The parts of one kind ("the results of calls") form a group; groups are gone through from the
coarse to the fine, as hierarchical delta debugging does (Misherghi and Su 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]
#: A kind of part: its path with every position replaced by ``*``.
Group = tuple[str, ...]
#: What a scenario cannot be without, and what is set anew in the end.
_KEPT: frozenset[Group] = frozenset({("schema",), ("id",), ("goal",), ("steps",)})
#: Steps go first: with each of them all its parts go.
_FIRST: tuple[Group, ...] = (
    ("steps", "*"),
    ("branches",),
    ("branches", "switch_strategy", "*"),
    ("branches", "switch_strategy", "*", "*"),
    ("branches", "delegate", "*"),
    ("branches", "delegate", "*", "*"),
)
#: Short names that nobody gains from having cut.
_NAMES = frozenset({"schema", "id", "tool", "model", "finish_reason", "request_hash", "kind"})


def groups(data: Mapping[str, Any]) -> list[Group]:
    """The kinds of parts that a recording has, in the order in which they are tried."""
    found = dict.fromkeys(group for group, _ in _parts(data, ()))
    first = [group for group in _FIRST if group in found]
    rest = sorted((group for group in found if group not in _FIRST), key=len)
    return [group for group in (*first, *rest) if group not in _KEPT]


def members(data: Mapping[str, Any], group: Group) -> list[Path]:
    """The parts of one kind, in the order of the recording."""
    return [path for found, path in _parts(data, ()) if found == group]


def _parts(value: Any, path: Path) -> Iterator[tuple[Group, Path]]:
    pairs: Any = ()
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, item in pairs:
        here = (*path, key)
        yield tuple("*" if isinstance(part, int) else part for part in here), here
        yield from _parts(item, here)


def without(value: Any, paths: Collection[Path]) -> Any:
    """A copy without these parts.

    Args:
        value: Plain data; not changed.
        paths: Of the parts, none inside another.
    """
    below: dict[str | int, list[Path]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    if not below:
        return value
    if isinstance(value, list):
        return [
            without(item, below.get(at, ())) for at, item in enumerate(value) if _stays(below, at)
        ]
    return {
        key: without(item, below.get(key, ())) for key, item in value.items() if _stays(below, key)
    }


def _stays(below: Mapping[str | int, list[Path]], key: str | int) -> bool:
    return () not in below.get(key, ())


def texts(value: Any, key: str | None = None) -> Iterator[str]:
    """Every text that could be shortened, in order; equal ones as often as they stand there."""
    if isinstance(value, str):
        if key not in _NAMES:
            yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item, key)


def changed(value: Any, change: Callable[[str], str], key: str | None = None) -> Any:
    """A copy with each such text changed."""
    if isinstance(value, str):
        return value if key in _NAMES else change(value)
    if isinstance(value, Mapping):
        return {name: changed(item, change, name) for name, item in value.items()}
    if isinstance(value, list):
        return [changed(item, change, key) for item in value]
    return value
