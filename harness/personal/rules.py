"""The rules of personal details, as the bundled file has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any

from harness.personal.forms import CHECKS, SHAPES


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
        escapes: Escapes and colours are read as such; not where a backslash separates folders.
    """

    kind: str
    pattern: re.Pattern[str]
    keep: re.Pattern[str] | None
    check: Callable[[str], bool] | None
    replace: Callable[[str, int], str]
    key: re.Pattern[str] | None = None
    escapes: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """What the file holds: rules of texts, of members by their key, and of whole numbers."""

    texts: list[Rule]
    keys: list[Rule]
    numbers: list[Rule]
    spread: re.Pattern[str]


@lru_cache(maxsize=1)
def bundled() -> Rules:
    """The rules of the file that comes with the harness."""
    text = files("harness.data").joinpath("personal.toml").read_text("utf-8")
    data = tomllib.loads(text)
    texts, keys, numbers = ([_rule(t) for t in data[name]] for name in ("rule", "key", "number"))
    return Rules(texts, keys, numbers, re.compile(data["spread"]))


def _rule(table: Mapping[str, Any]) -> Rule:
    shape = SHAPES.get(table.get("shape", ""))
    return Rule(
        kind=table["name"],
        pattern=re.compile(table["pattern"]),
        keep=re.compile(table["keep"]) if "keep" in table else None,
        check=CHECKS.get(table.get("check", "")),
        replace=shape or partial(_numbered, table.get("with", "")),
        key=re.compile(table["key"]) if "key" in table else None,
        escapes=table.get("escapes", True),
    )


def _numbered(template: str, _: str, number: int) -> str:
    return template.format(n=number)
