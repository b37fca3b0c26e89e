"""A comparison in words: Markdown for a pull request, records for JSON, rows for tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.compare.changes import Change, shown, value
from harness.compare.pairs import Comparison, Test, amount
from harness.github import folded, grid, literal
from harness.statistics import Answer

#: So many changes are in the open, and so many behind the fold: a comment has 65,536 characters.
_OPEN, _FOLDED = 10, 100
_MARKS = {
    "regression": "worse", "lost": "lost", "improvement": "better", "changed": "other",
    "same": "same",
}  # fmt: skip
VERDICTS = {0: "no regression", 1: "regression", 2: "not measurable"}


@dataclass(frozen=True, slots=True)
class Summary:
    """One preset on both sides; figures over the pairs that know them on both.

    Attributes:
        success: Successful pairs in base and candidate.
        iterations: Sum of iterations.
        cost_pico_usd: Sum of known costs, ``None`` if no pair knows it.
        best_score: Mean of known best scores.
    """

    preset: str
    pairs: int
    sampled: int
    regressions: int
    improvements: int
    success: tuple[int, int]
    iterations: tuple[int, int]
    cost_pico_usd: tuple[int, int] | None
    best_score: tuple[float, float] | None


def summaries(changes: Sequence[Change]) -> list[Summary]:
    """Each preset in figures, by name."""
    return [
        _summary(preset, [change for change in changes if change.base.preset == preset])
        for preset in sorted({change.base.preset for change in changes})
    ]


def _summary(preset: str, group: list[Change]) -> Summary:
    costs = [
        (c.base.cost_pico_usd, c.candidate.cost_pico_usd)
        for c in group
        if c.base.cost_pico_usd is not None and c.candidate.cost_pico_usd is not None
    ]
    scores = [
        (c.base.best_score, c.candidate.best_score)
        for c in group
        if c.base.best_score is not None and c.candidate.best_score is not None
    ]
    return Summary(
        preset,
        len(group),
        sum(c.kind == "sampled" for c in group),
        sum(c.verdict == "regression" for c in group),
        sum(c.verdict == "improvement" for c in group),
        (sum(c.base.success for c in group), sum(c.candidate.success for c in group)),
        (sum(c.base.iteration for c in group), sum(c.candidate.iteration for c in group)),
        (sum(b for b, _ in costs), sum(a for _, a in costs)) if costs else None,
        (
            math.fsum(b for b, _ in scores) / len(scores),
            math.fsum(a for _, a in scores) / len(scores),
        )
        if scores
        else None,
    )


def changed(comparison: Comparison) -> list[Change]:
    """The pairs that differ, the most important first."""
    return [change for change in comparison.changes if change.verdict != "same"]


def mark(change: Change) -> str:
    """One word for what became of a pair."""
    return _MARKS[change.verdict]


def values(change: Change) -> list[tuple[str, str, str]]:
    """What differs in a pair: metric, base and candidate in words."""
    return [
        (metric.replace("_", " "), *shown(metric, value(change.base, metric),
                                          value(change.candidate, metric)))
        for metric in change.differing
    ]  # fmt: skip


def verdict(comparison: Comparison) -> str:
    """The verdict in one line, without recorded text."""
    pairs = len(comparison.changes)
    differ = len(changed(comparison))
    found = [f"{pairs} pairs, {differ} differ"]
    for name, count in (
        ("regressions", len(comparison.regressions)),
        ("not measurable", len(comparison.unmeasured)),
        ("improvements", sum(c.verdict == "improvement" for c in comparison.changes)),
        ("new", len(comparison.new)),
    ):
        found += [f"{name}: {count}"] if count else []
    return f"{VERDICTS[comparison.exit_code]}: {', '.join(found)}"


def finding(answer: Answer) -> str:
    """Mean difference with its interval, in words; plus is worse."""
    mean = amount(answer.metric, answer.mean)
    if answer.low is None or answer.high is None:
        return mean
    return f"{mean} ({amount(answer.metric, answer.low)} to {amount(answer.metric, answer.high)})"


def smallest(answer: Answer) -> str:
    """The smallest difference that these pairs could show, in words."""
    if answer.detectable is None:
        return "not measurable"
    return amount(answer.metric, answer.detectable)


def worth_telling(test: Test) -> bool:
    """Whether a test says more than that nothing differs."""
    return test.decides or test.answer.mean != 0 or test.answer.low is not None


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """JSON objects: changed pairs, tests, and one summary."""
    pairs = [
        {
            "type": "pair", "scenario": c.base.scenario, "preset": c.base.preset,
            "repetition": c.base.repetition, "kind": c.kind, "class": c.verdict,
            "worse": c.worse, "better": c.better, "lost": c.lost,
            "base": _ended(c.base), "candidate": _ended(c.candidate),
        }
        for c in changed(comparison)
    ]  # fmt: skip
    tests = [
        {"type": "test", "decides": test.decides, **asdict(test.answer)}
        for test in comparison.tests
    ]
    summary = {
        "type": "summary", "exit_code": comparison.exit_code,
        "verdict": VERDICTS[comparison.exit_code], "reasons": comparison.reasons,
        "notes": comparison.notes, "pairs": len(comparison.changes), "changed": len(pairs),
        "new": [{"scenario": scenario, "preset": preset} for scenario, preset in comparison.new],
        "presets": [asdict(one) for one in summaries(comparison.changes)],
    }  # fmt: skip
    return [*pairs, *tests, summary]


def _ended(ended: Any) -> dict[str, Any]:
    skipped = ("scenario", "preset", "repetition")
    return {name: found for name, found in asdict(ended).items() if name not in skipped}


def markdown(comparison: Comparison) -> str:
    """A comment for a pull request: verdict, most important changes, the rest folded."""
    signs = {0: "✅", 1: "❌", 2: "⚠️"}
    parts = [f"{signs[comparison.exit_code]} **Guard behaviour: {verdict(comparison)}**\n"]
    differing = changed(comparison)
    weighty = [c for c in differing if c.verdict in ("regression", "lost")][:_OPEN]
    if weighty:
        parts.append(_changes(weighty))
    others = [
        *(f"regression: {line}" for line in comparison.confirmed),
        *(f"not measurable: {line}" for line in comparison.gaps),
    ]
    parts += [f"- {literal(line, 400)}\n" for line in others[:_OPEN]]
    if len(others) > _OPEN:
        parts.append(f"- … and {len(others) - _OPEN} more\n")
    rest = [change for change in differing if change not in weighty]
    if rest:
        more = f"\n… and {len(rest) - _FOLDED} more\n" if len(rest) > _FOLDED else ""
        parts.append(folded(f"{len(rest)} other changes", _changes(rest[:_FOLDED]) + more))
    by_preset = summaries(comparison.changes)
    if by_preset:
        parts.append(folded("By preset", _presets(by_preset)))
    told = [test for test in comparison.tests if worth_telling(test)]
    if told:
        parts.append(folded("Statistics", _tests(told)))
    if comparison.notes:
        parts.append(folded("Notes", "".join(f"- {literal(n, 400)}\n" for n in comparison.notes)))
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Our own words in a cell; dollars would begin a formula."""
    return text.replace("$", "&#36;")


