"""One episode against its counterpart: what got worse, better or lost, beyond which tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from harness.compare.file import Ended
from harness.errors import HarnessError, choices
from harness.prices import PICO_PER_USD

#: What can be given a tolerance, with its unit.
METRICS = {
    "success": "share of scenarios, where only statistics can tell",
    "iteration": "iterations",
    "cost": "USD",
    "best_score": "points of the score",
    "unknowns": "readings",
}
_NUMBERS = ("iteration", "cost", "best_score", "unknowns")

#: regression: worse; lost: known in the base, unknown now; improvement: better; changed: neither,
#: within tolerance or another recording; same: nothing differs.
Class = Literal["regression", "lost", "improvement", "changed", "same"]
Kind = Literal["exact", "sampled"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much worse is accepted: ``absolute + relative * |base|``.

    Attributes:
        absolute: In the metric's unit; cost in pico-USD.
    """

    absolute: Decimal = Decimal(0)
    relative: Decimal = Decimal(0)

    def allowed(self, base: Decimal) -> Decimal:
        """Largest difference from ``base`` that is accepted."""
        return self.absolute + self.relative * abs(base)


Tolerances = Mapping[str, Tolerance]


def parse_tolerances(texts: Sequence[str]) -> dict[str, Tolerance]:
    """Tolerances as written on the command line: ``cost=0.001+5%``, ``iteration=1``.

    Raises:
        HarnessError: An unknown metric, one given twice, or no number.
    """
    found: dict[str, Tolerance] = {}
    for text in texts:
        metric, equals, amount = text.partition("=")
        metric = metric.strip()
        if metric not in METRICS:
            raise HarnessError(f"compare: --tolerance: metric: {choices(metric, METRICS)}")
        if metric in found:
            raise HarnessError(f"compare: --tolerance: {metric} is given twice")
        parts = [part.strip() for part in amount.split("+")] if equals else []
        relative = [part[:-1] for part in parts if part.endswith("%")]
        absolute = [part for part in parts if not part.endswith("%")]
        if not parts or len(relative) > 1 or len(absolute) > 1:
            raise _no_tolerance(text)
        scale = PICO_PER_USD if metric == "cost" else 1
        found[metric] = Tolerance(
            sum((_amount(text, part) * scale for part in absolute), Decimal(0)),
            sum((_amount(text, part) / 100 for part in relative), Decimal(0)),
        )
    return found


def _amount(text: str, part: str) -> Decimal:
    try:
        value = Decimal(part)
    except InvalidOperation:
        raise _no_tolerance(text) from None
    if not value.is_finite() or value < 0 or value > 10**9:
        raise _no_tolerance(text)
    return value


def _no_tolerance(text: str) -> HarnessError:
    return HarnessError(
        "compare: --tolerance: must be METRIC=AMOUNT, METRIC=PERCENT% or METRIC=AMOUNT+PERCENT%, "
        f"for example cost=0.001+5%; found {text[:80]!r}"
    )


@dataclass(frozen=True, slots=True)
class Change:
    """A pair of episodes and what became of it.

    Attributes:
        kind: exact: the same recording was replayed, so a difference is a fact. sampled: another
            recording of the same task; one pair proves nothing.
        worse: Metrics that got worse beyond tolerance; ``exit_reason`` is one of them.
        better: Metrics that got better beyond tolerance.
        lost: Metrics that the base knows and the candidate does not.
        unknown: Metrics that neither knows.
    """

    base: Ended
    candidate: Ended
    kind: Kind
    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def verdict(self) -> Class:
        """The weightiest that can be said of the pair."""
        if self.worse:
            return "regression"
        if self.lost:
            return "lost"
        if self.better:
            return "improvement"
        return "changed" if self.differing else "same"

    @property
    def differing(self) -> tuple[str, ...]:
        """Metrics whose values differ at all, the most important first."""
        names = ("exit_reason", *_NUMBERS, "replay")
        return tuple(m for m in names if value(self.base, m) != value(self.candidate, m))

    @property
    def weight(self) -> tuple[int, int, str, str, int]:
        """Sorts the most important change first."""
        rank = ("regression", "lost", "improvement", "changed", "same").index(self.verdict)
        if self.base.success and not self.candidate.success:
            kind = 0
        else:
            differing = self.differing
            order = ("exit_reason", *_NUMBERS, "replay")
            kind = 1 + order.index(differing[0]) if differing else 9
        return (rank, kind, *self.base.key)


def value(ended: Ended, metric: str) -> str | int | float | None:
    """A metric of an episode; cost in pico-USD."""
    name = "cost_pico_usd" if metric == "cost" else metric
    found: str | int | float | None = getattr(ended, name)
    return found


