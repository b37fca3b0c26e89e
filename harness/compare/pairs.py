"""A baseline against a candidate: pairs, what is missing, what statistics say, and the verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from harness.compare.baseline import Side
from harness.compare.changes import (
    Change,
    Tolerance,
    Tolerances,
    classify,
    number,
    sentence,
    worsening,
)
from harness.compare.file import Ended
from harness.errors import HarnessError, choices
from harness.prices import PICO_PER_USD
from harness.statistics import ALPHA, RESAMPLES, Answer, Question, judge

#: What is tested by preset, where at least one pair knows it on both sides.
TESTED = ("success", "iteration", "cost", "best_score")


@dataclass(frozen=True, slots=True)
class Test:
    """A statistical answer, and whether it decides.

    Attributes:
        decides: Over sampled pairs only: a confirmed one is a regression. The others are over all
            pairs and are information.
    """

    answer: Answer
    decides: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that a comparison came to.

    Attributes:
        changes: All pairs, the most important change first.
        new: Scenarios and presets (pairs of names) that only the candidate has.
        gaps: Why something other than a pair could not be measured, one line each.
        notes: What else should be known.
    """

    changes: tuple[Change, ...]
    tests: tuple[Test, ...]
    new: tuple[tuple[str, str], ...]
    gaps: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def confirmed(self) -> tuple[str, ...]:
        """Regressions that statistics show, one line each."""
        return tuple(
            _confirmed(test.answer) for test in self.tests if test.decides and test.answer.confirmed
        )

    @property
    def regressions(self) -> tuple[str, ...]:
        """One line each; any makes the exit code 1."""
        pairs = (sentence(change, change.worse) for change in self.changes if change.worse)
        return (*pairs, *self.confirmed)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """One line each; without a regression any makes the exit code 2."""
        pairs = (sentence(change, change.lost) for change in self.changes if change.lost)
        return (*self.gaps, *pairs)

    @property
    def exit_code(self) -> int:
        """0 measured and fine, 1 a regression, 2 not measurable."""
        return 1 if self.regressions else 2 if self.unmeasured else 0

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the exit code is not 0, the weightiest first."""
        return (
            *(f"regression: {line}" for line in self.regressions),
            *(f"not measurable: {line}" for line in self.unmeasured),
        )


def compare(
    base: Side,
    candidate: Side,
    tolerances: Tolerances | None = None,
    *,
    presets: Sequence[str] = (),
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare two sides.

    Args:
        base: What was accepted.
        candidate: What is to be judged.
        tolerances: Accepted worsening by metric; none where left out.
        presets: Only these; all where left out.
        alpha: Family-wise false alarm rate of the tests that decide.
        resamples: Of permutation tests and bootstraps.

    Raises:
        HarnessError: A preset that neither side has.
    """
    tolerances = tolerances or {}
    known = {key[1] for key in (*base.episodes, *candidate.episodes)}
    for preset in presets:
        if preset not in known:
            raise HarnessError(f"compare: --preset: {choices(preset, known)}")
    before, after = _chosen(base, presets), _chosen(candidate, presets)
    pairs = [(before[key], after[key]) for key in before if key in after]
    directions = {**base.directions, **candidate.directions}
    changes = sorted(
        (classify(b, c, directions.get(b.scenario, "higher"), tolerances) for b, c in pairs),
        key=lambda change: change.weight,
    )
    ours, theirs = _groups(before), _groups(after)
    sampled = [change for change in changes if change.kind == "sampled"]
    deciding = judge(questions(sampled, directions, tolerances), alpha=alpha, resamples=resamples)
    tests = [Test(answer, decides=True) for answer in deciding]
    if len(sampled) < len(changes):
        told = judge(questions(changes, directions, tolerances), alpha=alpha, resamples=resamples)
        tests += [Test(answer, decides=False) for answer in told]
    gaps = [*_unsound(base, before, "base"), *_unsound(candidate, after, "candidate")]
    if before and after and not changes:
        gaps.append("no episode of the base has a counterpart in the candidate")
    gaps += [*_missing(ours, theirs), *_too_small(sampled, deciding)]
    return Comparison(
        changes=tuple(changes),
        tests=tuple(tests),
        new=tuple(sorted(set(theirs) - set(ours))),
        gaps=tuple(gaps),
        notes=tuple(_notes(changes, ours, theirs, directions)),
    )


