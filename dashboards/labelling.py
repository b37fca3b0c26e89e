"""What a reader says of a stop: right, false or late."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboards import data, show
from dashboards.words import t
from harness.labels import LABELS, MOST_NOTE, clear_label, label_of, set_label
from harness.store.database import Store

#: What each label means, in words.
MEANINGS = {
    "right": "right: it should have stopped here, for this reason",
    "false": "false: it should have gone on",
    "late": "late: it should have stopped before",
}


def form(episode_id: str, head: Any) -> None:
    """Ask for a label and keep it in the store."""
    if not head["exit_guard"] or head["observe"]:
        st.caption(t("Nothing stopped this loop, so there is no stop to label."))
        return
    found = data.read(label_of, episode_id)
    with st.expander(t("Was this stop right?") + (f" · {t(found['label'])}" if found else ""),
                     key=f"label_{episode_id}"):  # fmt: skip
        if found and found["note"]:
            show.plain(found["note"])
        with st.form(f"form_{episode_id}", border=False):
            label = st.radio(
                t("This stop was"), LABELS, format_func=lambda one: t(MEANINGS[one]),
                index=LABELS.index(found["label"]) if found else 0,
            )  # fmt: skip
            note = st.text_input(
                t("Why (optional)"), found["note"] if found else "", max_chars=MOST_NOTE
            )
            saved = st.form_submit_button(t("Save"))
        if saved:
            set_label(data.store(), episode_id, label, note)
            st.rerun()
        if found and st.button(t("Take the label away")):
            clear_label(data.store(), episode_id)
            st.rerun()
        st.caption(
            t(
                "A label holds for every episode of this scenario that ends in this iteration for "
                "this reason; `harness score` and tuning read it."
            )
        )


def same_work(store: Store, episode_id: str) -> dict[str, str]:
    """Other presets that met the same scenario in the same run, with the episode of each."""
    rows = store.rows(
        "SELECT o.preset, o.episode_id FROM episodes e JOIN episodes o "
        "ON o.run_id = e.run_id AND o.content_hash = e.content_hash "
        "AND o.repetition = e.repetition AND o.scenario = e.scenario "
        "WHERE e.episode_id = ? AND o.episode_id <> e.episode_id ORDER BY o.preset",
        [episode_id],
    )
    return {row["preset"]: row["episode_id"] for row in rows}
