"""What secrets look like: the rules of ``data/secrets.toml`` and of a project's own files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.errors import HarnessError


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    Attributes:
        name: Of the kind.
        pattern: Finds it; may name the part to take out ``secret``.
        needs: A text without any of these holds none; in small letters they stand for any case.
        starts: Finds, in a text without case, all places where a match can begin.
    """

    name: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    starts: re.Pattern[str] | None = None

    def within(self, text: str, folded: str) -> Rule | None:
        """The rule for parts of a text: with the needs that are in it, ``None`` without any."""
        if not self.needs:
            return self
        there = tuple(n for n in self.needs if n in (folded if n.islower() else text))
        return replace(self, needs=there) if there else None

    def matches(self, text: str, folded: str) -> Iterator[re.Match[str]]:
        """As ``pattern.finditer``, in less time."""
        if self.starts is None or len(folded) != len(text):
            yield from self.pattern.finditer(text)
            return
        at = 0
        while start := self.starts.search(folded, at):
            if match := self.pattern.match(text, start.start()):
                yield match
            at = match.end() if match else start.start() + 1


@lru_cache(maxsize=1)
def bundled() -> tuple[list[Rule], re.Pattern[str]]:
    """The rules that come with the harness, and the names whose members are secrets."""
    data = tomllib.loads(files("harness.data").joinpath("secrets.toml").read_text("utf-8"))
    return _rules("secrets.toml", data), re.compile(data["keys"])


def read(path: Path) -> list[Rule]:
    """The rules of a project's own file.

    Raises:
        HarnessError: The file cannot be read or breaks a rule of the form.
    """
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
            needs, starts = table.get("needs", ()), table.get("starts")
            begin = None if starts is None else re.compile("|".join(map(re.escape, starts)))
            rules.append(Rule(name, re.compile(pattern), tuple(needs or starts or ()), begin))
        except (re.error, TypeError) as error:
            raise HarnessError(f"secrets {path}: rule {name}: pattern: {error}") from None
    return rules
