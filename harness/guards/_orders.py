"""Which of two values of a setting lets a guard see more; for ``Guard.wider``."""

from __future__ import annotations

from collections.abc import Callable

#: Identity of calls -> identities under which fewer calls are equal.
_FINER: dict[str, frozenset[str]] = {
    "action": frozenset(
        {"args", "batch", "args+result", "args+normalised result", "normalised", "result"}
    ),
    "args": frozenset({"batch", "args+result", "args+normalised result"}),
    "batch": frozenset({"args", "args+result", "args+normalised result"}),
    "args+normalised result": frozenset({"args+result"}),
    "normalised": frozenset({"args+result", "args+normalised result"}),
    "result": frozenset({"args+result"}),
}


def ranked(*values: str) -> Callable[[str, str], bool]:
    """An order of settings, the narrowest first; other values compare with none."""

    def wide(mine: str, theirs: str) -> bool:
        return mine in values and theirs in values[: values.index(mine) + 1]

    return wide


def coarser(mine: str, theirs: str) -> bool:
    """Whether calls that are equal under ``theirs`` are equal under ``mine`` too."""
    return mine == theirs or theirs in _FINER.get(mine, ())


#: How far back: the longer memory sees more.
further = ranked("turn", "person", "start")
