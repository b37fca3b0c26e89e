"""The filters: in the sidebar and in the address, so that a view can be shared."""

from __future__ import annotations

import streamlit as st

from dashboards import data
from dashboards.words import LANGUAGES, t
from harness import figures
from harness.figures import Chosen

#: Filter in the address, and what it is called.
FILTERS = {
    "presets": "Preset",
    "families": "Family",
    "tags": "Tag",
    "models": "Model",
    "outcomes": "Outcome of the real run",
}


def language() -> None:
    """The language switch; first, because everything else speaks it."""
    with st.sidebar:
        st.selectbox("Language", list(LANGUAGES), key="lang", bind="query-params")


def sidebar() -> None:
    """Ask for the filters and keep what was chosen."""
    options = data.read(figures.choices)
    runs = options["runs"]
    with st.sidebar:
        wanted = st.multiselect(
            t("Run"), runs, key="runs", bind="query-params", placeholder=t("the latest"),
            help=t("Left empty: the latest run."),
        )  # fmt: skip
        found = {
            name: st.multiselect(
                t(title), options[name], key=name, bind="query-params", placeholder=t("all")
            )
            for name, title in FILTERS.items()
        }
        st.caption(t("Filters are in the address: share it, and others see the same."))
    # The newest run stands first, whatever the order of choosing.
    order = sorted(wanted, key=runs.index) or runs[:1]
    st.session_state["_chosen"] = Chosen(
        runs=tuple(order), **{name: tuple(values) for name, values in found.items()}
    )