def questions(
    changes: Iterable[Change], directions: dict[str, str], tolerances: Tolerances
) -> list[Question]:
    """What is asked of these pairs, by preset and metric."""
    by_preset: dict[str, list[Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda c: c.base.key):
        by_preset[change.base.preset].append(change)
    asked = []
    for preset, group in sorted(by_preset.items()):
        for metric in TESTED:
            found = [
                (change.base.scenario, before, after)
                for change in group
                if (before := _measure(change.base, metric)) is not None
                and (after := _measure(change.candidate, metric)) is not None
            ]
            if not found:
                continue
            worse = tuple(
                float(worsening(before, after, metric, directions.get(scenario, "higher")))
                for scenario, before, after in found
            )
            mean = sum((b for _, b, _ in found), Decimal(0)) / len(found)
            allowed = tolerances.get(metric, Tolerance()).allowed(mean)
            clusters = tuple(scenario for scenario, _, _ in found)
            asked.append(
                Question(preset, metric, worse, clusters, metric == "success", float(allowed))
            )
    return asked


def _measure(ended: Ended, metric: str) -> Decimal | None:
    return Decimal(ended.success) if metric == "success" else number(ended, metric)


def _chosen(side: Side, presets: Sequence[str]) -> dict[tuple[str, str, int], Ended]:
    return {k: one for k, one in side.episodes.items() if not presets or k[1] in presets}


def _groups(episodes: dict[tuple[str, str, int], Ended]) -> dict[tuple[str, str], int]:
    """Repetitions by scenario and preset."""
    return Counter((scenario, preset) for scenario, preset, _ in episodes)


def _unsound(side: Side, chosen: dict[tuple[str, str, int], Ended], role: str) -> list[str]:
    found = []
    if side.incomplete:
        found.append(f"{role} {side.name}: the run is {side.incomplete}, not complete")
    if not chosen:
        found.append(f"{role} {side.name}: holds no episode")
    return found


def _missing(ours: dict[tuple[str, str], int], theirs: dict[tuple[str, str], int]) -> list[str]:
    """Presets and scenarios of the base that the candidate lacks; each is named once."""
    if not theirs:
        return []
    lines = []
    present = {preset for _, preset in theirs}
    gone: dict[str, list[str]] = defaultdict(list)
    for scenario, preset in ours:
        if preset in present and (scenario, preset) not in theirs:
            gone[scenario].append(preset)
    for preset in sorted({preset for _, preset in ours} - present):
        n = sum(p == preset for _, p in ours)
        lines.append(f"preset {preset} is missing in the candidate ({n} scenarios in the base)")
    for scenario, under in sorted(gone.items()):
        lines.append(f"scenario {scenario} is missing in the candidate under {', '.join(under)}")
    return lines


def _too_small(sampled: Sequence[Change], deciding: Sequence[Answer]) -> list[str]:
    """Presets whose sampled pairs cannot show anything, whatever they say."""
    lines = []
    for preset in sorted({answer.preset for answer in deciding}):
        answers = [answer for answer in deciding if answer.preset == preset]
        if any(answer.detectable is not None for answer in answers):
            continue
        scenarios = sorted({c.base.scenario for c in sampled if c.base.preset == preset})
        lines.append(
            f"{scenarios[0]}{f' and {len(scenarios) - 1} more' if scenarios[1:] else ''} under "
            f"{preset}: another recording than the base's, and {len(scenarios)} scenarios are too "
            f"few: all of them worse would give p = {0.5 ** len(scenarios):.2g}, which must be at "
            f"most {answers[0].level:.2g}"
        )
    return lines


def _confirmed(answer: Answer) -> str:
    unit = {"success": " of success", "iteration": " iterations"}.get(answer.metric, "")
    return (
        f"{answer.preset}: {answer.metric.replace('_', ' ')}: {amount(answer.metric, answer.mean)}"
        f"{unit} worse on average over {answer.observations} scenarios with another recording "
        f"(adjusted p = {answer.adjusted:.2g})"
    )


def amount(metric: str, value: float) -> str:
    """A difference in words: success as a percentage, cost (pico-USD) in dollars."""
    if metric == "success":
        return f"{value * 100:.3g}%"
    if metric == "cost":
        return f"{'-' if value < 0 else ''}${abs(value) / PICO_PER_USD:.3g}"
    return f"{value:.3g}"


def _notes(
    changes: Sequence[Change],
    ours: dict[tuple[str, str], int],
    theirs: dict[tuple[str, str], int],
    directions: dict[str, str],
) -> list[str]:
    notes = []
    uneven = [key for key in ours if key in theirs and ours[key] != theirs[key]]
    if uneven:
        scenario, preset = uneven[0]
        notes.append(
            f"repetitions differ for {len(uneven)} of {len(ours)} scenarios by preset (first: "
            f"{scenario} under {preset}, {ours[uneven[0]]} in the base, {theirs[uneven[0]]} in the "
            "candidate); paired what both have"
        )
    unknown = Counter(metric for change in changes for metric in change.unknown)
    notes += [
        f"{metric.replace('_', ' ')} is unknown on both sides in {n} of {len(changes)} pairs"
        for metric, n in sorted(unknown.items())
    ]
    strayed = sum("replay" in change.differing for change in changes)
    if strayed:
        notes.append(f"how far the replay kept to its recording differs in pairs: {strayed}")
    unsure = {c.base.scenario for c in changes if c.base.best_score is not None} - set(directions)
    if unsure:
        notes.append(
            f"neither side knows which scores are better in {len(unsure)} scenarios: higher is "
            "taken as better"
        )
    new = set(theirs) - set(ours)
    if new:
        notes.append(f"new in the candidate, by scenario and preset: {len(new)}")
    return notes
