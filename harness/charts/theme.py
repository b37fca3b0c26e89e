"""Colours and letters of all charts, and how a frame gets into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from harness.text import inert

if TYPE_CHECKING:
    import pandas as pd

#: ``inherit``: letters have the colour of the page around, for a picture inside a document.
Theme = Literal["light", "dark", "inherit"]
AnyChart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart | alt.FacetChart

#: Exit groups. After Okabe and Ito (2008), told apart with any kind of colour vision; mid-tones,
#: so that they stand out from white and from black, and dark letters can be read on all of them.
GROUPS = {
    "success": "#1aa67d", "paused": "#5fb7ea", "limit": "#eba614", "stuck": "#e0691a",
    "undecided": "#a3a8b0",
}  # fmt: skip
#: Who is asked; no colour of an exit group means anything here.
ROLES = {
    "actor": "#4c86c6", "judge": "#c98bb9", "reflection": "#8e7cc3", "verifier": "#5aa9a3",
    "spin_judge": "#b8a13a", "perception": "#d1857a", "continuity": "#8c8c8c",
}  # fmt: skip
#: For lines that stand for no group.
ACCENT = "#4c86c6"
FIRED = GROUPS["stuck"]
ON_COLOUR = "#101418"
#: The font comes with vl-convert, so that a report has the same layout everywhere.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
WIDTH = 520
#: Longest recorded name in a chart; the axis cuts it to its room.
_LONGEST = 160

_INK: dict[Theme, str] = {"light": "#1c2127", "dark": "#e8eaed", "inherit": "currentColor"}


def ink(theme: Theme) -> str:
    """Colour of letters and lines."""
    return _INK[theme]


def shown(text: object, most: int = _LONGEST) -> str:
    """Recorded text in a chart: nothing hidden in it, one line, not too long."""
    # Cut first: cleaning megabytes takes time.
    plain = inert(" ".join(str(text)[: 4 * most].split()))
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def data(frame: pd.DataFrame, columns: Sequence[str]) -> alt.InlineData:
    """Rows for a chart: only what it shows, texts made inert, unknown as null."""
    rows = [
        {name: _cell(value) for name, value in zip(columns, row, strict=True)}
        for row in frame[list(columns)].itertuples(index=False, name=None)
    ]
    return alt.InlineData(values=rows)


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return shown(value)
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # pandas has a missing value of its own, which is no number.
    return value if isinstance(value, bool | int | float) else None


def title(question: str, theme: Theme, answer: str = "") -> alt.TitleParams:
    """The question that a chart answers, and how to read it."""
    return alt.TitleParams(
        shown(question),
        subtitle=shown(answer) if answer else alt.Undefined,
        color=ink(theme),
        subtitleColor=ink(theme),
    )


def groups(legend: bool = True) -> alt.Color:
    """Colour by exit group."""
    return alt.Color(
        "exit_group:N",
        scale=alt.Scale(domain=list(GROUPS), range=list(GROUPS.values())),
        legend=alt.Legend(title=None, orient="bottom") if legend else None,
    )


def dressed(chart: Any, theme: Theme) -> Any:
    """A finished chart with the letters, lines and room of the house."""
    colour = ink(theme)
    return (
        chart.configure(background="transparent", font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=colour, titleColor=colour, domainColor=colour, tickColor=colour,
            gridColor=colour, gridOpacity=0.13, domainOpacity=0.4, tickOpacity=0.4,
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelLimit=230,
        )
        .configure_legend(labelColor=colour, titleColor=colour, labelFontSize=12,
                          titleFontSize=12, symbolStrokeWidth=0)
        .configure_header(labelColor=colour, titleColor=colour, labelFontSize=12)
        .configure_title(anchor="start", fontSize=15, subtitleFontSize=12, offset=10,
                         subtitleFontWeight="normal", frame="group")
        .configure_text(fontSize=11)
    )  # fmt: skip


def nothing(question: str, theme: Theme, why: str = "nothing to show") -> Any:
    """What is drawn where there is no data."""
    words = alt.Chart(alt.InlineData(values=[{"text": why}])).mark_text(
        color=ink(theme), align="left", fontSize=12, opacity=0.8
    )
    chart = words.encode(x=alt.value(0), text="text:N").properties(
        width=WIDTH, height=24, title=title(question, theme)
    )
    return dressed(chart, theme)
