"""The section on what changed against a base; the comparison itself is ``harness.compare``'s."""

from __future__ import annotations

from harness.compare.changes import shown
from harness.compare.pairs import Comparison
from harness.compare.words import (
    changed,
    finding,
    mark,
    smallest,
    summaries,
    values,
    verdict,
    worth_telling,
)
from harness.report.blocks import Recorded, Section, Table, count, recorded, table

_SHOWN = 60


def versus(found: Comparison, base: str) -> Section:
    """What became of each pair."""
    lines = [*found.reasons[:10], *found.notes]
    return Section(
        "changes", "Scenarios that changed",
        (("Base: ", Recorded(base), f". {verdict(found)}."), *((recorded(x, 400),) for x in lines)),
        (),
        tuple((title, made) for title, made in (
            ("Changes, the weightiest first", _changes(found)), ("By preset", _presets(found)),
            ("Statistics", _tests(found)),
        ) if made.rows),
    )  # fmt: skip


def _changes(found: Comparison) -> Table:
    differing = changed(found)
    more = f"and {count(len(differing) - _SHOWN)} more" if len(differing) > _SHOWN else ""
    return table(
        ("", "scenario", "preset", "what", "base", "now"),
        (
            (mark(one), recorded(one.base.scenario), recorded(one.base.preset), metric,
             recorded(before), recorded(after))
            for one in differing[:_SHOWN] for metric, before, after in values(one)
        ),
        more,
    )  # fmt: skip


def _presets(found: Comparison) -> Table:
    rows = []
    for one in summaries(found.changes):
        cost = shown("cost", *one.cost_pico_usd) if one.cost_pico_usd else ("?", "?")
        best = shown("best_score", *one.best_score) if one.best_score else ("?", "?")
        rows.append((
            recorded(one.preset), count(one.pairs), count(one.regressions),
            count(one.improvements), " → ".join(map(count, one.success)),
            " → ".join(map(count, one.iterations)), " → ".join(cost), " → ".join(best),
        ))  # fmt: skip
    return table(("preset", ">pairs", ">worse", ">better", ">success", ">iterations", ">cost",
                  ">mean best"), rows)  # fmt: skip


def _tests(found: Comparison) -> Table:
    return table(
        ("preset", "metric", ">worse by", ">adjusted p", ">smallest that could be shown", ""),
        (
            (recorded(t.answer.preset), t.answer.metric.replace("_", " "), finding(t.answer),
             f"{t.answer.adjusted:.2g}", smallest(t.answer),
             "decides" if t.decides else "information")
            for t in found.tests if worth_telling(t)
        ),
    )  # fmt: skip
