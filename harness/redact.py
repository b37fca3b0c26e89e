"""Secrets are taken out before anything is written: keys, tokens, passwords, private keys.

The patterns are data (``data/secrets.toml``); a project adds its own in a file of the same form.
``find`` and ``secrets_in`` only look for them, in files that exist already.
Equal secrets get equal placeholders within one ``Redactor``, so that a loop which repeats itself
still does so in its recording; the placeholder cannot be turned back.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from harness.knownkeys import KnownKeys
from harness.secretrules import PLACEHOLDER, Finder, bundled, read


@dataclass(frozen=True, slots=True)
class Found:
    """A secret in a text: by which rule, and from where to where. Never the secret itself."""

    rule: str
    start: int
    end: int


class Redactor:
    """Takes secrets out of texts and of whole values.

    Args:
        extra: ``.toml`` files with further ``[[rule]]`` tables (``name``, ``pattern``); these go
            first.
        numbered: Number the placeholders as they come, so that equal input gives equal output.

    Attributes:
        removed: How often a secret was taken out.

    Raises:
        HarnessError: A file that cannot be read or breaks a rule of the form.
    """

    def __init__(self, extra: Iterable[str | Path] = (), *, numbered: bool = False) -> None:
        common, names = bundled()
        own = [rule for path in extra for rule in read(Path(path))]
        self._names, self._known = names, KnownKeys(names)
        self._rules: list[Finder] = [self._known, *own, *common]
        # Kept nowhere: without it nobody can try out guesses against a placeholder.
        self._salt = secrets.token_bytes(16)
        self._numbers: dict[str, int] | None = {} if numbered else None
        self.removed = 0

    def learn(self, named: Mapping[str, str]) -> None:
        """Remember the keys among named values; they are secrets of any shape.

        Args:
            named: Headers or the query of a request, or environment variables; nothing of them
                is ever written.
        """
        self._known.learn(named)

    def text(self, text: str) -> str:
        """``text`` with a placeholder for each secret."""
        return self._text(text, self._rules)

    def _text(self, text: str, rules: list[Finder]) -> str:
        folded = text.casefold()
        for rule in rules:
            parts, at = [], 0
            for start, end in rule.spans(text, folded):
                parts += [text[at:start], self._placeholder(rule.name, text[start:end])]
                at = end
            if parts:
                text = "".join((*parts, text[at:]))
                folded = text.casefold()
        return text

    def value(self, value: Any, key: str | None = None) -> Any:
        """A JSON-like value with a placeholder for each secret, keys of objects included.

        Args:
            value: Text, list, mapping or anything else, which stays as it is.
            key: The name under which it stands; some names make any text or number a secret.
        """
        return self._value(value, key, _likely(value, self._rules))

    def _value(self, value: Any, key: str | None, rules: list[Finder]) -> Any:
        if key is not None and self._names.hold(key, value):
            return self._placeholder("value", str(value))
        if isinstance(value, str):
            return self._text(value, rules)
        if isinstance(value, list | tuple):
            return [self._value(item, key, rules) for item in value]
        if isinstance(value, Mapping):
            return {
                self._text(str(name), rules): self._value(item, str(name), rules)
                for name, item in value.items()
            }
        return value

    def _placeholder(self, name: str, secret: str) -> str:
        self.removed += 1
        if self._numbers is not None:
            number = self._numbers.setdefault(secret, len(self._numbers))
        else:
            data = secret.encode("utf-8", "replace")
            number = int.from_bytes(blake2b(data, key=self._salt).digest())
        # Letters only: digits and hex would be normalised away when results are compared.
        letters = "".join(chr(ord("a") + number // 26**place % 26) for place in range(6))
        return f"[redacted {name} {letters}]"


def _likely(value: Any, rules: Iterable[Finder]) -> list[Finder]:
    """The rules for the texts in a value.

    Most are about nothing in it, which need not be found out for each of its texts.
    """
    whole = "\n".join(_texts(value))
    folded = whole.casefold()
    likely = (rule.within(whole, folded) for rule in rules)
    return [rule for rule in likely if rule is not None]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, names of members included."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, Mapping):
            yield from map(str, item)
            waiting.extend(item.values())


def same(text: str) -> str:
    """``text`` in which placeholders of one rule are alike, so that two recordings compare."""
    return PLACEHOLDER.sub(lambda match: match[0].rpartition(" ")[0], text)


def known_keys(named: Mapping[str, str]) -> Finder:
    """Finds the secrets among named values, as of the environment; for ``find`` and ``places``."""
    known = KnownKeys(bundled()[1])
    known.learn(named)
    return known


def find(text: str, *more: Finder) -> list[Found]:
    """The secrets in a text, first to last; one that several rules know is told once.

    Args:
        text: Any text, as of a file.
        more: What finds further ones.
    """
    return _find(text, [*bundled()[0], *more])


def _find(text: str, rules: Iterable[Finder]) -> list[Found]:
    found: list[Found] = []
    folded = text.casefold()
    for rule in (rule for rule in rules if rule.within(text, folded)):
        for start, end in rule.spans(text, folded):
            if all(end <= other.start or other.end <= start for other in found):
                found.append(Found(rule.name, start, end))
    return sorted(found, key=lambda each: each.start)


def secrets_in(value: Any) -> list[str]:
    """Names of the rules by which a value holds secrets, each once; empty if it holds none.

    Args:
        value: A text or a JSON-like value; names of members count as ``Redactor.value`` says.
    """
    return list(dict.fromkeys(rule for rule, _ in places(value)))


def places(value: Any, *more: Finder, at: str = "") -> Iterator[tuple[str, str]]:
    """Rule and place of each secret in a value, as ``("github", "steps[2].reply.text")``.

    Args:
        value: As for ``secrets_in``.
        more: What finds further ones.
        at: Where the value itself stands.
    """
    yield from _places(value, at, None, _likely(value, [*bundled()[0], *more]))


def _places(value: Any, at: str, key: str | None, rules: list[Finder]) -> Iterator[tuple[str, str]]:
    if key is not None and bundled()[1].hold(key, value):
        yield "value", at
    elif isinstance(value, str):
        yield from ((found.rule, at) for found in _find(value, rules))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _places(item, f"{at}[{number}]", key, rules)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            inside = [found.rule for found in _find(str(name), rules)]
            shown = "(a name)" if inside else str(name)
            here = f"{at}.{shown}" if at else shown
            yield from ((rule, here) for rule in inside)
            yield from _places(item, here, str(name), rules)
