"""Which guards and mechanisms did anything, and what do they miss?"""

from __future__ import annotations

import inspect
from dataclasses import asdict

import pandas as pd
import streamlit as st

from dashboards import data, show
from dashboards.words import t
from harness import charts, figures
from harness.errors import PresetError
from harness.guards import catalogue
from harness.lint import lint
from harness.tune.classifiers import Roc, classify
from harness.tune.labelled import bundled

show.heading(
    "Which guards did anything, and what do they miss?",
    "Firing rates, what could not be judged, what ran or was skipped, and what lint says.",
)
chosen = data.chosen()
guards = data.read(figures.guards, chosen)
if guards.empty:
    show.empty(
        "No guard was on in these episodes. Take some filters away, or run more:", "harness run"
    )
else:
    silent = guards[guards["never_reached"]]
    tiles = st.columns(3)
    tiles[0].metric(t("Guards by preset"), len(guards))
    tiles[1].metric(t("Never reached"), len(silent), help=t("No signal came to the threshold."))
    tiles[2].metric(
        t("Could not be judged"), f"{guards['unknown'].sum():,.0f}",
        help=t("Readings without a score, a price or a sensor; they never fire."),
    )  # fmt: skip
    st.subheader(t("Firing rates and unknowns"), anchor=False)
    order = ["preset", "guard", "comparison", "threshold", "nearest", "episodes",
             "fired_episodes", "ended", "unknown_share", "never_reached", "on_fire"]  # fmt: skip
    show.table(guards.sort_values(["ended", "fired_episodes"], ascending=False), key="guards",
               column_order=order, placeholder="?")  # fmt: skip
    show.download(guards, "guards")

st.subheader(t("What ran, what was skipped, and why"), anchor=False)
mechanisms = data.read(figures.mechanisms, chosen)
if mechanisms.empty:
    show.empty("No mechanism was on in these episodes.")
else:
    show.table(mechanisms, key="mechanisms")
    show.download(mechanisms, "mechanisms")
st.subheader(t("Who is asked, and what it costs"), anchor=False)
roles = data.read(figures.roles, chosen)
show.chart(charts.role_costs, roles, "roles", "Cost by preset and role")
st.caption(t("Turns classified by code alone, and by asking the judge"))
decided = data.read(figures.decided, chosen)
if decided.empty:
    show.empty("No turn had to be classified.")
else:
    show.table(decided, key="decided", placeholder="?")

st.subheader(t("Lessons that recur"), anchor=False)
lessons = data.read(figures.lessons)
if lessons.empty:
    show.empty(
        "No lesson was written: they come from reflection and from presets with a feedback log."
    )
else:
    show.table(lessons, key="lessons", placeholder="")
    show.download(lessons, "lessons")

st.subheader(t("Lint"), anchor=False)
st.caption(t("Thresholds that can never fire or never decide, by preset."))
rows = []
for name in sorted(guards["preset"].unique()):
    try:
        rows += [asdict(one) for one in data.made(lint, str(name))]
    except PresetError:
        # A preset from a file that is not here: the store has its numbers, lint wants its text.
        show.plain(t("not bundled, so lint it yourself: harness lint FILE") + f" ({name})")
if rows:
    show.table(pd.DataFrame(rows)[["severity", "preset", "code", "key", "message"]], key="lint")
else:
    st.success(t("Nothing to say."))


def rates() -> list[Roc]:
    """The rules that read texts, on the bundled examples."""
    return classify(bundled())


st.subheader(t("How well do the rules that read texts tell?"), anchor=False)
st.caption(
    t("On bundled examples that are hard on purpose: they show where a rule errs, not how often.")
)
found = data.made(rates)
labels = [f"{one.kind}: {one.positive}" for one in found]
which = st.selectbox(t("Rule"), labels, key="rule", bind="query-params")
one = found[labels.index(which)]
left, right = st.columns(2)
with left:
    show.chart(
        charts.roc, one.frame(), "roc", "Recall against false alarms",
        words=f"area {one.auc:.2f} (95 %: {one.low:.2f} to {one.high:.2f})",
    )  # fmt: skip
with right:
    st.caption(t("{n} errors of the bundled setting on {m} examples", n=len(one.errors),
                 m=one.positives + one.negatives))  # fmt: skip
    if one.errors:
        show.table(pd.DataFrame([asdict(error) for error in one.errors]), key="errors")

st.subheader(t("The catalogue"), anchor=False)
kinds = catalogue()
kind = st.selectbox(
    t("Guard"), list(kinds), index=list(kinds).index("quality"), key="kind", bind="query-params"
)
cls = kinds[kind]
default = cls.default_threshold()
show.table(
    pd.DataFrame([{
        "signal": cls.measures, "fires": cls.comparison,
        "threshold": "-" if default is None else f"{default:g}", "exit_reason": cls.reason.value,
    }]), key="catalogue",
)  # fmt: skip
st.text(inspect.cleandoc(cls.__doc__ or "").replace("``", ""))
