"""How things are shown: recorded text as text, charts with their numbers, and what is missing.

Recorded text is hostile. It goes through ``st.text``, ``st.code``, a table's cells or a
selection's options, which show it as it is, and never through Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboards.words import t
from harness.charts.page import for_page
from harness.charts.theme import GROUPS, ON_COLOUR
from harness.text import inert

#: Longer texts are folded; tables show the beginning.
FOLDED, CELL = 1_200, 240
#: At most so many characters of one text go to the browser.
MOST = 20_000
#: What no Markdown makes anything of.
_WORD = re.compile(r"[A-Za-z0-9]+([_.-][A-Za-z0-9]+)*")
#: First characters that make a spreadsheet take a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: Words for the groups of exit reasons; their colours are the charts'.
GROUP_WORDS = {
    "success": "success", "paused": "paused", "limit": "limit", "stuck": "stuck",
    "undecided": "not decided",
}  # fmt: skip

_MONEY = st.column_config.NumberColumn(format="$%.5f")
_SHARE = st.column_config.NumberColumn(format="percent")
_SCORE = st.column_config.NumberColumn(format="%.3f")
#: How columns of figures are shown, by name.
_FORMATS: Mapping[str, Any] = {
    "cost_usd": _MONEY, "share": _SHARE, "false_share": _SHARE, "unknown_share": _SHARE,
    "code_share": _SHARE, "best_score": _SCORE, "mean_best": _SCORE, "lost": _SCORE,
    "lost_low": _SCORE, "lost_high": _SCORE, "quick": _SHARE, "stagnated": _SHARE,
    "limited": _SHARE, "effort": st.column_config.NumberColumn(format="%.5f"),
    "iterations": st.column_config.NumberColumn(format="localized"),
}  # fmt: skip


def heading(question: str, answer: str = "") -> None:
    """The page's question, and what it is about in a line."""
    st.title(t(question), anchor=False)
    if answer:
        st.caption(t(answer))


def plain(text: object, most: int = FOLDED) -> None:
    """Recorded text on the page."""
    st.text(short(text, most))


def short(text: object, most: int = CELL) -> str:
    """Recorded text made inert, cut where it is long."""
    whole = str(text)
    cut = inert(whole[:most])
    return f"{cut}… ({len(whole):,})" if len(whole) > most else cut


def named(name: str, instead: str) -> str:
    """A recorded name for a widget's label, which is Markdown; a word of ours if it is no word.

    Such a name is shown as text above the widget.
    """
    if _WORD.fullmatch(name):
        return name
    plain(name, CELL)
    return instead


def block(title: str, text: str, length: int | None = None, *, language: str | None = None) -> None:
    """A longer recorded text; folded where it is huge.

    Args:
        title: Words of our own.
        text: What was recorded.
        length: How long it is in the store, where ``text`` was cut already.
        language: Of the highlighting, ``diff`` for one.
    """
    whole = len(text) if length is None else int(length)
    words = f"{title} · {t('{n} characters', n=f'{whole:,}')}"
    if whole <= FOLDED:
        st.caption(title)
        st.code(inert(text), language=language, wrap_lines=True)
        return
    with st.expander(words):
        st.code(inert(text[:MOST]), language=language, wrap_lines=True)
        if whole > MOST:
            st.caption(t("Cut here; the store has all of it."))


