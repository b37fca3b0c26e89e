"""One policy at a time on both sides of a split, with its baselines beside it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import HarnessError
from harness.preset import Preset, load_preset
from harness.tune import baselines
from harness.tune.candidates import Candidates
from harness.tune.corpus import Flags, Ints
from harness.tune.ends import Evaluator
from harness.tune.repeated import Columns
from harness.tune.replay import evaluate
from harness.tune.split import Split, Units
from harness.tune.totals import Outcome, Row, Sums, Unit, ended, figures


@dataclass(frozen=True)
class Judged:
    """A policy on both sides of the first split.

    Attributes:
        role: ``chosen``, ``to the end``, ``fixed steps``, ``current`` or ``oracle``.
        words: What it does.
        train: Figures on the episodes it was chosen by.
        held_out: Figures on the others.
    """

    role: str
    words: str
    train: Row
    held_out: Row


@dataclass(frozen=True)
class Pick:
    """A recommended preset.

    Attributes:
        group: Of which group; empty for the common preset.
        row: Number of the candidate.
        words: What varies in it.
        preset: The preset.
        policies: The chosen one first, then the baselines beside it.
        why_common: Why the group has the common preset, where it has.
    """

    group: str
    row: int
    words: str
    preset: Preset
    policies: tuple[Judged, ...]
    why_common: str | None = None


class View:
    """Figures of single policies on the first split."""

    def __init__(
        self, evaluator: Evaluator, tried: Candidates, current: str | None, kept: Units,
        line: tuple[Ints, Sums], columns: Columns, unit: Unit,
        minds_loss: bool,
    ) -> None:  # fmt: skip
        self.evaluator, self.tried = evaluator, tried
        self.kept, self.line, self.columns = kept, line, columns
        self.unit: Unit = unit
        self.minds_loss = minds_loss
        self.notes: list[str] = []
        self._current = self._read_current(current)

    def _read_current(self, name: str | None) -> tuple[str, Outcome] | None:
        preset = self.tried.space.base if name is None else load_preset(name)
        if name is None and not preset.guards:
            preset = load_preset("balanced")
        try:
            found = self.evaluator.outcome(preset)
        except HarnessError as error:
            self.notes.append(f"current preset {preset.name} is not shown: {error}")
            return None
        if not found.exits.swept.all():
            full = evaluate(
                self.evaluator.store, self.evaluator.corpus, [preset], self.evaluator.observed
            )
            found = Outcome(full.exits, full.measured)
        return preset.name, found

    def pick(self, row: int, group: str, split: Split, why: str | None = None) -> Pick:
        """A recommended preset with its figures and its baselines."""
        corpus = self.evaluator.corpus
        inside = self.columns.inside(group)
        preset = self.tried.preset(row)
        found = self.evaluator.outcome(preset)
        chosen = self._judged("chosen", self.tried.words(row), found, split, inside)
        rate = chosen.train["false_rate"] or 0.0
        lost = chosen.train["lost"] if self.minds_loss else None
        counts, sums = self.line
        at = baselines.best_count(sums, self.columns.train(0, group), rate, lost)
        steps = int(counts[at])
        others: list[tuple[str, str, Outcome]] = [
            ("to the end", "the whole recording", ended(corpus, baselines.to_the_end(corpus))),
            ("fixed steps", f"stop after {steps}", ended(corpus, baselines.after(corpus, steps))),
        ]
        if self._current is not None:
            others.append(("current", self._current[0], self._current[1]))
        others.append(("oracle", "stop at the best", ended(corpus, baselines.oracle(corpus))))
        beside = [self._judged(role, words, ends, split, inside) for role, words, ends in others]
        return Pick(group, row, self.tried.words(row), preset, (chosen, *beside), why)

    def _judged(self, role: str, words: str, found: Outcome, split: Split, inside: Flags) -> Judged:
        corpus, labels = self.evaluator.corpus, self.kept.labels
        return Judged(
            role, words, figures(corpus, found, split.train & inside, labels, unit=self.unit),
            figures(corpus, found, split.held_out & inside, labels, unit=self.unit),
        )  # fmt: skip
