"""Charts over many episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from harness.charts.theme import (
    ACCENT,
    GROUPS,
    ON_COLOUR,
    WIDTH,
    Theme,
    data,
    dressed,
    groups,
    ink,
    nothing,
    title,
)
from harness.charts.words import short, usd

if TYPE_CHECKING:
    import pandas as pd

_ROW = 26
#: Room that one letter takes, in pixels.
_LETTER = 6.2
#: Episodes longer than this are counted together.
_MANY_ROUNDS = 20


def exit_bars(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """One bar a preset, one part an exit reason in its group's colour.

    Args:
        frame: ``figures.exits``.
        theme: Of the page.
    """
    question = "What ends the loops?"
    if frame.empty:
        return nothing(question, theme)
    order = {name: place for place, name in enumerate(GROUPS)}
    made = frame.assign(place=frame["exit_group"].map(order).fillna(len(order)))
    made = made.sort_values(["preset", "place", "episodes", "exit_reason"],
                            ascending=[True, True, False, True])  # fmt: skip
    made["end"] = made.groupby("preset")["share"].cumsum().clip(upper=1)
    made["start"] = made["end"] - made["share"]
    made["middle"] = (made["start"] + made["end"]) / 2
    made["label"] = [_fitting(str(r), float(s)) for r, s in
                     zip(made["exit_reason"], made["share"], strict=True)]  # fmt: skip
    columns = ["preset", "exit_reason", "exit_group", "episodes", "share", "start", "end",
               "middle", "label"]  # fmt: skip
    base = alt.Chart(data(made, columns)).encode(
        y=alt.Y("preset:N", title=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[
            alt.Tooltip("preset:N"), alt.Tooltip("exit_reason:N"), alt.Tooltip("exit_group:N"),
            alt.Tooltip("episodes:Q", format=","), alt.Tooltip("share:Q", format=".1%"),
        ],
    )  # fmt: skip
    bars = base.mark_bar(height=_ROW - 6, stroke=ON_COLOUR, strokeWidth=0.5).encode(
        x=alt.X("start:Q", title="share of the preset's episodes",
                axis=alt.Axis(format="%", grid=False), scale=alt.Scale(domain=[0, 1])),
        x2="end:Q", color=groups(),
    )  # fmt: skip
    labels = base.mark_text(color=ON_COLOUR).encode(x="middle:Q", text="label:N")
    chart = (bars + labels).properties(
        width=WIDTH, height=alt.Step(_ROW), title=title(question, theme)
    )
    return dressed(chart, theme)


def _fitting(reason: str, share: float) -> str:
    """As much of a label as there is room for."""
    room = share * WIDTH - 6
    words, percent = short(reason), f"{share:.0%}"
    for label in (f"{words} {percent}", words, percent):
        if len(label) * _LETTER <= room:
            return label
    return ""


def cost_bars(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """What each preset's episodes cost; in iterations where nothing has a price.

    Args:
        frame: ``figures.totals``.
        theme: Of the page.
    """
    priced = not frame.empty and bool((frame["episodes"] > frame["cost_unknown"]).any())
    question = "What does each preset cost?" if priced else "How much does each preset run?"
    if frame.empty:
        return nothing(question, theme)
    made = frame.assign(value=frame["cost_usd"] if priced else frame["iterations"])
    made["label"] = [
        _cost(r.value, r.cost_unknown, r.episodes) if priced else f"{r.value:,.0f}"
        for r in made.itertuples()
    ]
    some = priced and bool((made["cost_unknown"] > 0).any())
    hint = "≥: some of its episodes have no known price" if some else ""
    columns = ["preset", "value", "label", "episodes", "iterations", "tokens", "cost_usd",
               "cost_unknown"]  # fmt: skip
    base = alt.Chart(data(made, columns)).encode(
        y=alt.Y("preset:N", title=None, axis=alt.Axis(domain=False, ticks=False)),
        x=alt.X("value:Q", title="USD, all episodes" if priced else "iterations, all episodes",
                scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=5)),
        tooltip=[
            alt.Tooltip("preset:N"), alt.Tooltip("cost_usd:Q", format="$.4f"),
            alt.Tooltip("cost_unknown:Q", title="episodes without a price"),
            alt.Tooltip("episodes:Q", format=","), alt.Tooltip("iterations:Q", format=","),
            alt.Tooltip("tokens:Q", format=","),
        ],
    )  # fmt: skip
    bars = base.mark_bar(height=_ROW - 8, color=ACCENT)
    labels = base.mark_text(align="left", dx=5, color=ink(theme), fontSize=12).encode(
        text="label:N"
    )
    chart = (bars + labels).properties(
        width=WIDTH - 60, height=alt.Step(_ROW), title=title(question, theme, hint)
    )
    return dressed(chart, theme)


def _cost(value: Any, unknown: Any, episodes: Any) -> str:
    if unknown == episodes:
        return "unknown"
    return f"{'≥ ' if unknown else ''}{usd(float(value))}"


def matrix(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """Scenarios by presets: reason and iteration in each cell, in the group's colour.

    Args:
        frame: ``figures.matrix``; keeps its order.
        theme: Of the page.
    """
    question = "Where do presets end the same scenario differently?"
    if frame.empty:
        return nothing(question, theme, "no scenario to show")
    made = frame.assign(
        label=[f"{short(str(r))} {i}"
               for r, i in zip(frame["exit_reason"], frame["iteration"], strict=True)]
    )  # fmt: skip
    columns = ["scenario", "preset", "exit_reason", "exit_group", "iteration", "best_score",
               "cost_usd", "label", "differs"]  # fmt: skip
    base = alt.Chart(data(made, columns)).encode(
        x=alt.X("preset:N", title=None, sort=None,
                axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False,
                              labelLimit=88)),
        y=alt.Y("scenario:N", title=None, sort=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[
            alt.Tooltip("scenario:N"), alt.Tooltip("preset:N"), alt.Tooltip("exit_reason:N"),
            alt.Tooltip("exit_group:N"), alt.Tooltip("iteration:Q"),
            alt.Tooltip("best_score:Q", format=".3~f"), alt.Tooltip("cost_usd:Q", format="$.4f"),
        ],
    )  # fmt: skip
    cells = base.mark_rect(cornerRadius=2, width=86, height=18).encode(color=groups())
    labels = base.mark_text(color=ON_COLOUR, fontSize=10.5).encode(text="label:N")
    chart = (cells + labels).properties(
        width=alt.Step(90), height=alt.Step(21),
        title=title(question, theme, "reason and iteration of the end"),
    )  # fmt: skip
    return dressed(chart, theme)


def rounds(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """How many revisions episodes take, one panel a preset.

    Args:
        frame: ``figures.lengths``.
        theme: Of the page.
    """
    question = "How many rounds do episodes take?"
    if frame.empty:
        return nothing(question, theme)
    made = frame.assign(rounds=frame["rounds"].clip(upper=_MANY_ROUNDS))
    made = made.groupby(["preset", "rounds", "exit_group"], as_index=False, sort=True)[
        ["episodes", "share"]
    ].sum()
    more = bool((frame["rounds"] > _MANY_ROUNDS).any())
    hint = f"{_MANY_ROUNDS} stands for {_MANY_ROUNDS} and more" if more else ""
    last = int(made["rounds"].max())
    bars = alt.Chart(data(made, ["preset", "rounds", "exit_group", "episodes", "share"])).mark_bar(
        width=max(3, min(9, 160 // (last + 1) - 1))
    )
    chart = bars.encode(
        x=alt.X("rounds:Q", title="rounds", scale=alt.Scale(domain=[-0.7, last + 0.7], nice=False),
                axis=alt.Axis(tickMinStep=1, tickCount=5, grid=False, format="d")),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=3)),
        color=groups(), order=alt.Order("exit_group:N"),
        tooltip=[
            alt.Tooltip("preset:N"), alt.Tooltip("rounds:Q"), alt.Tooltip("exit_group:N"),
            alt.Tooltip("episodes:Q", format=","), alt.Tooltip("share:Q", format=".1%"),
        ],
    ).properties(width=168, height=80)  # fmt: skip
    faceted = chart.facet(
        facet=alt.Facet("preset:N", title=None, header=alt.Header(labelAnchor="start")),
        columns=3, spacing=16, title=title(question, theme, hint),
    )  # fmt: skip
    return dressed(faceted, theme)
