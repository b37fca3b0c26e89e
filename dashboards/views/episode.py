"""Why did this one stop?"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dashboards import data, labelling, show, texts
from dashboards.words import t
from harness import charts, figures
from harness.figures.one import telling

#: So many episodes are offered to choose from.
OFFERED = 2_000

show.heading("Why did this one stop?")
chosen = data.chosen()
offered = data.read(figures.episodes, chosen, limit=OFFERED, order="look")
wanted = st.query_params.get("episode")
if offered.empty and not wanted:
    show.empty("No episode fits these filters. Take some away, or run more:", "harness run")
    st.stop()
names = {
    str(
        row["episode_id"]
    ): f"{show.short(row['scenario'], 80)} · {show.short(row['preset'], 40)} · "
    f"{row['exit_reason']} @{row['iteration']}"
    for row in offered.to_dict("records")
}
ids = list(names)
if wanted and wanted not in names:
    # A shared address names an episode, whatever the filters are.
    ids.insert(0, wanted)
current = wanted or ids[0]
picked = st.selectbox(
    t("Episode (type to search; those worth a look first)"), ids, index=ids.index(current),
    format_func=lambda one: names.get(one, show.short(one, 40)), key=f"pick_{current}",
)  # fmt: skip
if picked != current:
    st.query_params["episode"] = picked
    st.rerun()
if not wanted:
    st.query_params["episode"] = current

parts = data.read(figures.episode, current)
head = parts["head"].iloc[0]


def known(value: Any, words: str = "{:,.4g}") -> str:
    """A number, or ``?``."""
    return "?" if value is None or pd.isna(value) else words.format(value)


def story(parts: dict[str, pd.DataFrame]) -> str:
    """In a few lines: what won, what else was true, and how close the guard was."""
    head = parts["head"].iloc[0]
    lines = [
        f"{head['scenario']}  ·  {head['preset']}",
        f"{head['exit_reason']} ({t(str(head['exit_group']))}) "
        + (t("by {guard}", guard=head["exit_guard"]) if head["exit_guard"] else "")
        + " " + t("in iteration {n}", n=head["exit_iteration"])
        + f"  ·  {t(str(head['status']))}, {t(str(head['replay']))}"
        + (f" ({t('from iteration {n}', n=int(head['diverged_at']))})"
           if not pd.isna(head["diverged_at"]) else ""),
        str(head["message"]),
    ]  # fmt: skip
    last = parts["signals"][
        (parts["signals"]["guard"] == head["exit_guard"])
        & (parts["signals"]["iteration"] == head["exit_iteration"])
    ]
    lines += [
        t("signal {signal} {comparison} threshold {threshold}, margin {margin}",
          signal=known(row["signal"]), comparison=row["comparison"],
          threshold=known(row["threshold"]), margin=known(row["margin"]))
        for row in last.to_dict("records")
    ]  # fmt: skip
    return "\n".join(line for line in lines if line)


show.plain(story(parts), 4_000)
tiles = st.columns(5)
tiles[0].metric(t("Best score"), known(head["best_score"], "{:.3f}"))
tiles[1].metric(t("Iterations"), known(head["exit_iteration"], "{:,.0f}"))
tiles[2].metric(t("Cost"), known(head["cost_usd"], "${:.4f}"))
tiles[3].metric(t("Tokens"), known(head["tokens"], "{:,.0f}"))
tiles[4].metric(t("Needs a human"), t("yes") if head["needs_human"] else t("no"))
if head["agreement"]:
    show.plain(
        t("Against what a sensible user expects: {agreement}", agreement=t(str(head["agreement"])))
        + (f"\n{head['why']}" if head["why"] else "")
    )
labelling.form(current, head)

same = data.read(labelling.same_work, current)
beside = st.selectbox(
    t("Beside it: the same episode under"), ["", *same], key="beside", bind="query-params",
    format_func=lambda name: show.short(name, 60) or t("nothing"),
)  # fmt: skip
sides = [parts]
if beside:
    sides.append(data.read(figures.episode, same[beside]))
for place, (side, column) in enumerate(zip(sides, st.columns(len(sides)), strict=True)):
    end = side["head"].iloc[0]
    with column:
        if beside:
            show.plain(story(side), 4_000)
        st.subheader(t("Score"), anchor=False)
        scored = side["iterations"]
        if scored["score"].notna().any():
            show.chart(
                charts.score_curve, scored, f"score_{place}",
                "Score and best so far by iteration, and the stop", int(end["exit_iteration"]),
            )  # fmt: skip
        else:
            show.empty("Nobody scored this loop, so there is no curve.")

st.subheader(t("Each guard's signal against its threshold"), anchor=False)
for place, (side, column) in enumerate(zip(sides, st.columns(len(sides)), strict=True)):
    with column:
        end = side["head"].iloc[0]
        told, silent = telling(side["signals"], end["exit_guard"])
        show.chart(
            charts.signal_panel, told, f"signals_{place}",
            "Each guard's signal by iteration against its threshold",
        )  # fmt: skip
        if silent:
            st.caption(t("{n} more guards had nothing to measure or never moved:", n=len(silent)))
            show.plain(", ".join(silent))

st.subheader(t("Decision by decision"), anchor=False)
st.caption(t("All conditions that were true or unknown; the one that won is marked."))
conditions = parts["conditions"]
if conditions.empty:
    show.empty("No condition was ever true or unknown.")
else:
    steps = parts["iterations"][["iteration", "decision", "score", "best_score"]]
    merged = conditions.merge(steps, on="iteration", how="left")
    show.table(
        merged[["iteration", "decision", "won", "name", "reason", "action", "state", "kind",
                "score", "best_score"]],
        key="conditions", placeholder="?",
    )  # fmt: skip
    show.download(merged, "conditions")

st.subheader(t("Tokens and cost by role"), anchor=False)
show.chart(charts.role_costs, parts["roles"], "roles",
           "Tokens and cost by role and iteration, stacked")  # fmt: skip

st.subheader(t("What was said and done"), anchor=False)
show.block(t("goal"), str(head["goal"] or ""))
last = int(head["exit_iteration"])
at = last
if last > 1:
    at = st.slider(t("Iteration"), 1, last, last, key="iteration", bind="query-params")
texts.iteration(parts, at)
st.subheader(t("The trace"), anchor=False)
show.chart(charts.waterfall, parts["spans"], "spans", "Spans of the episode as a waterfall")
st.caption(t("Ids, for the command line:"))
st.code(f"harness show {current} --store {data.path()}", language="sh", wrap_lines=True)
