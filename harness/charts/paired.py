"""Presets against one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from harness.charts.theme import ACCENT, WIDTH, Theme, data, dressed, ink, nothing, title

if TYPE_CHECKING:
    import pandas as pd


def deltas(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """Mean difference of each preset with its interval; 0 is the preset compared with.

    Args:
        frame: ``figures.paired``, one metric.
        theme: Of the page.
    """
    question = "Who takes more, who takes less?"
    if frame.empty or frame["mean"].isna().all():
        return nothing(question, theme, "nothing both sides know")
    made = frame[frame["mean"].notna()]
    metric = str(made["metric"].iloc[0]).replace("_", " ")
    columns = ["preset", "mean", "low", "high", "scenarios", "less", "same", "more"]
    base = alt.Chart(data(made, columns)).encode(
        y=alt.Y("preset:N", title=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[
            alt.Tooltip("preset:N"), alt.Tooltip("mean:Q", format=".4~g"),
            alt.Tooltip("low:Q", format=".4~g"), alt.Tooltip("high:Q", format=".4~g"),
            alt.Tooltip("scenarios:Q"), alt.Tooltip("less:Q"), alt.Tooltip("same:Q"),
            alt.Tooltip("more:Q"),
        ],
    )  # fmt: skip
    x = alt.X("mean:Q", title=f"difference in {metric} a scenario")
    zero = (
        alt.Chart(alt.Data(values=[{"zero": 0}]))  # type: ignore[no-untyped-call]
        .mark_rule(color=ink(theme), opacity=0.5)
        .encode(x="zero:Q")
    )
    known = base.transform_filter("datum.low !== null")
    bars = known.mark_rule(color=ACCENT, strokeWidth=3).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=90, color=ACCENT, opacity=1).encode(x=x)
    chart = (zero + bars + dots).properties(
        width=WIDTH, height=alt.Step(28),
        title=title(question, theme, "dot: mean · line: 95 % interval"),
    )  # fmt: skip
    return dressed(chart, theme)