def _changes(changes: Sequence[Change]) -> str:
    return grid(
        ("", "scenario", "preset", "base", "candidate"),
        (
            (
                mark(c),
                literal(c.base.scenario, 80),
                literal(c.base.preset, 60),
                "<br>".join(_plain(f"{m} {b}") for m, b, _ in values(c)),
                "<br>".join(_plain(f"{m} {a}") for m, _, a in values(c)),
            )
            for c in changes
        ),
    )


def _presets(found: Sequence[Summary]) -> str:
    rows = []
    for one in found:
        cost = shown("cost", *one.cost_pico_usd) if one.cost_pico_usd else ("?", "?")
        score = shown("best_score", *one.best_score) if one.best_score else ("?", "?")
        rows.append((
            literal(one.preset, 60), str(one.pairs), str(one.regressions), str(one.improvements),
            " → ".join(map(str, one.success)), " → ".join(map(str, one.iterations)),
            _plain(" → ".join(cost)), " → ".join(score),
        ))  # fmt: skip
    header = ("preset", "pairs", "worse", "better", "success", "iterations", "cost", "mean best")
    return grid(header, rows)


def _tests(tests: Sequence[Test]) -> str:
    header = ("preset", "metric", "worse by", "adjusted p", "smallest that could be shown", "")
    return grid(
        header,
        (
            (
                literal(t.answer.preset, 60),
                t.answer.metric.replace("_", " "),
                _plain(finding(t.answer)),
                f"{t.answer.adjusted:.2g}",
                _plain(smallest(t.answer)),
                "decides" if t.decides else "information",
            )
            for t in tests
        ),
    )
