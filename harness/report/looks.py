"""The section on episodes to look at: a list, and the first few in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness import charts, figures
from harness.figures.one import telling
from harness.report.blocks import (
    Look,
    Picture,
    Recorded,
    Section,
    Table,
    Text,
    count,
    missing,
    recorded,
    rows,
    score,
    table,
    usd,
)
from harness.report.facts import Facts
from harness.store.database import Store
from harness.text import inert

if TYPE_CHECKING:
    import pandas as pd

#: Episodes shown in full, and the longest text of theirs (characters).
_FULL, _TEXT = 3, 2_000
#: Iterations of an episode beyond these are left out of tables.
_ITERATIONS = 40


_WHAT = (
    "The weightiest first: false stops, wrong reasons, late or missed stops by the scenario's "
    "truth; then what left its recording or needs a human."
)


def looks(store: Store, facts: Facts) -> Section:
    """Episodes that ended unlike a sensible user expects, left their recording or need someone."""
    listed = rows(facts.weighty)
    if not listed:
        return Section("episodes", "Episodes to look at", (("None stands out.",),))
    made = table(
        ("why", "scenario", "preset", "exit reason", ">iteration", ">best score", ">cost",
         ">unknown readings"),
        (
            (why(r), recorded(r["scenario"]), recorded(r["preset"]), recorded(r["exit_reason"]),
             count(r["iteration"]), score(r["best_score"]), usd(r["cost_usd"]),
             count(r["unknown_verdicts"]))
            for r in listed
        ),
    )  # fmt: skip
    # One a preset, so that one odd preset does not fill the page.
    firsts = list({r["preset"]: r for r in reversed(listed)}.values())[::-1]
    chosen = sorted(firsts, key=listed.index)[:_FULL]
    return Section(
        "episodes", "Episodes to look at",
        ((_WHAT,),),
        (),
        (("Episodes", made),),
        tuple(_look(store, f"look-{at}", r) for at, r in enumerate(chosen, 1)),
    )  # fmt: skip


def why(row: Mapping[str, Any]) -> str:
    """Why an episode deserves a look."""
    if row["weight"] >= 4:
        return str(row["agreement"])
    return {3: "diverged", 2: "needs a human", 1: "unknown readings"}.get(row["weight"], "")


def _look(store: Store, name: str, row: Mapping[str, Any]) -> Look:
    found = figures.episode(store, row["episode_id"], most=_TEXT)
    end = int(row["iteration"])
    pictures = []
    if found["iterations"]["score"].notna().any():
        pictures.append(
            Picture(f"{name}-score", ("How did the score move?",),
                    lambda: charts.score_curve(found["iterations"], end, "inherit"),
                    _scores(found["iterations"]))
        )  # fmt: skip
    loud, _ = telling(found["signals"], row["exit_guard"])
    pictures.append(
        Picture(f"{name}-signals", ("What did each guard see?",),
                lambda: charts.signal_panel(loud, "inherit"),
                _readings(found["signals"]))
    )  # fmt: skip
    last = found["texts"][found["texts"]["iteration"] == end]
    return Look(
        name,
        (f"{why(row)}: ", recorded(row["scenario"]), " under ", recorded(row["preset"]), ": ",
         recorded(row["message"], 300), _expected(rows(found["head"])[0])),
        tuple(pictures),
        tuple(Text(f"{r['kind']} of iteration {end}", _whole(r["text"]), int(r["length"]))
              for r in rows(last) if r["kind"] != "work order"),
    )  # fmt: skip


def _expected(head: Mapping[str, Any]) -> str:
    if missing(head["why"]):
        return ""
    return Recorded(f". Expected: {recorded(head['why'], 300)}")


def _whole(text: str) -> Recorded:
    """A text with its lines."""
    return Recorded(inert(text))


def _scores(iterations: pd.DataFrame) -> Table:
    return table(
        (">iteration", "decision", ">score", ">best score", ">tokens", ">cost"),
        (
            (count(r["iteration"]), recorded(r["decision"]), score(r["score"]),
             score(r["best_score"]), count(r["tokens"]), usd(r["cost_usd"]))
            for r in rows(iterations.head(_ITERATIONS))
        ),
    )  # fmt: skip


def _readings(signals: pd.DataFrame) -> Table:
    made = []
    for guard, group in signals.groupby("guard", sort=False):
        head = group.iloc[0]
        cells = [f"{r['shown']}{'*' if r['fired'] else ''}" for r in rows(group.head(_ITERATIONS))]
        made.append((recorded(guard), f"{head['comparison']} {head['at']}",
                     " ".join(cells)))  # fmt: skip
    return table(("guard", "fires at", "signal by iteration (* fired, ? unknown)"), made)
