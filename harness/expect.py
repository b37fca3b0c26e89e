"""Expectations of a scenario against an episode: whether it ended as expected, and if not, why.

What a scenario file says under ``expect``, checked for one preset. The words are for people who
have just changed a threshold and want to know what it did.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.episode import Episode, Series
from harness.exits import ExitReason
from harness.guards import catalogue
from harness.preset import Preset
from harness.scenario import Expectation

#: Iterations shown before the first and after the last one that matters.
AROUND = 2
#: Iterations shown at most; what lies between is left out.
MOST = 9


def holds(expected: Expectation, episode: Episode) -> bool:
    """Whether the episode ended for the expected reason, and where one is named, there."""
    return episode.exit_reason is expected.exit_reason and expected.iteration in (
        None,
        episode.exit_iteration,
    )


def observed(episode: Episode, like: Expectation | None = None) -> Expectation:
    """What would have to be expected for this episode to pass.

    Args:
        episode: What happened.
        like: An expectation that names no iteration stays one that names none.
    """
    pinned = like is None or like.iteration is not None
    return Expectation(
        exit_reason=episode.exit_reason, iteration=episode.exit_iteration if pinned else None
    )


def sentence(expected: Expectation, episode: Episode) -> str:
    """What is different, in one line."""
    return (
        f"{episode.scenario} under {episode.preset}: expected {_words(expected)}, "
        f"observed {_words(observed(episode, expected))}"
    )


def _words(expectation: Expectation) -> str:
    where = "" if expectation.iteration is None else f" in iteration {expectation.iteration}"
    return f"{expectation.exit_reason.value}{where}"


def explain(expected: Expectation, episode: Episode, preset: Preset) -> str:
    """Both endings, and the signals around them against their thresholds.

    Args:
        expected: What the scenario says.
        episode: What happened.
        preset: The preset as loaded, to name guards that it lacks.
    """
    there = expected.iteration
    rows = [
        ("", "expected", "observed"),
        ("exit reason", expected.exit_reason.value, episode.exit_reason.value),
        ("iteration", "any" if there is None else str(there), str(episode.exit_iteration)),
    ]
    parts = [sentence(expected, episode), "", *_columns(rows), ""]
    numbers = _window([n for n in (there, episode.exit_iteration) if n is not None], episode)
    shown = _relevant(expected.exit_reason, episode, numbers)
    if shown:
        head = ("guard", "fires at", *map(str, numbers))
        lines = [(s.guard, _limit(s), *(_reading(s, n) for n in numbers)) for s in shown]
        parts += ["signals by iteration (* fired, ? could not be judged):"]
        parts += _columns([head, *lines], right=2)
        parts += [""]
    parts += _conditions(episode, numbers)
    if expected.exit_reason is not episode.exit_reason:
        parts += _absent(expected.exit_reason, episode, preset)
    parts += [f"observed: {episode.message}"]
    return "\n".join(parts)


def _window(ends: Sequence[int], episode: Episode) -> list[int]:
    """Iterations to show: those around each ending, as many as fit."""
    last = episode.exit_iteration
    wanted = {n for end in ends for n in range(end - AROUND, end + AROUND)}
    numbers = sorted(n for n in wanted if 1 <= n <= last)
    return (numbers or [last])[-MOST:]


def _relevant(reason: ExitReason, episode: Episode, numbers: Sequence[int]) -> list[Series]:
    """Guards that gave or should have given the reason, and those that fired near by."""
    kinds = _kinds(reason)
    return [
        series
        for series in episode.series
        if series.kind in kinds
        or series.guard == episode.exit_guard
        or any(series.fired[n - 1] for n in numbers)
    ]


def _kinds(reason: ExitReason) -> list[str]:
    """Guards that give this reason; combinations take that of their parts and are not asked."""
    return [kind for kind, guard in catalogue().items() if getattr(guard, "reason", "") is reason]


def _limit(series: Series) -> str:
    return f"{series.comparison} {_shown(series, series.threshold)}"


def _reading(series: Series, iteration: int) -> str:
    signal = series.signals[iteration - 1]
    if signal != signal:
        return "?"
    at = iteration - 1
    return _shown(series, signal) + ("*" if series.fired[at] else "?" if series.unknown[at] else "")


def _shown(series: Series, value: float) -> str:
    known = catalogue().get(series.kind)
    return f"{value:.4g}" if known is None else known.shown(value)


def _conditions(episode: Episode, numbers: Sequence[int]) -> list[str]:
    """What was true near the endings, the winner marked."""
    lines = []
    for number in numbers:
        decision = episode.decisions[number - 1]
        true = [c for c in decision.conditions if c.state != "unknown"]
        words = ", ".join(
            f"{c.name} -> {c.reason.value} ({c.action if c.state == 'true' else c.state})"
            + (" decided" if c is decision.winner else "")
            for c in true
        )
        if words:
            lines.append(f"  iteration {number}: {words}")
    return ["conditions that were true:", *lines, ""] if lines else []


def _absent(reason: ExitReason, episode: Episode, preset: Preset) -> list[str]:
    """Whether the preset has a guard for the reason at all."""
    kinds = _kinds(reason)
    has = {series.kind for series in episode.series}
    if not kinds or has.intersection(kinds):
        return []
    return [f"preset {preset.name} has no guard for {reason.value}: {' or '.join(kinds)}", ""]


def _columns(rows: Sequence[Sequence[str]], right: int = 1) -> list[str]:
    """Rows as aligned columns; from column ``right`` on flush right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if at >= right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
