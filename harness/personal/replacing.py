"""Personal details replaced in the data of a scenario, everywhere alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from harness.personal.escapes import plain
from harness.personal.rules import Rule, bundled

#: Members of a scenario whose objects come from outside: their keys may say what a value is.
_FREE = frozenset({"args", "data", "judge", "roles", "completion_marker"})
#: Members of a scenario that are no texts of anybody.
_FIXED = frozenset({"schema", "tool", "model", "finish_reason", "request_hash", "kind"})


class Personal:
    """Replaces personal details in scenarios; one object remembers what it has replaced.

    Args:
        leave: Kinds that stay.
    """

    def __init__(self, leave: Collection[str] = ()) -> None:
        rules = bundled()
        self._rules, self._keys, self._numbers = (
            [rule for rule in some if rule.kind not in leave]
            for some in (rules.texts, rules.keys, rules.numbers)
        )
        self._spread = rules.spread
        self._known: dict[str, dict[str, str]] = {}
        #: The last number that a kind has used.
        self._last: dict[str, int] = {}
        #: All that the recording holds; a replacement must not be any part of it.
        self._whole = ""
        self._everywhere: re.Pattern[str] | None = None

    @property
    def found(self) -> dict[str, int]:
        """How many different values of each kind were replaced."""
        return {kind: len(values) for kind, values in sorted(self._known.items()) if values}

    def scenario(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A scenario's plain data with every detail replaced.

        Args:
            data: Not changed.
        """
        self._whole = json.dumps(data, ensure_ascii=False, default=str)
        self._value(data, None, free=False)  # so that a name found late is replaced early, too
        words = sorted(filter(self._spreads, self._replaced()), key=len, reverse=True)
        if words:
            either = "|".join(map(re.escape, words))
            self._everywhere = re.compile(rf"(?<!\w)(?:{either})(?!\w)")
        made = self._value(data, None, free=False)
        return dict(made)

    def text(self, text: str) -> str:
        """A text with every detail replaced."""
        if self._everywhere is not None:
            replaced = self._replaced()
            # Twice, because what looks like an escape may be part of a path.
            for read in (str, plain):
                found = self._everywhere.finditer(read(text))
                text = _swapped(text, found, 0, lambda value: replaced.get(value, value))
        seen = plain(text)
        for rule in self._rules:
            found = rule.pattern.finditer(seen if rule.escapes else text)
            group = "value" if "value" in rule.pattern.groupindex else 0
            new = _swapped(text, found, group, partial(self._replacement, rule))
            if new != text:
                text, seen = new, plain(new)
        return text

    def _value(self, value: Any, key: str | None, *, free: bool) -> Any:
        if isinstance(value, str):
            return self._member(value, key) if free and key is not None else self.text(value)
        if isinstance(value, list):
            return [self._value(item, key, free=free) for item in value]
        if isinstance(value, int) and free:
            return self._number(value)
        if not isinstance(value, Mapping):
            return value
        return {
            self.text(name) if free else name: item
            if name in _FIXED and not free
            else self._value(item, name, free=free or name in _FREE)
            for name, item in value.items()
        }

    def _member(self, text: str, key: str) -> str:
        for rule in self._keys:
            if rule.key is not None and rule.key.search(key) and rule.pattern.search(text):
                return self._replacement(rule, text)
        return self.text(text)

    def _number(self, value: int) -> int:
        """A whole number, as long as before: what stands for one begins with 1, not with 0."""
        digits = str(value)
        for rule in self._numbers:
            if rule.pattern.search(digits):
                made = self._replacement(rule, digits)
                return value if made == digits else int(f"1{made[1:]}")
        return value

    def _replacement(self, rule: Rule, value: str) -> str:
        if rule.keep is not None and rule.keep.search(value):
            return value
        if rule.check is not None and not rule.check(value):
            return value
        known = self._known.setdefault(rule.kind, {})
        if value not in known:
            known[value] = self._next(rule, value)
        return known[value]

    def _next(self, rule: Rule, value: str) -> str:
        """The next replacement of its kind that the recording does not hold already."""
        while True:
            number = self._last[rule.kind] = self._last.get(rule.kind, 0) + 1
            made = rule.replace(value, number)
            if made not in self._whole:
                return made

    def _replaced(self) -> dict[str, str]:
        return {value: new for known in self._known.values() for value, new in known.items()}

    def _spreads(self, value: str) -> bool:
        return len(value) >= 5 and self._spread.search(value) is not None


def _swapped(
    text: str, found: Iterable[re.Match[str]], group: str | int, new: Callable[[str], str]
) -> str:
    """The text with what was found replaced; found in it, or in another of the same length."""
    parts, at = [], 0
    for match in found:
        start, end = match.span(group)
        parts += [text[at:start], new(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])
