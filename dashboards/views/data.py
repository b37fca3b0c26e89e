"""What is in this store, and what does it lack?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import data, show
from dashboards.words import t
from harness import figures

show.heading(
    "What is in this store, and what does it lack?",
    "What a recording lacks cannot be judged: no score, no quality; no price, no cost.",
)
runs = data.read(figures.runs)
runs["created"] = pd.to_datetime(runs["created_ms"], unit="ms", utc=True)
st.subheader(t("Runs"), anchor=False)
show.table(
    runs.assign(created=runs["created"].dt.strftime("%Y-%m-%d %H:%M:%S UTC")), key="runs_table",
    column_order=["run_id", "created", "state", "episodes", "scenarios", "presets",
                  "harness_version"],
)  # fmt: skip
broken = runs[runs["state"] != "complete"]
if len(broken):
    st.warning(t("Not complete; go on with:"))
    for run in broken["run_id"].head(5):
        st.code(f"harness run --resume {show.short(run)}", language="sh")
show.download(runs, "runs")

st.subheader(t("What each corpus lacks"), anchor=False)
st.caption(t("Episodes without: tokens, price, time, score, truth, outcome of the real run."))
found = data.read(figures.data)
show.table(
    found, key="lacks",
    column_order=["run_id", "family", "episodes", "scenarios", "iterations", "without_score",
                  "without_truth", "without_price", "without_usage", "without_time",
                  "without_outcome"],
)  # fmt: skip
st.subheader(t("How replays ended"), anchor=False)
st.caption(
    t(
        "Exact: decided before the recording was left. Censored: the recording ran out undecided. "
        "Diverged: the loop did what the recording lacks."
    )
)
show.table(
    found, key="replays",
    column_order=["run_id", "family", "episodes", "exact", "censored", "diverged", "observed"],
)  # fmt: skip
show.download(found, "data")
st.subheader(t("The store"), anchor=False)
st.code(f'{data.path()}\nharness sql "FROM exits" --store {data.path()}', language="sh")
