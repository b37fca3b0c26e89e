"""Which episode a request goes on with: the one whose last request begins it.

Only digests are kept, and looking one up takes time by the length of the request, not by the number
of episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

from harness.fingerprint import digest


class Last(Protocol):
    """What the last call of an episode left behind."""

    @property
    def echo(self) -> str | None:
        """Digest of the reply."""

    @property
    def failed(self) -> bool:
        """There was none."""

    @property
    def pending(self) -> Sequence[str]:
        """Ids of the calls that the reply asked for."""


E = TypeVar("E", bound=Last)
#: What is looked up: ``any``, ``failed`` and ``repeated`` requests by a digest, calls by their id.
_Key = tuple[str, str]


class Known(Generic[E]):
    """Episodes by what their last request held; of each only the last counts."""

    def __init__(self) -> None:
        self._at: dict[_Key, dict[E, None]] = {}
        self._keys: dict[E, list[_Key]] = {}

    def put(self, each: E, seen: Iterable[str]) -> None:
        """Learn of an episode's last call.

        Args:
            each: The episode.
            seen: Digests of the messages that it was asked with, system messages left aside.
        """
        self.drop(each)
        *_, at = _beginnings(seen)
        keys = [("any", at), *(("call", name) for name in each.pending)]
        if each.failed:
            keys.append(("failed", at))
        elif each.echo is not None:
            keys.append(("repeated", digest(at, each.echo)))
        self._keys[each] = keys
        for key in keys:
            self._at.setdefault(key, {})[each] = None

    def drop(self, each: E) -> None:
        """Forget an episode: it is asked something else, and nobody can go on with it."""
        for key in dict.fromkeys(self._keys.pop(each, ())):
            del self._at[key][each]
            if not self._at[key]:
                del self._at[key]

    def find(
        self,
        seen: Sequence[str],
        brought: Iterable[str],
        can: Callable[[E], bool] = lambda _: True,
    ) -> E | None:
        """The episode that a request goes on with: rules 2 and 3 of ``harness.conversation``.

        Args:
            seen: Digests of its messages.
            brought: Ids of the calls of which it brings results.
            can: Tells whether an episode may go on at all.
        """
        other: E | None = None
        beginnings = _beginnings(seen)
        for length in range(len(seen), -1, -1):
            keys = [("failed", beginnings[length])]
            if length < len(seen):
                keys.append(("repeated", beginnings[length + 1]))
            for key in keys:
                if (found := self._newest(key, can)) is not None:
                    return found
            if other is None and length < len(seen):
                other = self._newest(("any", beginnings[length]), can)
        if other is not None:
            return other
        asked = (self._at.get(("call", name), {}) for name in set(brought))
        owners = dict.fromkeys(each for owning in asked for each in owning if can(each))
        return next(iter(owners)) if len(owners) == 1 else None

    def _newest(self, key: _Key, can: Callable[[E], bool]) -> E | None:
        return next((each for each in reversed(self._at.get(key, {})) if can(each)), None)


def _beginnings(seen: Iterable[str]) -> list[str]:
    """A digest of each beginning of a talk, from none of it to all."""
    return list(accumulate(seen, digest, initial=""))
