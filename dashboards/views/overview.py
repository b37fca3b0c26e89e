"""What ended my loops, what did it take, and which preset is the cheapest that keeps quality?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import data, show
from dashboards.words import t
from harness import charts, figures
from harness.figures.cheapest import MAX_LOST, cheapest
from harness.score import health

show.heading(
    "What ended my loops?",
    "Exit reasons come in groups; a limit is never a success, and what nothing decided is shown.",
)
chosen = data.chosen()
exits = data.read(figures.exits, chosen)
totals = data.read(figures.totals, chosen)
if exits.empty:
    show.empty("No episode fits these filters. Take some away, or run more:", "harness run")
    st.stop()

counted = totals.sum(numeric_only=True)
tiles = st.columns(5)
tiles[0].metric(t("Episodes"), f"{counted['episodes']:,.0f}")
unpriced = counted["cost_unknown"]
tiles[1].metric(
    t("Cost"), f"{'> ' if unpriced else ''}${counted['cost_usd']:,.2f}",
    help=t("{n} episodes have no known price: the sum is a lower bound.", n=int(unpriced)),
)  # fmt: skip
tiles[2].metric(t("Need a human"), f"{counted['needs_human']:,.0f}")
tiles[3].metric(
    t("Success"), f"{counted['success']:,.0f}", help=t("A gate, a judge or a score said so.")
)
tiles[4].metric(
    t("Exact"), f"{counted['exact']:,.0f}",
    help=t(
        "{censored} recordings ran out before anything decided, {diverged} left their recording.",
        censored=int(counted["censored"]), diverged=int(counted["diverged"]),
    ),
)  # fmt: skip

st.subheader(t("Which preset is the cheapest that keeps quality?"), anchor=False)
accepted = st.slider(
    t("Quality I accept to lose (mean, in units of score)"), 0.0, 0.2, MAX_LOST, 0.005,
    key="accept", bind="query-params", format="%.3f",
)  # fmt: skip
answer = data.read(cheapest, chosen, max_lost=accepted)
best = answer[answer["answer"]]
if len(totals) < 2:
    st.info(t("Only one preset here: choose several, or none, to compare."))
elif best.empty:
    st.warning(t("No preset keeps within that, or nothing here is scored or judged."))
else:
    row = best.iloc[0]
    per = (
        f"${row['effort']:.5f}"
        if row["unit"] == "usd"
        else f"{row['effort']:,.1f} {t(row['unit'])}"
    )
    left, right = st.columns([1, 3])
    left.caption(t("Cheapest"))
    left.code(show.short(row["preset"], 60), language=None)
    right.caption(t("What it takes and what it loses"))
    right.text(
        t(
            "{per} an episode · quality lost {lost} · false stops {false} of {judged} judged",
            per=per, lost="?" if row["lost"] != row["lost"] else f"{row['lost']:.3f}",
            false=int(row["false_stops"]), judged=int(row["judged"]),
        )
    )  # fmt: skip
show.table(
    answer, key="answer", placeholder="?",
    column_order=["preset", "keeps", "effort", "unit", "lost", "lost_low", "lost_high",
                  "false_stops", "judged", "iterations", "scored", "episodes", "effort_of"],
)  # fmt: skip
st.caption(
    t(
        "On the episodes that every preset has. Quality lost is the distance to the best score "
        "that any preset reached; at most 5 % of judged episodes may be stopped too early. Presets "
        "that only observe end nothing and are no candidates."
    )
)

st.subheader(t("Exit reasons by preset"), anchor=False)
show.chart(charts.exit_bars, exits, "exits", "Exit reasons by preset, as shares")
left, right = st.columns(2)
with left:
    st.subheader(t("Cost by preset"), anchor=False)
    show.chart(charts.cost_bars, totals, "totals", "Cost by preset in USD")
with right:
    st.subheader(t("Rounds"), anchor=False)
    lengths = data.read(figures.lengths, chosen)
    show.chart(charts.rounds, lengths, "rounds", "How many rounds episodes took")

st.subheader(t("Is each preset healthy?"), anchor=False)
verdicts = [
    one
    for one in data.read(health, data.run_id(), None, list(chosen.families))
    if not chosen.presets or one.preset in chosen.presets
]
if not verdicts:
    show.empty("No scored episode here, so health cannot be told.")
else:
    show.table(
        pd.DataFrame([
            {"preset": one.preset, "healthy": not one.findings, "scored": one.episodes,
             "quick": one.quick, "stagnated": one.stagnated, "limited": one.limited,
             "what is off": "; ".join(one.findings),
             "never reached": ", ".join(one.never_reached)}
            for one in verdicts
        ]),
        key="health",
    )  # fmt: skip
    st.caption(
        t(
            "Healthy: at least 60 % end on quality within two rounds, at most 25 % on stagnation, "
            "at most 5 % on limits."
        )
    )

st.subheader(t("What needs a human, and what is worth a look"), anchor=False)
look = data.read(figures.episodes, chosen, limit=200, least_weight=2)
if look.empty:
    st.success(t("Nothing needs a human."))
else:
    show.episodes(
        look, "look",
        ["scenario", "preset", "exit_reason", "iteration", "needs_human", "agreement",
         "replay", "best_score", "cost_usd", "message"],
    )  # fmt: skip