def number(ended: Ended, metric: str) -> Decimal | None:
    """A metric as an exact number: scores by their shortest digits, so that 0.67 - 0.66 is 0.01."""
    found = value(ended, metric)
    return None if found is None else Decimal(repr(found))


def worsening(base: Decimal, candidate: Decimal, metric: str, direction: str) -> Decimal:
    """How much worse the candidate's number is; negative where it is better."""
    higher_is_better = metric == "success" or (metric == "best_score" and direction == "higher")
    return base - candidate if higher_is_better else candidate - base


def classify(base: Ended, candidate: Ended, direction: str, tolerances: Tolerances) -> Change:
    """Compare two episodes of one key.

    An exit of the same recording that moved, in reason or (in either direction) in iteration, is a
    regression, unless the scenario's truth calls the candidate right and the base wrong. What a
    right ending costs by its longer or shorter course is then not held against it.
    """
    kind: Kind = "exact" if base.content == candidate.content else "sampled"
    worse: list[str] = []
    better: list[str] = []
    lost: list[str] = []
    unknown: list[str] = []
    longer = candidate.iteration - base.iteration
    mended = False
    if kind == "exact":
        moved = _moved(base, candidate, tolerances)
        mended = bool(moved) and candidate.agreement == "right" and _wrong(base.agreement)
        (better if mended else worse).extend(moved)
    for metric in ("cost", "best_score", "unknowns"):
        before, after = number(base, metric), number(candidate, metric)
        if before is None:
            # Known now: a gain that nothing can be compared with.
            unknown += [metric] if after is None else []
        elif after is None:
            lost.append(metric)
        elif kind == "exact":
            amount = worsening(before, after, metric, direction)
            if abs(amount) <= tolerances.get(metric, Tolerance()).allowed(before):
                continue
            if amount < 0:
                better.append(metric)
            elif not (mended and (longer < 0 if metric == "best_score" else longer > 0)):
                worse.append(metric)
    return Change(base, candidate, kind, tuple(worse), tuple(better), tuple(lost), tuple(unknown))


def _moved(base: Ended, candidate: Ended, tolerances: Tolerances) -> list[str]:
    moved = ["exit_reason"] if base.exit_reason != candidate.exit_reason else []
    allowed = tolerances.get("iteration", Tolerance()).allowed(Decimal(base.iteration))
    if abs(candidate.iteration - base.iteration) > allowed:
        moved.append("iteration")
    return moved


def _wrong(agreement: str | None) -> bool:
    return agreement not in (None, "right", "unknown")


# -- words ---------------------------------------------------------------------------------------


def shown(metric: str, before: str | float | None, after: str | float | None) -> tuple[str, str]:
    """Two values of a metric in words, with as many digits as it takes to tell them apart."""
    for digits in range(4, 13):
        both = _shown(metric, before, digits), _shown(metric, after, digits)
        if both[0] != both[1] or before == after:
            return both
    return _shown(metric, before, 17), _shown(metric, after, 17)


def _shown(metric: str, found: str | float | None, digits: int) -> str:
    if found is None:
        return "?"
    if isinstance(found, str):
        return found
    if metric == "cost":
        return f"${Decimal(found) / PICO_PER_USD:,.{digits}f}"
    return f"{found:.{digits}g}" if isinstance(found, float) else f"{found:,}"


def difference(change: Change, metric: str) -> str:
    """A metric of a pair in words: ``cost $0.0008 -> $0.0012``."""
    before, after = value(change.base, metric), value(change.candidate, metric)
    return f"{metric.replace('_', ' ')} {' -> '.join(shown(metric, before, after))}"


def sentence(change: Change, found: Sequence[str]) -> str:
    """What became of these metrics of a pair, in one line; recorded names as they are."""
    base, candidate = change.base, change.candidate
    where = f"{base.scenario} under {base.preset}"
    if base.repetition:
        where += f" (repetition {base.repetition})"
    rest = [difference(change, m) for m in found if m not in ("exit_reason", "iteration")]
    if not set(found) & {"exit_reason", "iteration"}:
        return f"{where}: {', '.join(rest)}"
    more = [difference(change, m) for m in change.differing if m in ("cost", "best_score")]
    ended = (
        f"{base.exit_reason} in {base.iteration} -> {candidate.exit_reason} in "
        f"{candidate.iteration}"
    )
    told = [*more, *(words for words in rest if words not in more)]
    return f"{where}: {ended}" + (f" ({', '.join(told)})" if told else "")
