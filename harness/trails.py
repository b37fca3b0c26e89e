"""Trails: what repetition guards follow, as fingerprints in order, one trail a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.fingerprint import digest
from harness.trace import Text, Turn


class Trail:
    """Fingerprints of one kind in order, with the run lengths that repetition guards read.

    Attributes:
        items: The fingerprints; what has none (a turn without an action) is not in it.
        run: Length of the trailing run of equal items.
        alternation: Length of the trailing A-B-A-B with A and B different.
    """

    __slots__ = ("_matched", "alternation", "items", "run")

    def __init__(self) -> None:
        self.items: list[str] = []
        self.run = 0
        self.alternation = 0
        self._matched: list[int] = []

    def push(self, item: str) -> None:
        """Append one fingerprint."""
        items = self.items
        size = len(items)
        if size and items[-1] == item:
            self.run += 1
            self.alternation = 1
        else:
            self.run = 1
            returns = size >= 2 and items[-2] == item
            self.alternation = self.alternation + 1 if returns else min(size + 1, 2)
        items.append(item)
        matched = self._matched
        for period in range(2, len(matched)):
            same = size >= period and items[size - period] == item
            matched[period] = matched[period] + 1 if same else 0

    def clear(self) -> None:
        """Forget everything, as if nothing had happened yet."""
        self.items = []
        self.run = self.alternation = 0
        self._matched = [0] * len(self._matched)

    def laps(self, max_period: int) -> int:
        """Laps of the trailing cycle with a period of 2 to ``max_period``; 0 without items.

        A run of one item is no cycle. A cycle counts from its second lap on.
        """
        if len(self._matched) <= max_period:
            self._rebuild(max_period)
        if not self.items:
            return 0
        most = 1
        for period in range(2, max_period + 1):
            matched = self._matched[period]
            # Equal items in a row match at every distance; that is a run, not a lap.
            if matched >= period and self.run < period:
                most = max(most, matched // period + 1)
        return most

    def _rebuild(self, max_period: int) -> None:
        items = self.items
        self._matched = [0, 0]
        for period in range(2, max_period + 1):
            at = len(items) - 1
            while at >= period and items[at] == items[at - period]:
                at -= 1
            self._matched.append(len(items) - 1 - at)


class Trails:
    """All trails that anyone has asked for, kept up to date."""

    __slots__ = ("_directions", "_found")

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], Trail] = {}
        self._directions: Trail | None = None

    def push(self, turn: Turn) -> None:
        """Take in a completed turn."""
        for (on, identity, since), trail in self._found.items():
            if since == "start" and on not in _SINGLE and not turn.unseen:
                item = _SOURCES[on](turn, identity)
                if item is not None:
                    trail.push(item)
            else:
                _extend(trail, turn, on, identity, since)

    def push_gain(self, gain: float) -> None:
        """Take in the improvement of a score."""
        if self._directions is not None:
            self._directions.push(_direction(gain))

    def find(self, turns: Iterable[Turn], on: str, identity: str, since: str) -> Trail:
        """The trail of ``on``; worked out from all turns so far when it is first asked for."""
        key = (on, identity, since)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Trail()
            for turn in turns:
                _extend(found, turn, on, identity, since)
        return found

    def directions(self, gains: Iterable[float]) -> Trail:
        """The trail of the directions in which the score went: up, down, flat."""
        if self._directions is None:
            self._directions = Trail()
            for gain in gains:
                self._directions.push(_direction(gain))
        return self._directions


def moves_on(on: str, turn: Turn) -> bool:
    """Whether a turn could add to a trail of calls that passes nothing over.

    Rules of that kind look when a call is made; a turn of talk is no further repeat.
    """
    return on not in _LITERAL or bool(turn.calls)


def _extend(trail: Trail, turn: Turn, on: str, identity: str, since: str) -> None:
    if since == "turn" or (since == "person" and turn.user):
        trail.clear()
    if turn.unseen and not turn.unseen.isdisjoint(_read(on, identity)):
        # Whether it went on with what was before cannot be known.
        trail.clear()
    elif on in _SINGLE:
        for item in _SINGLE[on](turn, identity):
            trail.push(item)
    elif (one := _SOURCES[on](turn, identity)) is not None:
        trail.push(one)


def _direction(gain: float) -> str:
    return "up" if gain > 0 else "down" if gain < 0 else "flat"


def _read(on: str, identity: str) -> tuple[str, ...]:
    """What a trail compares of a turn that may not have been captured; see ``Turn.unseen``."""
    if on in ("text", "reply"):
        return ("text",)
    if on in ("output", "plan", "feedback"):
        return ()
    return ("text", identity) if on == "thought and call" else (identity,)


def text_of(turn: Turn, on: str) -> Text | None:
    """The text of ``on`` (feedback, output, plan, reply) in one turn."""
    if on == "reply":
        return turn.text
    found: Text | None = getattr(turn, on)
    return found


def _action(turn: Turn, identity: str) -> str | None:
    return turn.moves.get(identity)


def _words(on: str) -> Callable[[Turn, str], str | None]:
    def source(turn: Turn, identity: str) -> str | None:
        text = text_of(turn, on)
        return None if text is None else text.digest

    return source


def _all_calls(turn: Turn, identity: str) -> str | None:
    prints = sorted(_calls(turn, identity))
    return digest("turn", *prints) if prints else None


def _calls(turn: Turn, identity: str) -> Iterable[str]:
    return (p for call in turn.calls if (p := call.prints.get(identity)))


def _thought_calls(turn: Turn, identity: str) -> Iterable[str]:
    thought = turn.text.digest if turn.text else ""
    return (digest("thought", thought, p) for p in _calls(turn, identity))


_SOURCES: dict[str, Callable[[Turn, str], str | None]] = {
    "action": _action,
    "text": _words("reply"),
    "reply": _words("reply"),
    "output": _words("output"),
    "plan": _words("plan"),
    "feedback": _words("feedback"),
    "turn": _all_calls,
}
#: Trails of single calls, several items a turn.
_SINGLE: dict[str, Callable[[Turn, str], Iterable[str]]] = {
    "call": _calls,
    "thought and call": _thought_calls,
}
#: Trails that pass nothing over: waiting calls, transient failures, equal calls of one turn.
_LITERAL = frozenset({*_SINGLE, "turn"})
