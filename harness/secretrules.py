"""What secrets look like: the rules of ``data/secrets.toml`` and of a project's own files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from harness.errors import HarnessError
from harness.secretlooks import LOOKS, is_path, other_token, token

#: What stands where a secret was.
PLACEHOLDER = re.compile(r"\[redacted [a-z0-9_]+ [a-z]{6}\]")


class Finder(Protocol):
    """Finds one kind of secret in texts."""

    @property
    def name(self) -> str:
        """Of the kind."""
        ...

    def within(self, text: str, folded: str) -> Self | None:
        """The same for parts of a text; ``None`` where none of them holds any."""
        ...

    def spans(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        """From where to where each secret of a text stands, first to last."""
        ...


class Names(NamedTuple):
    """Names under which secrets stand.

    Attributes:
        members: Of anything, members of objects too.
        tokens: The same, where only what looks made up is a secret.
        short: Of environment variables, headers and query parameters.
        long: The same, where only long values are secrets.
    """

    members: re.Pattern[str]
    tokens: re.Pattern[str]
    short: re.Pattern[str]
    long: re.Pattern[str]

    def hold(self, name: str, value: Any) -> bool:
        """Whether a value is a secret because of the name under which it stands."""
        if isinstance(value, str):
            # Made of signs alone, it was taken out already (``****``).
            if not any(map(str.isalnum, value)) or PLACEHOLDER.fullmatch(value):
                return False
            if self.members.search(name):
                return not is_path(value)
            return bool(self.tokens.search(name)) and not other_token(name) and token(value)
        # Small numbers under such a name count things, and those of tokens always do.
        large = isinstance(value, int) and abs(value) >= 1000
        return large and self.members.search(name) is not None and name[-5:].lower() != "token"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    Attributes:
        name: Of the kind.
        pattern: Finds it; may name the part to take out ``secret``.
        needs: A text without any of these holds none; in small letters they stand for any case.
        starts: Finds, in a text without case, all places where a match can begin.
        looks: Which of ``LOOKS`` tells whether what was found is a secret; empty: it is.
    """

    name: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    starts: re.Pattern[str] | None = None
    looks: str = ""

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

    def spans(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        """From where to where each secret stands, first to last; placeholders are none."""
        if self.needs and not any(n in folded or n in text for n in self.needs):
            return
        for match in self.matches(text, folded):
            groups = [name for name, part in match.groupdict().items() if part is not None]
            start, end = match.span(groups[0]) if groups else match.span()
            # A whole line may hold more than what another rule has taken out of it.
            left = PLACEHOLDER.sub("", text[start:end]).strip(" ;")
            if groups and (not left or left.startswith("[redacted")):
                continue
            if not self.looks or LOOKS[self.looks](text, start, end):
                yield start, end


@lru_cache(maxsize=1)
def bundled() -> tuple[list[Rule], Names]:
    """The rules that come with the harness, and the names under which secrets stand."""
    data = tomllib.loads(files("harness.data").joinpath("secrets.toml").read_text("utf-8"))
    names = (data["keys"], data["tokens"], data["names"], data["names_of_long"])
    return _rules("secrets.toml", data), Names(*map(re.compile, names))


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
        looks = table.get("looks", "")
        if looks and looks not in LOOKS:
            choices = ", ".join(LOOKS)
            raise HarnessError(
                f"secrets {path}: rule {name}: looks: {looks!r} is none of {choices}"
            )
        try:
            needs, starts = table.get("needs", ()), table.get("starts")
            begin = None if starts is None else re.compile("|".join(map(re.escape, starts)))
            compiled, each = re.compile(pattern), tuple(needs or starts or ())
            rules.append(Rule(name, compiled, each, begin, looks))
        except (re.error, TypeError) as error:
            raise HarnessError(f"secrets {path}: rule {name}: pattern: {error}") from None
    return rules
