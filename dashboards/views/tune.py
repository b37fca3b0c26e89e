"""What would other thresholds have done?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboards import data, show
from dashboards.words import t
from harness import charts
from harness.errors import HarnessError
from harness.preset import bundled, load_preset
from harness.tune.choose import MAX_FALSE_STOP, Objective
from harness.tune.corpus import Corpus, Ints, read
from harness.tune.ends import Evaluator
from harness.tune.evidence import gap, header, notes, over_splits, verdict
from harness.tune.explore import front_frame, outcome, start, step_frame, turned, worth_frame
from harness.tune.presettext import preset_text
from harness.tune.split import units
from harness.tune.study import Request, Study, study

show.heading(
    "What would other thresholds have done?",
    "Every signal was recorded, so any threshold can be tried: exactly, and without a model.",
)
run_id = data.run_id()
watched = data.store().rows(
    "SELECT DISTINCT preset FROM episodes WHERE run_id = ? AND observe ORDER BY preset", [run_id]
)
if not watched:
    show.empty(
        "This run watched no loop to its end, so other thresholds cannot be told. Observe one:",
        "harness run -p observe",
    )
    st.stop()
names = [str(row["preset"]) for row in watched]


@st.cache_resource(show_spinner="…", show_time=True, max_entries=4)
def observed(file: str, work: str, run: str, preset: str) -> tuple[Corpus, Evaluator, Ints]:
    """An observed run as arrays, and which episodes belong together; they are only read."""
    corpus = read(data.store(), run, preset)
    return corpus, Evaluator.of(data.store(), corpus), units(corpus).unit


left, right = st.columns(2)
watcher = left.selectbox(t("Observed under"), names, key="observed", bind="query-params")
presets = sorted(name for name in bundled() if not name.startswith("peer-") and name != "observe")
begin_with = right.selectbox(
    t("Start from preset"), presets, index=presets.index("balanced"), key="start",
    bind="query-params",
)  # fmt: skip
corpus, evaluator, unit = observed(str(data.path()), data.work(run_id), run_id, watcher)
families = data.chosen().families
if families:
    members = [at for at, family in enumerate(corpus.families) if family in families]
    if not members:
        show.empty("No observed episode fits these filters.")
        st.stop()
    corpus, unit = corpus.only(members), unit[members]  # type: ignore[arg-type]
begin = start(corpus, evaluator.observed, load_preset(begin_with))
if begin.notes:
    show.plain("\n".join(begin.notes))

st.subheader(t("Turn the thresholds"), anchor=False)
settings: dict[str, float | None] = {}
OFF = t("off")


def knob(one: Any) -> None:
    """One slider; each position is a threshold at which something changes."""
    positions = [OFF, *dict.fromkeys(one.shown)]
    points = dict(zip(one.shown, one.points, strict=True))
    current = one.made.shown(one.made.threshold)
    number = begin.knobs.index(one)
    value = st.select_slider(
        f"{show.named(one.guard, t('guard {n}', n=number + 1))} ({one.made.comparison})",
        positions, value=current if one.on and current in points else OFF,
        key=f"{begin_with}.{one.guard}", help=t(one.made.measures), bind="query-params",
    )  # fmt: skip
    settings[one.guard] = points.get(str(value))


on = [one for one in begin.knobs if one.on]
off = [one for one in begin.knobs if not one.on]
for place, one in enumerate(on):
    if place % 3 == 0:
        row = st.columns(3)
    with row[place % 3]:
        knob(one)
with st.expander(t("{n} more guards, off so far", n=len(off))):
    for place, one in enumerate(off):
        if place % 3 == 0:
            row = st.columns(3)
        with row[place % 3]:
            knob(one)
mine = turned(begin, settings)
found = outcome(corpus, [begin.preset, mine], unit)
st.caption(
    t(
        "On {n} episodes; {left_out} would have to be replayed and are left out.",
        n=found.episodes, left_out=found.left_out,
    )
)  # fmt: skip
why = evaluator.why_replayed(mine)
if why:
    show.plain(t("Not exact for these settings:") + f" {why}")
before, after = (found.totals.iloc[row] for row in (0, 1))


def tile(place: Any, title: str, name: str, words: str, note: str = "") -> None:
    """A figure, and how it differs from where turning began."""
    now, was = after[name], before[name]
    if now is None or now != now:
        place.metric(title, "?")
        return
    delta = None if now == was else words.format(now - was).replace("$-", "-$").replace("+-", "-")
    place.metric(title, words.format(now) + note, delta, delta_color="inverse")


tiles = st.columns(4)
tile(tiles[0], t("Iterations, mean"), "mean_iterations", "{:.2f}")
tile(tiles[1], t("Cost (known part)"), "cost_usd", "${:.4f}")
tile(tiles[2], t("False stops"), "false_stops", "{:d}", f" / {after['judged']}")
tile(tiles[3], t("Quality lost"), "lost", "{:.4f}")
show.chart(charts.exit_bars, found.exits, "tuned_exits", "Exit reasons before and after")
st.caption(t("Replays: {exact} exact, {censored} censored, {diverged} diverged.",
             exact=int(after["exact"]), censored=int(after["censored"]),
             diverged=int(after["diverged"])))  # fmt: skip
show.numbers(found.totals, "tuned_totals", "Figures of both, with intervals and bounds")

text = preset_text(mine, title="Tuned by hand", header=[f"Turned by hand, from {begin_with}."])
st.download_button(
    t("Save as preset"), text.encode(), "mine.toml", "application/toml", on_click="ignore",
    key="save", type="primary",
)  # fmt: skip
with st.expander(t("The preset file")):
    st.code(text, language="toml")
    st.code("harness run -p mine.toml", language="sh")

st.subheader(t("One threshold, all its steps"), anchor=False)
turnable = [one.guard for one in begin.knobs]
first = turnable.index("quality") if "quality" in turnable else 0
which = st.selectbox(t("Guard"), turnable, index=first, key="guard", bind="query-params")
stepped = step_frame(corpus, which, mine)
show.chart(
    charts.step_function, stepped, "steps", "What each threshold of this guard would have done",
    settings.get(which),
)  # fmt: skip

left, right = st.columns(2)
with left:
    st.subheader(t("When loops end, by cause"), anchor=False)
    show.chart(charts.incidence, found.incidence["mine"], "incidence",
               "Share of episodes that ended by each iteration, by cause")  # fmt: skip
with right:
    st.subheader(t("What each guard is worth"), anchor=False)
    try:
        worth = worth_frame(corpus, mine)
    except HarnessError as error:
        show.plain(str(error))
    else:
        show.chart(charts.attribution, worth, "worth", "What each guard saves and loses")

st.subheader(t("Let the harness choose, and check it on tasks it has not seen"), anchor=False)
most = st.slider(t("Most false stops I accept (share)"), 0.0, 0.3, MAX_FALSE_STOP, 0.01,
                 key="most_false", bind="query-params")  # fmt: skip


def _told(bar: Any, share: float) -> None:
    bar.progress(min(1.0, share))


@st.cache_resource(show_spinner=False, max_entries=4)
def chosen_by(file: str, work: str, request: Request) -> Study:
    """A study; kept until the run or its labels change."""
    bar = st.progress(0.0, t("Trying presets…"))
    try:
        return study(data.store(), request, lambda done, total: _told(bar, done / total))
    finally:
        bar.empty()


request = Request(run_id, watcher, objective=Objective(max_false_stop=most))
if st.button(t("Choose")) or st.session_state.get("_chose") == request:
    st.session_state["_chose"] = request
    try:
        result = chosen_by(str(data.path()), data.work(run_id), request)
    except HarnessError as error:
        show.plain(str(error))
    else:
        show.plain(verdict(result))
        show.plain(gap(result.common.policies[0], result.unit))
        show.plain(over_splits(result.repeated, result.unit))
        show.plain("\n".join(notes(result)))
        show.chart(charts.pareto, front_frame(result), "front", "Presets by effort and harm",
                   effort=t(result.unit))  # fmt: skip
        tuned = preset_text(
            result.common.preset, title="Tuned", header=header(result, result.common)
        )
        st.download_button(t("Save the chosen preset"), tuned.encode(), "tuned.toml",
                           "application/toml", on_click="ignore")  # fmt: skip
        with st.expander(t("The preset file")):
            st.code(tuned, language="toml")
