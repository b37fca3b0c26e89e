"""Secrets are taken out before anything is written: keys, tokens, passwords, private keys.

The patterns are data (``data/secrets.toml``); a project adds its own in a file of the same form.
Equal secrets get equal placeholders within one ``Redactor``, so that a loop which repeats itself
still does so in its recording; the placeholder cannot be turned back.
"""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.errors import HarnessError

#: A key of the client shorter than this is no secret ("none", "lm-studio", "not-needed").
MIN_LITERAL = 16
_PLACEHOLDER = re.compile(r"\[redacted [a-z0-9_]+ [a-z]{6}\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret; ``pattern`` may name the part to take out ``secret``."""

    name: str
    pattern: re.Pattern[str]


class Redactor:
    """Takes secrets out of texts and of whole values.

    Args:
        extra: ``.toml`` files with further ``[[rule]]`` tables (``name``, ``pattern``); these go
            first.

    Raises:
        HarnessError: A file that cannot be read or breaks a rule of the form.
    """

    def __init__(self, extra: Iterable[str | Path] = ()) -> None:
        bundled, self._keys = _bundled()
        own = [rule for path in extra for rule in _read(Path(path))]
        self._rules = [*own, *bundled]
        self._literals: set[str] = set()
        # Kept nowhere: without it nobody can try out guesses against a placeholder.
        self._salt = secrets.token_bytes(16)

    def learn(self, headers: Mapping[str, str]) -> None:
        """Remember the keys that a request's headers carry; they are secrets of any shape.

        Args:
            headers: Of the request; nothing of them is ever written.
        """
        for name, value in headers.items():
            if self._keys.search(name) or name.lower().endswith(("-key", "-token")):
                word = value.rpartition(" ")[2]
                if len(word) >= MIN_LITERAL:
                    self._literals.add(word)

    def text(self, text: str) -> str:
        """``text`` with a placeholder for each secret."""
        for literal in self._literals:
            if literal in text:
                text = text.replace(literal, self._placeholder("client_key", literal))
        for rule in self._rules:
            text = rule.pattern.sub(partial(self._cut, rule.name), text)
        return text

    def value(self, value: Any, key: str | None = None) -> Any:
        """A JSON-like value with a placeholder for each secret, keys of objects included.

        Args:
            value: Text, list, mapping or anything else, which stays as it is.
            key: The name under which it stands; some names make any text a secret.
        """
        if isinstance(value, str):
            if key is not None and value.strip() and self._keys.search(key):
                known = _PLACEHOLDER.fullmatch(value)
                return value if known else self._placeholder("value", value)
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(item, key) for item in value]
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(v, str(name)) for name, v in value.items()}
        return value

    def _cut(self, name: str, match: re.Match[str]) -> str:
        whole = match.group()
        for group, secret in match.groupdict().items():
            if secret is not None:
                start, end = (at - match.start() for at in match.span(group))
                if _PLACEHOLDER.search(secret) or secret.startswith("[redacted"):
                    return whole
                return whole[:start] + self._placeholder(name, secret) + whole[end:]
        return self._placeholder(name, whole)

    def _placeholder(self, name: str, secret: str) -> str:
        number = int.from_bytes(blake2b(secret.encode("utf-8", "replace"), key=self._salt).digest())
        # Letters only: digits and hex would be normalised away when results are compared.
        letters = "".join(chr(ord("a") + number // 26**place % 26) for place in range(6))
        return f"[redacted {name} {letters}]"


@lru_cache(maxsize=1)
def _bundled() -> tuple[list[Rule], re.Pattern[str]]:
    data = tomllib.loads(files("harness.data").joinpath("secrets.toml").read_text("utf-8"))
    return _rules("secrets.toml", data), re.compile(data["keys"])


def _read(path: Path) -> list[Rule]:
    try:
        return _rules(str(path), tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HarnessError(f"secrets {path}: cannot be read: {error}") from None


def _rules(path: str, data: Mapping[str, Any]) -> list[Rule]:
    tables = data.get("rule")
    if not isinstance(tables, list):
        raise HarnessError(f"secrets {path}: needs tables [[rule]] with name and pattern")
    rules = []
    for number, table in enumerate(tables, 1):
        name, pattern = table.get("name"), table.get("pattern")
        if not isinstance(name, str) or not re.fullmatch("[a-z0-9_]+", name):
            raise HarnessError(
                f"secrets {path}: rule {number}: name must be lower-case letters, digits and _, "
                f"found {name!r}"
            )
        try:
            rules.append(Rule(name, re.compile(pattern)))
        except (re.error, TypeError) as error:
            raise HarnessError(f"secrets {path}: rule {name}: pattern: {error}") from None
    return rules
