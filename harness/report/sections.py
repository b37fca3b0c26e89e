"""The sections of a report: sentences, pictures, and the same numbers as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import charts
from harness.compare.pairs import Comparison
from harness.compare.words import verdict
from harness.figures.cheapest import MAX_FALSE, MAX_LOST
from harness.figures.one import reading
from harness.report import facts as told
from harness.report.blocks import (
    Picture,
    Recorded,
    Section,
    Sentence,
    Table,
    count,
    missing,
    of,
    recorded,
    rows,
    score,
    share,
    signed,
    table,
    usd,
)
from harness.report.facts import Facts

_UNITS = {"cost_usd": "USD", "best_score": "best score", "iterations": "iterations",
          "tokens": "tokens"}  # fmt: skip


def summary(facts: Facts, against: Comparison | None, base: str | None) -> Section:
    """The run in words."""
    changed: Sentence | None = None
    if against is not None and base is not None:
        changed = ("Against ", Recorded(base), f": {verdict(against)}.")
    found = [
        told.size(facts), changed, told.cheapest(facts), told.ending(facts), told.judged(facts),
        told.people(facts), told.parted(facts), told.caveat(facts),
    ]  # fmt: skip
    return Section("summary", "Summary", tuple(one for one in found if one is not None))


def ends(facts: Facts) -> Section:
    """Exit reasons."""
    exits = table(
        ("preset", "group", "exit reason", ">episodes", ">share"),
        (
            (recorded(r["preset"]), r["exit_group"], recorded(r["exit_reason"]),
             count(r["episodes"]), share(r["share"]))
            for r in rows(facts.exits)
        ),
    )  # fmt: skip
    by_length = facts.lengths.groupby(["preset", "rounds"], as_index=False)[
        ["episodes", "share"]
    ].sum()
    rounds = table(
        ("preset", ">rounds", ">episodes", ">share"),
        (
            (recorded(r["preset"]), count(r["rounds"]), count(r["episodes"]), share(r["share"]))
            for r in rows(by_length)
        ),
    )
    return Section(
        "exits", "What ends the loops",
        (("Success, paused, limit, stuck and undecided are told apart: a limit is no success.",),),
        (
            Picture("exit-reasons", ("What ends the loops?",),
                    lambda: charts.exit_bars(facts.exits, "inherit"), exits),
            Picture("rounds", ("How many rounds do episodes take?",),
                    lambda: charts.rounds(facts.lengths, "inherit"), rounds),
        ),
    )  # fmt: skip


def compared(facts: Facts) -> Section:
    """Presets side by side, and pair by pair against the reference."""
    roles = table(
        ("preset", "role", ">calls", ">tokens", ">cost", ">calls without a price"),
        (
            (recorded(r["preset"]), recorded(r["role"]), count(r["calls"]), count(r["tokens"]),
             usd(r["cost_usd"], r["cost_unknown"]), count(r["cost_unknown"]))
            for r in rows(facts.roles)
        ),
    )  # fmt: skip
    return Section(
        "presets", "Presets compared",
        (("Differences are against ", recorded(facts.base),
          (" on the same scenarios, each counted once, with 95 % intervals; a score's difference "
          "is better where it is positive. ≥ marks a sum of which a part is unknown.")),),
        (
            Picture("cost", ("What does each preset cost?",),
                    lambda: charts.cost_bars(facts.totals, "inherit"), _totals(facts)),
            Picture("roles", ("Who is it spent on?",),
                    lambda: charts.role_costs(facts.roles, "inherit"), roles),
        ),
        (("Pair by pair",
          _paired(facts)), *_agreement(facts)),
    )  # fmt: skip


def _totals(facts: Facts) -> Table:
    return table(
        ("preset", ">episodes", ">iterations", ">tokens", ">cost", ">mean best score",
         ">needs a human", ">exact", ">censored", ">diverged"),
        (
            (recorded(r["preset"]), count(r["episodes"]), count(r["iterations"]),
             f"{'≥ ' if r['tokens_unknown'] else ''}{count(r['tokens'])}",
             usd(r["cost_usd"], r["cost_unknown"]),
             f"{score(r['mean_best'])} (n = {count(r['scored'])})",
             count(r["needs_human"]), count(r["exact"]), count(r["censored"]),
             count(r["diverged"]))
            for r in rows(facts.totals)
        ),
    )  # fmt: skip


def _paired(facts: Facts) -> Table:
    found = []
    for r in rows(facts.paired):
        shown = {"cost_usd": usd, "tokens": count}.get(r["metric"], score)
        interval = "" if missing(r["low"]) else (
            f"{signed(r['low'], shown)} to {signed(r['high'], shown)}"
        )  # fmt: skip
        found.append((
            recorded(r["preset"]), _UNITS[r["metric"]], signed(r["mean"], shown), interval,
            count(r["scenarios"]), count(r["unknown"]),
            f"{count(r['less'])} / {count(r['same'])} / {count(r['more'])}",
        ))  # fmt: skip
    return table(("preset", "of", ">mean difference", ">95 % interval", ">scenarios", ">unknown",
                  ">less / same / more"), found)  # fmt: skip


def _agreement(facts: Facts) -> tuple[tuple[str, Table], ...]:
    known = rows(facts.totals[facts.totals["judged"].notna()])
    if not known:
        return ()
    header = ("preset", ">right", ">false stops", ">late", ">missed", ">wrong reason", ">unknown")
    names = ("false_stops", "late", "missed", "wrong_reasons", "not_judged")
    made = table(header, (
        (recorded(r["preset"]), of(r["right"], r["judged"]), *(count(r[name]) for name in names))
        for r in known
    ))  # fmt: skip
    return (("What a sensible user expects (contestable scenarios left out)", made),)


def parting(facts: Facts) -> Section:
    """Scenarios that presets end differently."""
    cells = table(
        ("scenario", "preset", "exit reason", ">iteration", ">best score", ">cost"),
        (
            (recorded(r["scenario"]), recorded(r["preset"]), recorded(r["exit_reason"]),
             count(r["iteration"]), score(r["best_score"]), usd(r["cost_usd"]))
            for r in rows(facts.matrix)
        ),
    )  # fmt: skip
    shown = facts.matrix["scenario"].nunique()
    return Section(
        "scenarios", "Where presets part",
        (told.parted(facts),
         (f"Shown: {count(shown)}, those with the most different endings first.",)),
        (Picture("matrix", ("Where do presets end the same scenario differently?",),
                 lambda: charts.matrix(facts.matrix, "inherit"), cells),) if shown else (),
    )  # fmt: skip


def guards(
    facts: Facts, tried: tuple[Sentence, ...] = (), pictures: tuple[Picture, ...] = ()
) -> Section:
    """What each guard saw, and what other thresholds would have done."""
    silent = facts.guards[facts.guards["never_reached"].astype(bool)]
    blind = facts.guards[facts.guards["unknown_share"] == 1]
    made = table(
        ("preset", "guard", "fires at", ">nearest reading", ">fired in", ">decided", ">unknown"),
        (
            (recorded(r["preset"]), recorded(r["guard"]), _rule(r),
             reading(r["kind"], r["nearest"]), of(r["fired_episodes"], r["episodes"]),
             count(r["ended"]),
             share(r["unknown_share"]))
            for r in rows(facts.guards)
        ),
    )  # fmt: skip
    turns = table(
        ("preset", ">by code alone", ">by asking a model", ">share by code"),
        (
            (
                recorded(r["preset"]),
                count(r["by_code"]),
                count(r["by_model"]),
                share(r["code_share"]),
            )
            for r in rows(facts.decided)
        ),
    )
    sentences: list[Sentence] = [(
        ("Every reading is stored, fired or not, so that any other threshold can be judged from "
        "it: harness tune does that on a run in observe mode."),
    )]  # fmt: skip
    n = len(facts.guards)
    if len(silent):
        sentences.append(((f"{of(len(silent), n)} thresholds (by preset and guard) were never "
                          "reached."),))  # fmt: skip
    if len(blind):
        sentences.append(((f"{of(len(blind), n)} guards could judge nothing at all: what they "
                          "measure was not recorded."),))  # fmt: skip
    more = (("Turns classified", turns),) if turns.rows else ()
    return Section("tuning", "Tuning evidence", (*sentences, *tried), pictures,
                   (("Guards against their thresholds", made), *more))  # fmt: skip


def _rule(row: Mapping[str, Any]) -> str:
    """When a guard fires; a task's own limits may set it otherwise."""
    other = " (or as the task says)" if row["thresholds"] > 1 else ""
    return f"{row['comparison']} {reading(row['kind'], row['threshold'])}{other}"


