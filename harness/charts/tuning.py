"""Charts of what tuning finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from harness.charts.theme import (
    ACCENT,
    FIRED,
    GROUPS,
    WIDTH,
    Theme,
    data,
    dressed,
    ink,
    nothing,
    shown,
)
from harness.charts.theme import title as asks

if TYPE_CHECKING:
    import pandas as pd

#: What a threshold is judged by, in words, the most important first.
MEASURES = {
    "false_stops": "false stops", "cost_saved": "cost saved", "lost": "quality lost",
    "ended": "episodes ended", "iterations": "iterations run",
}  # fmt: skip


#: What a guard's worth is counted in.
WORTH = {
    "saved": "cost saved", "iterations": "iterations saved", "lost": "quality lost",
    "false_stops": "false stops",
}  # fmt: skip


def step_function(
    frame: pd.DataFrame, current: float | None = None, theme: Theme = "light", guard: str = ""
) -> Any:
    """What each threshold of one guard would have done, exactly: between two steps nothing moves.

    Args:
        frame: threshold, and one or more of false_stops, cost_saved, lost, ended, iterations.
        current: The threshold in use, marked.
        theme: Of the page.
        guard: Its name.
    """
    of = f" of {shown(guard, 60)}" if guard else ""
    question = f"What would another threshold{of} have done?"
    found = [name for name in MEASURES if name in frame.columns]
    if frame.empty or not found:
        return nothing(question, theme)
    rows = frame.sort_values("threshold")
    strips = []
    for name in found:
        last = name == found[-1]
        base = alt.Chart(data(rows, ["threshold", *found]))
        line: Any = base.mark_line(interpolate="step-after", color=ACCENT, strokeWidth=2).encode(
            x=alt.X("threshold:Q", title="threshold" if last else None,
                    scale=alt.Scale(zero=False), axis=alt.Axis(labels=last, ticks=last)),
            y=alt.Y(f"{name}:Q",
                    title=MEASURES[name],
                    axis=alt.Axis(tickCount=3, format=_short(rows[name]), titleAngle=0,
                                  titleAlign="left", titleAnchor="start", titleX=0, titleY=-8)),
            tooltip=["threshold:Q", *(alt.Tooltip(f"{m}:Q", format=",") for m in found)],
        )  # fmt: skip
        if current is not None:
            now = alt.Chart(alt.InlineData(values=[{"threshold": current}]))
            line = line + now.mark_rule(color=FIRED, strokeDash=[4, 3]).encode(x="threshold:Q")
        strips.append(line.properties(width=WIDTH, height=70))
    hint = "" if current is None else f"dashed: in use, {current:g}"
    chart = alt.vconcat(*strips, spacing=18).properties(title=asks(question, theme, hint))
    return dressed(chart, theme)


def pareto(
    frame: pd.DataFrame,
    theme: Theme = "light",
    *,
    effort: str = "cost",
    harm: str = "false-stop rate",
) -> Any:
    """Presets by what they cost and what they spoil; nothing lies below the line.

    Args:
        frame: name, effort, harm, front (on the Pareto front), chosen.
        theme: Of the page.
        effort: What ``effort`` is, in words.
        harm: What ``harm`` is, in words.
    """
    question = "What does it cost to be stricter?"
    if frame.empty:
        return nothing(question, theme)
    base = alt.Chart(data(frame, ["name", "effort", "harm", "front", "chosen"])).encode(
        x=alt.X("effort:Q", title=effort, scale=alt.Scale(zero=False)),
        y=alt.Y("harm:Q", title=harm),
        tooltip=["name:N", alt.Tooltip("effort:Q", title=effort, format=".4~g"),
                 alt.Tooltip("harm:Q", title=harm, format=".4~g")],
    )  # fmt: skip
    on_front = base.transform_filter("datum.front")
    chosen = base.transform_filter("datum.chosen")
    chart = (
        base.mark_point(filled=True, size=24, color=ink(theme), opacity=0.25)
        + on_front.mark_line(interpolate="step-after", color=ACCENT).encode(order="effort:Q")
        + on_front.mark_point(filled=True, size=50, color=ACCENT, opacity=1)
        + chosen.mark_point(shape="diamond", filled=True, size=150, color=FIRED, opacity=1)
        + chosen.mark_text(align="left", dx=9, dy=-7, color=ink(theme), fontSize=12).encode(
            text="name:N"
        )
    ).properties(
        width=WIDTH, height=240,
        title=asks(question, theme, "line: nothing is cheaper at no more harm · diamond: chosen"),
    )  # fmt: skip
    return dressed(chart, theme)


def incidence(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """Share of episodes that ended by each iteration, by cause, with pointwise intervals.

    Args:
        frame: cause (an exit group, or agent_finished), iteration, share, low, high.
        theme: Of the page.
    """
    question = "By when has what ended the loops?"
    if frame.empty:
        return nothing(question, theme)
    names = [*GROUPS, "agent_finished"]
    present = [name for name in names if name in set(frame["cause"])]
    colours = [GROUPS.get(name, GROUPS["undecided"]) for name in present]
    base = alt.Chart(data(frame, ["cause", "iteration", "share", "low", "high"])).encode(
        x=alt.X("iteration:Q", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
        color=alt.Color("cause:N", scale=alt.Scale(domain=present, range=colours), legend=None),
        tooltip=["cause:N", "iteration:Q", alt.Tooltip("share:Q", format=".1%"),
                 alt.Tooltip("low:Q", format=".1%"), alt.Tooltip("high:Q", format=".1%")],
    )  # fmt: skip
    band = base.mark_area(interpolate="step-after", opacity=0.18).encode(
        y=alt.Y("low:Q", title="share of episodes", axis=alt.Axis(format="%")), y2="high:Q"
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(y="share:Q")
    ends = frame.sort_values("iteration").groupby("cause", as_index=False).last()
    ends = _apart(ends.sort_values("share"), float(frame["high"].max()) / 14)
    words = (
        alt.Chart(data(ends, ["cause", "iteration", "share", "place", "label"]))
        .mark_text(align="left", dx=6, color=ink(theme), fontSize=12)
        .encode(x="iteration:Q", y="place:Q", text="label:N")
    )
    chart = (band + line + words).properties(
        width=WIDTH - 90, height=220,
        title=asks(question, theme, "cumulative incidence; band: 95 % interval at each iteration"),
    )  # fmt: skip
    return dressed(chart, theme)


def _apart(ends: pd.DataFrame, gap: float) -> pd.DataFrame:
    """Places of labels, from below, that leave a gap between each other."""
    places: list[float] = []
    for value in ends["share"]:
        places.append(max(float(value), places[-1] + gap if places else 0.0))
    names = [f"{cause} {share:.0%}" for cause, share in
             zip(ends["cause"], ends["share"], strict=True)]  # fmt: skip
    return ends.assign(place=places, label=names)


def _short(values: pd.Series[Any]) -> str:
    """Format of an axis: thousands shortened, small numbers as they are."""
    return "~s" if float(values.abs().max()) >= 1000 else ".3~r"


def attribution(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """What each guard is worth: its fair share, alone, and what is missing without it.

    Args:
        frame: measure, guard, alone, left_out, share (Shapley, whole units).
        theme: Of the page.
    """
    question = "What is each guard worth?"
    if frame.empty:
        return nothing(question, theme)
    panels = []
    for name in dict.fromkeys(frame["measure"]):
        rows = frame[frame["measure"] == name].sort_values("share", ascending=False)
        base = alt.Chart(data(rows, ["guard", "alone", "left_out", "share"])).encode(
            y=alt.Y("guard:N", title=None, sort=None, axis=alt.Axis(domain=False, ticks=False)),
            tooltip=["guard:N", *(alt.Tooltip(f"{c}:Q", format=",")
                                  for c in ("share", "alone", "left_out"))],
        )  # fmt: skip
        x = alt.X("share:Q", title=WORTH.get(str(name), str(name)),
                  axis=alt.Axis(tickCount=5, format=_short(rows["alone"])))  # fmt: skip
        panels.append(
            (
                base.mark_bar(height=12, color=ACCENT).encode(x=x)
                + base.mark_tick(thickness=2, size=18, color=ink(theme)).encode(x="alone:Q")
                + base.mark_point(shape="diamond", size=55, color=ink(theme)).encode(x="left_out:Q")
            ).properties(width=WIDTH - 60, height=alt.Step(22))
        )
    chart = alt.vconcat(*panels, spacing=14).properties(
        title=asks(question, theme,
                   "bar: fair share (Shapley) · tick: alone · diamond: missing without it")
    )  # fmt: skip
    return dressed(chart, theme)


def roc(frame: pd.DataFrame, theme: Theme = "light", *, words: str = "") -> Any:
    """How well a score tells two classes apart, threshold by threshold.

    Args:
        frame: threshold, recall, false_alarms.
        theme: Of the page.
        words: For instance the area under the curve.
    """
    question = "How well does it tell them apart?"
    if frame.empty:
        return nothing(question, theme)
    unit = alt.Scale(domain=[0, 1])
    base = alt.Chart(data(frame, ["threshold", "recall", "false_alarms"])).encode(
        x=alt.X("false_alarms:Q", title="false alarms", scale=unit, axis=alt.Axis(format="%")),
        y=alt.Y("recall:Q", title="found", scale=unit, axis=alt.Axis(format="%")),
        order="threshold:Q",
        tooltip=["threshold:Q", alt.Tooltip("recall:Q", format=".1%"),
                 alt.Tooltip("false_alarms:Q", format=".1%")],
    )  # fmt: skip
    chance = (
        alt.Chart(alt.InlineData(values=[{"a": 0}, {"a": 1}]))
        .mark_line(strokeDash=[4, 3], color=ink(theme), opacity=0.5)
        .encode(x="a:Q", y="a:Q")
    )
    chart = (
        chance
        + base.mark_line(color=ACCENT, strokeWidth=2)
        + base.mark_point(filled=True, color=ACCENT, size=24, opacity=1)
    ).properties(width=280, height=280,
                 title=asks(question, theme, words or "dashed: chance"))  # fmt: skip
    return dressed(chart, theme)
