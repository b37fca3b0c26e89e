"""What a rule found, and how a rule is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from harness.lint.subject import Subject

#: ``error``: cannot work as written; ``warning``: probably not meant; ``note``: worth knowing.
Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a preset.

    Attributes:
        code: The rule's name in kebab case.
        severity: See ``Severity``.
        preset: Name of the preset.
        key: What it is about, as a path of keys (``guards.stagnation.window``).
        message: What is wrong and why, with the values.
        file: The file that writes the key; ``None`` where no file does.
        line: Its line there, from 1; ``None`` where it was not found.
    """

    code: str
    severity: Severity
    preset: str
    key: str
    message: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code, the severities it can give, and the function that looks.

    The function's docstring is the rule's entry in the documentation.
    """

    code: str
    severities: tuple[Severity, ...]
    look: Callable[[Subject], Iterator[Finding]]