def tamed(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose texts are inert and short."""
    found = frame.copy()
    for column in found.columns:
        if not pd.api.types.is_numeric_dtype(found[column]):
            found[column] = [_cell(value) for value in found[column].tolist()]
    return found


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return short(value)
    if isinstance(value, bool | int | float):
        return value
    if pd.api.types.is_list_like(value):
        return short(", ".join(map(str, value)))
    return None if pd.isna(value) else short(value)


def columns(frame: pd.DataFrame, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Headings in words, and formats by name."""
    found: dict[str, Any] = {}
    for name in map(str, frame.columns):
        made = dict((more or {}).get(name) or _FORMATS.get(name) or {})
        made["label"] = made.get("label") or t(name.replace("_", " "))
        found[name] = made
    return found


def table(frame: pd.DataFrame, **more: Any) -> Any:
    """A table of figures or recorded texts."""
    shown = tamed(frame)
    config = columns(shown, more.pop("formats", None))
    return st.dataframe(shown, hide_index=True, column_config=config, **more)


def csv(frame: pd.DataFrame) -> bytes:
    """A frame as CSV that no spreadsheet takes for formulas."""
    found = frame.copy()
    for column in found.select_dtypes(exclude="number").columns:
        found[column] = [
            f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
            for value in found[column].tolist()
        ]
    text: str = found.to_csv(index=False)
    return text.encode("utf-8")


def numbers(frame: pd.DataFrame, name: str, title: str = "Numbers") -> None:
    """The numbers behind a chart, one click away, and as CSV."""
    with st.expander(t(title), key=f"numbers_{name}"):
        table(frame, key=f"table_{name}")
        download(frame, name)


def download(frame: pd.DataFrame, name: str) -> None:
    """A frame as a CSV file."""
    st.download_button(
        t("CSV"), data=lambda: csv(frame), file_name=f"{name}.csv", mime="text/csv",
        key=f"csv_{name}", on_click="ignore",
    )  # fmt: skip


def theme() -> Any:
    """What charts are drawn for: the colours that the reader chose."""
    return "dark" if st.context.theme.type == "dark" else "light"


def chart(
    draw: Callable[..., Any],
    frame: pd.DataFrame,
    name: str,
    alt_text: str,
    *more: Any,
    **words: Any,
) -> None:
    """A chart with its numbers.

    Args:
        draw: From ``harness.charts``.
        frame: What it draws, as a figure gives it.
        name: Of this place on the page.
        alt_text: What it is, for those who cannot see it.
        more: What else the chart takes.
        words: The same by name.
    """
    if frame.empty:
        empty("Nothing to show for these filters.")
        return
    picture = draw(frame, *more, theme=theme(), **words)
    parts, hint = for_page(picture)
    for number, part in enumerate(parts):
        st.altair_chart(part, width="stretch", theme=None, key=f"chart_{name}_{number}",
                        alt=t(alt_text))  # fmt: skip
    if hint:
        st.caption(hint)
    numbers(frame, name)


def empty(sentence: str, command: str = "") -> None:
    """Nothing to show: why, and what to run."""
    st.info(t(sentence))
    if command:
        st.code(command, language="sh")


def open_episode(episode_id: str) -> None:
    """Go to an episode's page; filters are bound to the address, so they stay there."""
    st.switch_page("views/episode.py", query_params={"episode": episode_id})


def episodes(frame: pd.DataFrame, name: str, order: list[str]) -> None:
    """A list of episodes; a click on one opens it."""
    state = table(
        frame, key=f"list_{name}", column_order=order, on_select="rerun",
        selection_mode="single-cell", placeholder="?",
    )  # fmt: skip
    row = picked_row(state)
    st.caption(t("A click on a row opens the episode."))
    if row is not None and row < len(frame):
        open_episode(str(frame["episode_id"].iloc[row]))


def group_style(group: object) -> str:
    """A cell's colour by exit group; dark letters can be read on all of them."""
    colour = GROUPS.get(str(group))
    return f"background-color: {colour}; color: {ON_COLOUR}" if colour else ""


def legend() -> None:
    """What the colours mean."""
    columns = st.columns(len(GROUPS))
    for column, (group, colour) in zip(columns, GROUPS.items(), strict=True):
        # Words and colours of our own: nothing recorded is in this markup.
        column.html(
            f'<span style="background:{colour};color:{ON_COLOUR};padding:.1rem .5rem;'
            f'border-radius:.3rem;white-space:nowrap">{t(GROUP_WORDS[group])}</span>'
        )


def picked_row(state: Any) -> int | None:
    """The row that was clicked in a table with ``selection_mode="single-cell"``."""
    cells = state.selection.cells
    return int(cells[0][0]) if cells else None
