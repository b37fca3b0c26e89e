"""What rules look at: one resolved preset, where it is written, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.guards import Guard
from harness.lint.finding import Finding, Severity
from harness.lint.measured import First
from harness.lint.steps import Step, acting
from harness.lint.written import THRESHOLD, Place, Written
from harness.preset import Preset


@dataclass(frozen=True)
class Subject:
    """One preset, ready to be looked at.

    Attributes:
        preset: Resolved: inheritance applied.
        written: Where its keys stand.
        measured: The first iterations of scenarios under it; empty where none was asked for.
    """

    preset: Preset
    written: Written = field(default_factory=Written)
    measured: Sequence[First] = ()

    def steps(self) -> list[tuple[str, Guard, list[Step]]]:
        """Guards that do something, with the steps that do it."""
        found = ((name, guard, acting(guard)) for name, guard in self.preset.guards.items())
        return [(name, guard, does) for name, guard, does in found if does]

    def guard(
        self, code: str, severity: Severity, name: str, message: str, setting: str = ""
    ) -> Finding:
        """A finding about a guard of the preset; left out, ``setting`` is the threshold."""
        if setting:
            return self.found(code, severity, message, "guards", name, setting)
        place = self.written.threshold(name, self.preset.guards[name].aliases)
        return self._finding(code, severity, message, ("guards", name, THRESHOLD), place)

    def mechanism(
        self, code: str, severity: Severity, name: str, message: str, *setting: str
    ) -> Finding:
        """A finding about a mechanism; what a bundled preset brings along is a note."""
        key = ("mechanisms", name, *setting)
        inherited = self.written.place(*key).inherited is not None
        return self.found(code, "note" if inherited else severity, message, *key)

    def found(self, code: str, severity: Severity, message: str, *key: str) -> Finding:
        """A finding about a key; an inherited one says from where."""
        return self._finding(code, severity, message, key, self.written.place(*key))

    def _finding(
        self, code: str, severity: Severity, message: str, key: tuple[str, ...], place: Place
    ) -> Finding:
        if place.inherited is not None:
            message = f"{message}; inherited from {place.inherited}"
        return Finding(
            code, severity, self.preset.name, ".".join(key), message, place.file, place.line
        )

    def inherited(self, name: str) -> bool:
        """Whether a file left a guard as the bundled preset has it that it extends."""
        return self.written.place("guards", name).inherited is not None
