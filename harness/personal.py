"""Personal details are replaced before a recording becomes a test that is shared.

The rules are data (``data/personal.toml``): e-mail addresses, hosts and queries of URLs, telephone
numbers, network addresses, user names in home folders, UUIDs, card and account numbers that pass
their checksum, and names where a key or a header says that there is one. Names in running text are
not found. Equal values get equal replacements of a like form, different ones different ones,
numbered in the order in which they appear, so that a loop which repeats itself still does, and the
same recording gives the same file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

#: Members of a scenario whose objects come from outside: their keys may say what a value is.
_FREE = frozenset({"args", "data", "judge", "roles", "completion_marker"})
#: Members of a scenario that are no texts of anybody.
_FIXED = frozenset({"schema", "tool", "model", "finish_reason", "request_hash", "kind"})
#: Addresses set aside for documentation (RFC 5737).
_DOCUMENTED = ("192.0.2.", "198.51.100.", "203.0.113.")
_SECRET = re.compile(r"\[redacted (\w+) ([a-z]{6})\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of detail.

    Attributes:
        kind: As it is reported; several rules may share one, and its numbers.
        pattern: Finds it; of a key rule, what the whole value must look like.
        keep: Values that stay.
        check: Says of a match whether it is one; ``None`` where the form is enough.
        replace: Makes the replacement of a value from the value and its number.
        key: Of a key rule: the names of members.
    """

    kind: str
    pattern: re.Pattern[str]
    keep: re.Pattern[str] | None
    check: Callable[[str], bool] | None
    replace: Callable[[str, int], str]
    key: re.Pattern[str] | None = None


class Personal:
    """Replaces personal details in scenarios; one object remembers what it has replaced.

    Args:
        leave: Kinds that stay.
    """

    def __init__(self, leave: Collection[str] = ()) -> None:
        rules = _bundled()
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
            text = self._everywhere.sub(lambda match: replaced[match[0]], text)
        for rule in self._rules:
            text = rule.pattern.sub(partial(self._cut, rule), text)
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

    def _cut(self, rule: Rule, match: re.Match[str]) -> str:
        group = "value" if "value" in rule.pattern.groupindex else 0
        start, end = (at - match.start() for at in match.span(group))
        whole = match[0]
        return whole[:start] + self._replacement(rule, match[group]) + whole[end:]

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


def renumbered(value: Any) -> Any:
    """Placeholders of secrets, numbered in the order of their appearance.

    ``harness.redact`` draws them anew each time; the same recording has to give the same file.
    """
    known: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        if match[0] not in known:
            number = len(known)
            letters = "".join(
                chr(ord("a") + number // 26**place % 26) for place in range(5, -1, -1)
            )
            known[match[0]] = f"[redacted {match[1]} {letters}]"
        return known[match[0]]

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return _SECRET.sub(other, item)
        if isinstance(item, list):
            return [walk(part) for part in item]
        if isinstance(item, dict):
            return {walk(name): walk(part) for name, part in item.items()}
        return item

    return walk(value)


# -- what a rule names ---------------------------------------------------------------------------


def _is_iban(value: str) -> bool:
    """Modulo 97 over the rotated number is 1 (ISO 13616)."""
    plain = value.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _is_card(value: str) -> bool:
    """Luhn's checksum, of a number that does not begin with 0, or with 1 as times in digits do."""
    digits = [int(char) for char in value if char.isdigit()]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return digits[0] > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_address(value: str) -> bool:
    """A network address that may belong to somebody."""
    address = _address(value)
    if address is None or address.is_loopback or address.is_unspecified:
        return False
    if isinstance(address, IPv4Address) and address.is_reserved:
        return False
    return not (value.startswith(_DOCUMENTED) or value.lower().startswith("2001:db8:"))


def _address(value: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(value)
    except ValueError:
        return None


def _digits(value: str, number: int) -> str:
    """The same form, all digits 0 but for the number at the end; letters stay."""
    count = sum(char.isdigit() for char in value)
    left = iter(str(number).rjust(count, "0")[-count:])
    return "".join(next(left) if char.isdigit() else char for char in value)


def _uuid(value: str, number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def _documented(value: str, number: int) -> str:
    """An address for documentation; of the short ones there are 762, then come reserved ones."""
    if ":" in value:
        return f"2001:db8::{number:x}"
    if number > 3 * 254:
        return str(IPv4Address("240.0.0.0") + number)
    block, host = divmod(number - 1, 254)
    return f"{_DOCUMENTED[block]}{host + 1}"


_CHECKS: dict[str, Callable[[str], bool]] = {
    "iban": _is_iban,
    "card": _is_card,
    "ip": _is_address,
}
_SHAPES: dict[str, Callable[[str, int], str]] = {
    "digits": _digits,
    "uuid": _uuid,
    "ip": _documented,
}


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the file holds: rules of texts, of members by their key, and of whole numbers."""

    texts: list[Rule]
    keys: list[Rule]
    numbers: list[Rule]
    spread: re.Pattern[str]


@lru_cache(maxsize=1)
def _bundled() -> _Rules:
    text = files("harness.data").joinpath("personal.toml").read_text("utf-8")
    data = tomllib.loads(text)
    texts, keys, numbers = ([_rule(t) for t in data[name]] for name in ("rule", "key", "number"))
    return _Rules(texts, keys, numbers, re.compile(data["spread"]))


def _rule(table: Mapping[str, str]) -> Rule:
    shape = _SHAPES.get(table.get("shape", ""))
    return Rule(
        kind=table["name"],
        pattern=re.compile(table["pattern"]),
        keep=re.compile(table["keep"]) if "keep" in table else None,
        check=_CHECKS.get(table.get("check", "")),
        replace=shape or partial(_numbered, table.get("with", "")),
        key=re.compile(table["key"]) if "key" in table else None,
    )


def _numbered(template: str, _: str, number: int) -> str:
    return template.format(n=number)
