"""Where presets end the episodes of an observed run, part by part; what cannot be told, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.guards import Guard
from harness.guards.all_of import AllOf
from harness.guards.any_of import AnyOf
from harness.preset import Preset
from harness.presetfile import guard_from, mechanisms_from
from harness.store.database import Store
from harness.store.queries import query
from harness.tune.corpus import Corpus
from harness.tune.observe import needed, with_readings
from harness.tune.readings import Flags
from harness.tune.replay import evaluate
from harness.tune.shapes import shapes
from harness.tune.sweep import exits, why_intervenes, why_other
from harness.tune.totals import Outcome
from harness.tune.value import at_iterations

Progress = Callable[[int, int], None]
#: Cells (presets times episodes) worked on together: about 150 MB of figures.
CELLS = 2_000_000
#: Above it replaying a space takes hours.
REPLAYS = 100_000


def observed_preset(store: Store, corpus: Corpus) -> Preset:
    """The preset under which a corpus was observed, as the store has it."""
    (row,) = store.rows(query("observed_preset"), {"hash": corpus.preset_hash})
    data = json.loads(row["data"])
    where = Path(corpus.preset)
    mechanisms = {k: v for k, v in data["mechanisms"].items() if v is not None}
    return Preset(
        name=data["name"],
        observe=True,
        guards={name: _guard(where, name, raw) for name, raw in data["guards"].items()},
        mechanisms=mechanisms_from(where, mechanisms),
        escalate_below=data["escalate_below"],
        wait_ms=data["wait_ms"],
        on_limit=data["on_limit"],
        models=data["models"],
    )


def _guard(where: Path, name: str, raw: Mapping[str, Any]) -> Guard:
    # JSON has no infinity; the store keeps it as text.
    values = dict(raw) | {"threshold": float(raw["threshold"])}
    parts = values.pop("guards", None)
    if parts is None:
        return guard_from(where, name, values)
    inner = tuple(_guard(where, str(part["kind"]), part) for part in parts)
    made = guard_from(where, name, values, inner)
    return replace(made, guards=inner) if isinstance(made, AllOf | AnyOf) else made


@dataclass(frozen=True)
class Evaluator:
    """Answers where presets end the episodes of one observed run.

    Attributes:
        store: Where the run is.
        corpus: What was observed.
        observed: The preset under which it was observed.
        threshold_read: Contents of episodes in which structured issues compared a score with the
            quality threshold; elsewhere that threshold moves nothing but its own guard.
    """

    store: Store
    corpus: Corpus
    observed: Preset
    threshold_read: frozenset[str]

    @classmethod
    def of(cls, store: Store, corpus: Corpus) -> Evaluator:
        """The evaluator of a corpus."""
        key = {"run": corpus.run_id, "preset": corpus.preset}
        rows = store.rows(query("threshold_was_read"), key)
        read = frozenset(row["content_hash"] for row in rows)
        return cls(store, corpus, observed_preset(store, corpus), read)

    def prepared(self, presets: Sequence[Preset], on_progress: Progress | None = None) -> Evaluator:
        """With readings of guards and settings that these presets have and the run did not observe.

        They are worked out from the run's recordings, once.

        Raises:
            HarnessError: The recordings are gone, or too many replays would be needed.
        """
        replays = sum(self.why_replayed(preset) is not None for preset in presets)
        if replays * len(self.corpus) > REPLAYS:
            reason = next(filter(None, map(self.why_replayed, presets)))
            raise HarnessError(
                f"tune: {replays:,} presets of the space can only be replayed, not swept "
                f"({reason}); that is more than {REPLAYS:,} replays: set on_fire to stop, or try "
                "fewer presets"
            )
        chosen = [preset for preset in presets if self.why_replayed(preset) is None]
        lacking = needed(self.corpus, shapes(chosen))
        corpus = with_readings(
            self.store, self.corpus, self.observed, lacking, on_progress=on_progress
        )
        return replace(self, corpus=corpus)

    def parts(self, presets: Sequence[Preset]) -> Iterator[tuple[list[int], Outcome]]:
        """Outcomes of some presets at a time: their numbers, and where they end all episodes.

        Of a prepared evaluator. Presets that cannot be swept are replayed.
        """
        swept = [n for n, preset in enumerate(presets) if self.why_replayed(preset) is None]
        others = sorted(set(range(len(presets))) - set(swept))
        most = max(1, CELLS // max(1, len(self.corpus)))
        for at in range(0, len(swept), most):
            rows = swept[at : at + most]
            found = exits(self.corpus, [presets[row] for row in rows])
            other = np.array([self._moves_issues(presets[row]) for row in rows])
            found.swept[np.ix_(other, self._reads)] = False
            yield rows, Outcome(found, at_iterations(self.corpus, found.iteration))
        for row in others:
            full = evaluate(self.store, self.corpus, [presets[row]], self.observed)
            whole = replace(full.exits, swept=np.ones_like(full.exits.swept))
            yield [row], Outcome(whole, full.measured)

    def outcome(self, preset: Preset) -> Outcome:
        """Where one preset ends all episodes, and what that comes to."""
        ((_, found),) = self.prepared([preset]).parts([preset])
        return found

    def why_replayed(self, preset: Preset) -> str | None:
        """Why a preset cannot be swept over what was observed; ``None`` if it can."""
        base = self.observed
        if preset.mechanisms == base.mechanisms:
            # What the stage does differs in some episodes only; their cells are marked.
            plain = preset.mechanisms.model_copy(update={"structured_issues": False})
            preset, base = replace(preset, mechanisms=plain), replace(base, mechanisms=plain)
        return why_intervenes(preset) or why_other(preset, base)

    @cached_property
    def _reads(self) -> Flags:
        """Episodes in which structured issues read the quality threshold."""
        return np.array([c in self.threshold_read for c in self.corpus.contents], dtype=bool)

    def _moves_issues(self, preset: Preset) -> bool:
        issues = preset.mechanisms.structured_issues
        return issues and _quality(preset) != _quality(self.observed)


def _quality(preset: Preset) -> list[float]:
    return [g.threshold for g in preset.guards.values() if g.kind() == "quality"]


def told(
    evaluator: Evaluator, presets: Sequence[Preset], on_progress: Progress | None = None
) -> Flags:
    """Episodes of which every one of these presets can be told.

    Only these may be added up: leaving out other episodes under other presets would compare
    presets on different episodes.
    """
    fine = np.ones(len(evaluator.corpus), dtype=bool)
    done = 0
    for rows, found in evaluator.parts(presets):
        fine &= found.exits.swept.all(axis=0)
        done += len(rows)
        if on_progress is not None:
            on_progress(done, len(presets))
    return fine
