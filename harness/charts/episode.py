"""Charts of one episode, and of what roles cost."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import altair as alt

from harness.charts.theme import (
    ACCENT,
    FIRED,
    ROLES,
    WIDTH,
    Theme,
    data,
    dressed,
    ink,
    nothing,
    shown,
    title,
)
from harness.charts.words import number

if TYPE_CHECKING:
    import pandas as pd

#: Spans beyond these are left out of a picture, and it says so.
_SPANS = 60
_SPAN_COLOURS = {
    "invoke_agent": "#8c8c8c", "harness.iteration": "#4c86c6", "chat": "#8e7cc3",
    "execute_tool": "#5aa9a3", "other": "#c98bb9",
}  # fmt: skip


#: Kinds of guards that measure in ms and pico-USD: what people read, and by how much it differs.
_UNITS = {"time_budget": (" s", 1e3), "cost_budget": (" USD", 1e12)}


def _iterations(last: int, name: str | None = "iteration", **more: Any) -> alt.X:
    """The axis of iterations; each has the same room in every chart of an episode."""
    return alt.X(
        "iteration:Q", title=name,
        scale=alt.Scale(domain=[0.5, last + 0.5], nice=False),
        axis=alt.Axis(tickMinStep=1, format="d", tickCount=min(last, 12), grid=False, **more),
    )  # fmt: skip


def score_curve(frame: pd.DataFrame, stop: int | None = None, theme: Theme = "light") -> Any:
    """Score by iteration, the best so far, and where the loop ended.

    Args:
        frame: ``iterations`` of ``figures.episode``.
        stop: Iteration of the end, ``None`` where nothing ended it.
        theme: Of the page.
    """
    question = "How did the score move?"
    if frame.empty or frame["score"].isna().all():
        return nothing(question, theme, "no iteration has a score")
    last = int(frame["iteration"].max())
    known = frame[frame["score"].notna()]
    base = alt.Chart(data(known, ["iteration", "score", "best_score", "decision"])).encode(
        x=_iterations(last),
        tooltip=[
            alt.Tooltip("iteration:Q"), alt.Tooltip("score:Q", format=".4~f"),
            alt.Tooltip("best_score:Q", format=".4~f"), alt.Tooltip("decision:N"),
        ],
    )  # fmt: skip
    fitted = alt.Scale(zero=False, nice=True, padding=8)
    best = base.mark_line(
        interpolate="step-after", strokeDash=[4, 3], color=ink(theme), opacity=0.55
    ).encode(y=alt.Y("best_score:Q", scale=fitted, title="score"))
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(y=alt.Y("score:Q", scale=fitted))
    dots = base.mark_point(color=ACCENT, filled=True, size=48, opacity=1).encode(
        y=alt.Y("score:Q", scale=fitted)
    )
    layers = best + line + dots
    if stop is not None:
        layers = layers + _end(stop, theme)
    chart = layers.properties(
        width=WIDTH, height=170, title=title(question, theme, "dashed: the best so far")
    )
    return dressed(chart, theme)


def _end(stop: int, theme: Theme) -> Any:
    base = alt.Chart(alt.InlineData(values=[{"iteration": stop, "label": f"end: {stop}"}]))
    rule = base.mark_rule(color=FIRED, strokeWidth=1.5).encode(x="iteration:Q")
    words = base.mark_text(color=ink(theme), baseline="bottom").encode(
        x="iteration:Q", y=alt.value(-2), text="label:N"
    )
    return rule + words


def signal_panel(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """Each guard's signal against its threshold, one strip a guard.

    Args:
        frame: ``signals`` of ``figures.episode``.
        theme: Of the page.
    """
    question = "What did each guard see?"
    if frame.empty:
        return nothing(question, theme, "no guard was on")
    last = int(frame["iteration"].max())
    names = list(dict.fromkeys(frame["guard"].tolist()))
    strips = [
        _strip(frame[frame["guard"] == name], last, theme, bottom=name == names[-1])
        for name in names
    ]
    chart = alt.vconcat(*strips, spacing=8).properties(
        title=title(question, theme, "dashed: threshold · diamond: fires · ?: cannot be judged")
    )
    return dressed(chart, theme)


def _strip(frame: pd.DataFrame, last: int, theme: Theme, *, bottom: bool) -> Any:
    head = frame.iloc[0]
    off = math.isinf(float(head["threshold"]))
    unit, scale = _UNITS.get(str(head["kind"]), ("", 1.0))
    at = float(head["threshold"]) / scale
    rule = "" if off else f" {head['comparison']} {number(at)}{unit}"
    made = frame.assign(
        signal=frame["signal"] / scale, threshold=frame["threshold"] / scale,
        margin=frame["margin"] / scale,
        state=["unknown" if unknown else "fired" if fired else "not fired"
               for fired, unknown in zip(frame["fired"], frame["unknown"], strict=True)],
    )  # fmt: skip
    columns = ["guard", "iteration", "signal", "threshold", "margin", "state"]
    base = alt.Chart(data(made, columns)).encode(
        x=_iterations(last, "iteration" if bottom else None, labels=bottom, ticks=bottom),
        tooltip=[
            alt.Tooltip("guard:N"), alt.Tooltip("iteration:Q"),
            alt.Tooltip("signal:Q", format=".6~g"), alt.Tooltip("threshold:Q", format=".6~g"),
            alt.Tooltip("margin:Q", format=".6~g"), alt.Tooltip("state:N"),
        ],
    )  # fmt: skip
    large = bool((made["signal"].abs() >= 1000).any())
    y = alt.Y("signal:Q", title=None, scale=alt.Scale(nice=True, padding=6),
              axis=alt.Axis(tickCount=2, format="~s" if large else ".3~r",
                            labelFontSize=10))  # fmt: skip
    layers: list[Any] = [base.mark_line(color=ACCENT, strokeWidth=1.5).encode(y=y)]
    measured = base.transform_filter("datum.signal !== null")
    layers.append(measured.mark_point(filled=True, size=22, color=ACCENT, opacity=1).encode(y=y))
    layers.append(
        measured.transform_filter("datum.state === 'fired'")
        .mark_point(shape="diamond", filled=True, size=110, color=FIRED, opacity=1)
        .encode(y=y)
    )
    layers.append(
        base.transform_filter("datum.state === 'unknown'")
        .mark_text(text="?", color=ink(theme), fontSize=12, baseline="bottom", opacity=0.75)
        .encode(y=alt.value(42))
    )
    if not off:
        line = alt.Chart(alt.InlineData(values=[{"threshold": at}]))
        layers.append(
            line.mark_rule(strokeDash=[4, 3], color=ink(theme), opacity=0.6).encode(y="threshold:Q")
        )
    words = rule if rule or not unit else f" ({unit.strip()})"
    name = alt.TitleParams(f"{shown(head['guard'])}{words}", fontSize=12, fontWeight="normal",
                           color=ink(theme), offset=3)  # fmt: skip
    return alt.layer(*layers).properties(width=WIDTH, height=42, title=name)


def role_costs(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """What each role cost, by iteration or by preset; in tokens where nothing has a price.

    Args:
        frame: ``roles`` of ``figures.episode``, or ``figures.roles``.
        theme: Of the page.
    """
    priced = not frame.empty and bool(frame["cost_usd"].notna().any())
    unit = "cost_usd" if priced else "tokens"
    question = f"Who is the {'money' if priced else 'budget of tokens'} spent on?"
    if frame.empty or frame[unit].isna().all():
        return nothing(question, theme, "no model call has a known price or usage")
    by = "iteration" if "iteration" in frame.columns else "preset"
    roles = [*ROLES, *sorted({str(r) for r in frame["role"]} - set(ROLES))]
    present = [name for name in roles if name in set(frame["role"])]
    colours = [ROLES.get(name, "#b0b0b0") for name in present]
    place = {name: at for at, name in enumerate(present)}
    made = frame.assign(place=frame["role"].map(place))
    amount = alt.Axis(format="$~g" if priced else "~s", tickCount=5)
    chart = alt.Chart(data(made, [by, "role", "calls", "tokens", "cost_usd", "place"])).encode(
        color=alt.Color("role:N", title=None, legend=alt.Legend(orient="bottom"),
                        scale=alt.Scale(domain=[shown(p) for p in present], range=colours)),
        order="place:Q",
        tooltip=[
            alt.Tooltip(f"{by}:N"), alt.Tooltip("role:N"), alt.Tooltip("calls:Q", format=","),
            alt.Tooltip("tokens:Q", format=","), alt.Tooltip("cost_usd:Q", format="$.6f"),
        ],
    )  # fmt: skip
    name = "USD" if priced else "tokens"
    if by == "iteration":
        last = int(frame["iteration"].max())
        width = max(2, min(28, WIDTH // (last + 1) - 3))
        chart = chart.mark_bar(width=width).encode(
            x=_iterations(last), y=alt.Y(f"{unit}:Q", title=name, axis=amount)
        )
        chart = chart.properties(width=WIDTH, height=120)
    else:
        chart = chart.mark_bar(height=18).encode(
            y=alt.Y("preset:N", title=None, axis=alt.Axis(domain=False, ticks=False)),
            x=alt.X(f"{unit}:Q", title=f"{name}, the known part", axis=amount),
        )
        chart = chart.properties(width=WIDTH, height=alt.Step(26))
    return dressed(chart.properties(title=title(question, theme)), theme)


def waterfall(frame: pd.DataFrame, theme: Theme = "light") -> Any:
    """Spans over time, nested.

    Args:
        frame: ``spans`` of ``figures.episode``.
        theme: Of the page.
    """
    question = "Where did the time go?"
    if frame.empty:
        return nothing(question, theme, "no span is stored")
    made = frame.head(_SPANS).reset_index(drop=True)
    hint = "" if len(frame) <= _SPANS else f"the first {_SPANS} of {len(frame):,} spans"
    heads = [str(name).split(" ")[0] for name in made["name"]]
    made = made.assign(
        row=[f"{at:04d}" for at in range(len(made))],
        label=["· " * int(d) + shown(n) for d, n in zip(made["depth"], made["name"], strict=True)],
        what=[head if head in _SPAN_COLOURS else "other" for head in heads],
        start=made["start_ms"] / 1000, end=made["end_ms"] / 1000,
        seconds=(made["end_ms"] - made["start_ms"]) / 1000,
    )  # fmt: skip
    labels = made["label"].tolist()
    rows = data(made, ["row", "name", "what", "start", "end", "seconds", "status"])
    present = [name for name in _SPAN_COLOURS if name in set(made["what"])]
    chart = alt.Chart(rows).mark_bar(height=9, cornerRadius=1).encode(
        x=alt.X("start:Q", title="seconds since the begin", axis=alt.Axis(tickCount=6)),
        x2="end:Q",
        y=alt.Y("row:O", title=None, axis=alt.Axis(
            labelExpr=f"{_literal(labels)}[+datum.value]", domain=False, ticks=False,
            labelFontSize=11, labelLimit=240, labelAlign="left", labelPadding=240)),
        color=alt.Color("what:N", title=None, legend=alt.Legend(orient="bottom"),
                        scale=alt.Scale(domain=present,
                                        range=[_SPAN_COLOURS[p] for p in present])),
        tooltip=[
            alt.Tooltip("name:N"), alt.Tooltip("start:Q", format=".3f"),
            alt.Tooltip("seconds:Q", format=".3f"), alt.Tooltip("status:N"),
        ],
    )  # fmt: skip
    sized = chart.properties(
        width=WIDTH - 60, height=alt.Step(15), title=title(question, theme, hint)
    )
    return dressed(sized, theme)


def _literal(labels: list[str]) -> str:
    """Labels as a list inside an expression; a quote in them ends nothing."""
    # JSON's escapes are those of the expression language.
    return json.dumps(labels)
