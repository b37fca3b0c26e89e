"""What an episode's iterations held: texts, calls, what mechanisms did, and what changed."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

import pandas as pd
import streamlit as st

from dashboards import show
from dashboards.words import t

#: Lines of a difference that are worked out; texts of millions of lines would take for ever.
_LINES = 2_000


def iteration(parts: dict[str, pd.DataFrame], at: int) -> None:
    """Everything recorded at one iteration."""
    texts = parts["texts"][parts["texts"]["iteration"] == at]
    for row in texts.to_dict("records"):
        show.block(t(str(row["kind"])), str(row["text"]), int(row["length"]))
    _difference(parts["texts"], at)
    calls = parts["calls"][parts["calls"]["iteration"] == at]
    for row in calls.to_dict("records"):
        _call(row)
    if not texts.size and calls.empty:
        st.caption(t("Nothing was recorded here but the decision."))
    events = parts["events"][parts["events"]["iteration"] == at].drop(columns="iteration")
    told = events[~events["event"].isin(["skip", "abstain"])]
    if len(told):
        st.caption(t("What mechanisms did (judge replies among them)"))
        show.table(told, key=f"events_{at}", placeholder="")
    for row in told[told["mechanism"] == "judge"].to_dict("records"):
        if row["result"]:
            show.block(t("judge"), str(row["result"]))
    quiet = events[events["event"].isin(["skip", "abstain"])]
    if len(quiet):
        with st.expander(t("{n} skipped or abstained, and why", n=len(quiet))):
            show.table(quiet, key=f"quiet_{at}", placeholder="")
    checks = parts["checks"][parts["checks"]["iteration"] == at].drop(columns="iteration")
    if len(checks):
        st.caption(t("Checks"))
        show.table(checks, key=f"checks_{at}")


def _call(row: dict[Any, Any]) -> None:
    mark = "✓" if row["ok"] else "✗"
    ms = "" if pd.isna(row["ms"]) else f" · {row['ms']:,.0f} ms"
    code = "" if pd.isna(row["exit_code"]) else f" · exit {row['exit_code']:.0f}"
    st.text(f"{mark} {show.short(row['tool'], 80)}{code}{ms}")
    show.block(t("arguments"), str(row["args"] or ""))
    if isinstance(row["result"], str):
        show.block(t("result"), row["result"], int(row["result_length"]))


def _difference(texts: pd.DataFrame, at: int) -> None:
    """The output against the one before it."""
    outputs = texts[(texts["kind"] == "output") & (texts["iteration"] <= at)]
    if len(outputs) < 2 or int(outputs["iteration"].iloc[-1]) != at:
        return
    before, after = (str(text).splitlines()[:_LINES] for text in outputs["text"].iloc[-2:])
    lines = list(unified_diff(before, after, "before", "after", lineterm="", n=2))
    if lines:
        show.block(t("difference to the previous output"), "\n".join(lines), language="diff")
    else:
        st.caption(t("The output is the previous one, word for word."))