def method(facts: Facts) -> Section:
    """How the figures came about, and what the data lacks."""
    names = ("without_usage", "without_price", "without_time", "without_score", "without_truth",
             "exact", "censored", "diverged")  # fmt: skip
    lacks = table(
        ("family", ">episodes", ">without usage", ">without price", ">without time",
         ">without score", ">without truth", ">exact", ">censored", ">diverged"),
        (
            (recorded(r["family"]), count(r["episodes"]), *(count(r[name]) for name in names))
            for r in rows(facts.data)
        ),
    )  # fmt: skip
    return Section(
        "method", "Method and caveats",
        (
            told.caveat(facts),
            (("Replays are exact up to their end: recorded replies, a virtual clock, no model "
             "called. A stop before the end of a recording is judged by what was recorded after "
             "it."),),
            (("Intervals are 95 %, by bootstrap over scenarios (BCa; a normal approximation above "
             "400 scenarios). They say how sure a mean over scenarios like these is, nothing of "
             "other tasks. They are not adjusted for the number of presets."),),
            ((f"A preset counts as losing no quality if its best scores lie at most {MAX_LOST:g} "
             "below the best that any preset reached, in the mean, and at most "
             f"{MAX_FALSE:.0%} of its judged episodes stop falsely."),),
            ("Unknown is never counted as zero: sums are over what is known, and say so.",),
        ),
        (),
        (("What the data lacks, in episodes", lacks),),
    )  # fmt: skip
