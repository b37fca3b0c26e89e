"""Where do presets part, what does that cost, and what changed from one run to another?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import data, show
from dashboards.words import t
from harness import charts, figures
from harness.charts.paired import deltas as deltas_chart
from harness.charts.words import short
from harness.compare.baseline import of_run
from harness.compare.pairs import Comparison, compare
from harness.store.database import Store

#: Scenarios on one page of the matrix.
PAGE = 60

show.heading(
    "Where do presets part, and what does it cost?",
    "Scenario by scenario; those that presets end most differently come first.",
)
chosen = data.chosen()
differing, scenarios = data.read(figures.differing, chosen)
if not scenarios:
    show.empty("No episode fits these filters. Take some away, or run more:", "harness run")
    st.stop()

st.subheader(t("How each preset ended each scenario"), anchor=False)
left, right = st.columns(2)
only = left.toggle(t("Only differences"), value=True, key="differing", bind="query-params")
most = differing if only else scenarios
pages = max(1, -(-most // PAGE))
page = 1
if pages > 1:
    page = right.number_input(
        t("Page (of {n})", n=pages), 1, pages, key="page", bind="query-params"
    )
st.caption(t("{n} of {all} scenarios differ.", n=differing, all=scenarios))
cells = data.read(figures.matrix, chosen, limit=PAGE, offset=(page - 1) * PAGE, only_differing=only)
if cells.empty:
    show.empty("All presets end all scenarios alike: choose other presets, or see all scenarios.")
else:
    wide = cells.assign(
        cell=cells["exit_reason"].map(short) + " @" + cells["iteration"].astype(str)
    ).pivot_table(index="scenario", columns="preset", values="cell", aggfunc="first", sort=False)
    wide = wide[sorted(wide.columns)]
    groups = cells.pivot_table(
        index="scenario", columns="preset", values="exit_group", aggfunc="first", sort=False
    ).reindex(index=wide.index, columns=wide.columns)
    shown = show.tamed(wide.fillna("").reset_index())
    paint = groups.reset_index(drop=True).map(show.group_style)
    paint.insert(0, "scenario", "")
    paint.columns = shown.columns
    styled = shown.style.apply(lambda _: paint, axis=None)
    state = st.dataframe(
        styled, hide_index=True, key="matrix", on_select="rerun", selection_mode="single-cell",
        column_config={"scenario": st.column_config.TextColumn(t("scenario"), pinned=True)},
        height=min(640, 38 + 35 * len(shown)),
    )  # fmt: skip
    show.legend()
    st.caption(t("Exit reason @ iteration. A click on a cell opens the episode."))
    if state.selection.cells:
        row, column = state.selection.cells[0]
        scenario = wide.index[row]
        found = cells[(cells["scenario"] == scenario) & (cells["preset"] == column)]
        found = found if len(found) else cells[cells["scenario"] == scenario]
        show.open_episode(str(found["episode_id"].iloc[0]))
    with st.expander(t("As a picture, and its numbers")):
        st.altair_chart(charts.matrix(cells, theme=show.theme()), theme=None, key="chart_matrix",
                        alt=t("Exit reason and iteration by scenario and preset"))  # fmt: skip
        show.table(cells, key="table_matrix", placeholder="?")
        show.download(cells, "matrix")

st.subheader(t("What each preset takes more or less"), anchor=False)
presets = sorted(data.read(figures.totals, chosen)["preset"].tolist())
base = st.selectbox(t("Against preset"), presets, key="base", bind="query-params")
deltas = data.read(figures.paired, chosen, base)
if deltas.empty:
    show.empty("Nothing to pair: only one preset fits these filters.")
else:
    metric = st.selectbox(
        t("Metric"), deltas["metric"].unique().tolist(), key="metric", bind="query-params",
        format_func=lambda name: t(name.replace("_", " ")),
    )  # fmt: skip
    own = deltas[deltas["metric"] == metric]
    show.chart(deltas_chart, own, "deltas", "Mean difference by preset, with 95 % intervals")
    st.caption(
        t(
            "Mean difference on the same scenarios with its 95 % interval; an interval that holds "
            "0 shows no difference. A better score is positive."
        )
    )

st.subheader(t("Run against run"), anchor=False)
runs = data.read(figures.runs)["run_id"].tolist()
if len(runs) < 2:
    show.empty("Only one run in this store; make another one:", "harness run --run after")
    st.stop()
left, right = st.columns(2)
before = left.selectbox(t("Before"), runs, index=1, key="before", bind="query-params")
after = right.selectbox(t("After"), runs, index=0, key="after", bind="query-params")


def compared(store: Store, one: str, other: str, presets: tuple[str, ...]) -> Comparison:
    """Both runs, as ``harness compare`` sees them."""
    return compare(of_run(store, one), of_run(store, other), presets=presets)


if before == after:
    show.empty("Choose two different runs.")
    st.stop()
found = data.read(compared, before, after, ())
words = {0: "No regression.", 1: "Something got worse.", 2: "It cannot be told."}
(st.success, st.error, st.warning)[found.exit_code](t(words[found.exit_code]))
if found.reasons:
    show.block(t("Why"), "\n".join(found.reasons))
changed = [change for change in found.changes if change.verdict != "same"]
st.caption(t("{n} pairs, {m} differ.", n=len(found.changes), m=len(changed)))
if changed:
    frame = pd.DataFrame(
        [
            {"verdict": c.verdict, "scenario": c.base.scenario, "preset": c.base.preset,
             "before": f"{c.base.exit_reason} @{c.base.iteration}",
             "after": f"{c.candidate.exit_reason} @{c.candidate.iteration}",
             "differs in": ", ".join(c.differing)}
            for c in changed[:500]
        ]
    )  # fmt: skip
    show.table(frame, key="changes")
    show.download(frame, "changes")
