"""What an import brought, in figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from harness.importers._lint_rules import Subject
from harness.importers._missing import Missing


@dataclass(slots=True)
class Found:
    """Counts over recordings, one ``add`` each.

    Attributes:
        recordings: How many there are.
        steps: Of all of them.
        formats: Recordings by importer.
        outcomes: Recordings by outcome; ``unknown`` where the source does not say.
        exit_reasons: Recordings by exit reason and whether that is explicit or inferred.
        tokens: Sum of the counts that are known.
        with_tokens: Replies whose tokens are known.
        secrets: Secrets taken out.
        first: The earliest moment in the sources' own records, in seconds since 1970.
        last: The latest.
        missing: What is not known.
    """

    recordings: int = 0
    steps: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    exit_reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    tokens: int = 0
    with_tokens: int = 0
    secrets: int = 0
    first: float | None = None
    last: float | None = None
    missing: Missing = field(default_factory=Missing)

    def add(self, subject: Subject) -> None:
        """Count one recording."""
        recording, raw = subject.recording, subject.raw
        recorded = recording.get("recorded", {})
        self.recordings += 1
        self.steps += len(recording["steps"])
        self.formats[subject.importer] += 1
        self.outcomes[recorded.get("outcome") or "unknown"] += 1
        self.exit_reasons[_ending(recorded)] += 1
        for step in recording["steps"]:
            if (usage := step.get("reply", {}).get("usage")) is not None:
                self.with_tokens += 1
                self.tokens += sum(usage.values())
        self.secrets += subject.secrets
        self.missing.add(recording)
        if raw.first is not None and raw.last is not None:
            self.first = raw.first if self.first is None else min(self.first, raw.first)
            self.last = raw.last if self.last is None else max(self.last, raw.last)

    def dates(self) -> tuple[str, str] | None:
        """First and last day (UTC) that the sources tell of; ``None`` where they tell none."""
        if self.first is None or self.last is None:
            return None
        first, last = (datetime.fromtimestamp(at, UTC) for at in (self.first, self.last))
        return first.date().isoformat(), last.date().isoformat()

    def reasons(self) -> dict[str, int]:
        """Recordings by exit reason, wherever it comes from."""
        counts: Counter[str] = Counter()
        for (reason, _), number in self.exit_reasons.items():
            counts[reason] += number
        return dict(counts)

    def endings(self) -> list[dict[str, Any]]:
        """Exit reasons, most frequent first, with where they come from."""
        ordered = sorted(self.exit_reasons.items(), key=lambda item: (-item[1], item[0]))
        return [
            {"exit_reason": reason, "source": source, "recordings": number}
            for (reason, source), number in ordered
        ]


def _ending(recorded: dict[str, Any]) -> tuple[str, str]:
    reason = recorded.get("exit_reason")
    if reason is None:
        return "unknown", "unknown"
    return reason, recorded.get("exit_reason_source", "explicit")
