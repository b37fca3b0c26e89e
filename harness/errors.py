"""Errors a user can act on: one line that names the object, the rule, the value and the choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches


class HarnessError(Exception):
    """Something the user can mend. The CLI prints the message as one line and exits with code 2."""


class ScenarioError(HarnessError):
    """A scenario or recording that cannot be used."""


class PresetError(HarnessError):
    """A preset that cannot be used."""


class ImportFormatError(HarnessError):
    """A foreign file that an importer cannot read."""


class StoreError(HarnessError):
    """A store that cannot be opened, read or written."""


class ReplayMiss(HarnessError):  # noqa: N818 - a miss is an answer, not a fault
    """A role was asked for a reply that the recording does not hold.

    Args:
        explain: Words for the message; only worked out when somebody reads it, because a
            mechanism that merely abstains does not.
    """

    def __init__(self, explain: Callable[[], str]) -> None:
        super().__init__()
        self._explain = explain

    def __str__(self) -> str:
        return self._explain()


class Interrupted(HarnessError):  # noqa: N818 - nothing went wrong
    """Somebody pressed Ctrl-C. The CLI prints the message as one line and exits with code 130."""


class ReaderGone(Exception):  # noqa: N818 - nothing went wrong
    """Whoever read standard output has gone away (`| head`)."""


#: So many names are listed; a store can hold thousands.
_LISTED = 30


def choices(found: object, allowed: Iterable[str]) -> str:
    """Words for "found X; allowed: ...", with the nearest allowed name first.

    Args:
        found: What the user wrote.
        allowed: The names that would have been accepted.

    Returns:
        A clause to put at the end of an error message.
    """
    names = sorted(map(str, allowed))
    near = get_close_matches(str(found)[:300], names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    listed = ", ".join(names[:_LISTED]) or "nothing"
    value = repr(found)
    shown = value if len(value) <= 80 else value[:77] + "..."
    return f"found {shown}{hint}; choose from: {listed}{more}"
