"""Pictures of what other thresholds would have done, where the run watched loops to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import charts
from harness.errors import HarnessError
from harness.preset import bundled, load_preset
from harness.report.blocks import (
    Picture,
    Sentence,
    Table,
    count,
    recorded,
    rows,
    score,
    share,
    table,
    usd,
)
from harness.report.facts import Facts
from harness.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

    from harness.preset import Preset
    from harness.tune.corpus import Corpus

#: Guards of which every threshold is shown; episodes up to which worth is attributed in seconds.
_STEPPED, _MOST = 3, 5_000
#: Observed episodes that a report reads into arrays; of more, ``harness tune`` tells more.
_READ = 20_000
#: Rows of a step table.
_ROWS = 40
_MEASURES = {"saved": "cost saved", "iterations": "iterations saved", "lost": "quality lost",
             "false_stops": "false stops"}  # fmt: skip


_NOTHING = (
    "No bundled preset and its observation are both in this run, so other thresholds cannot be "
    "shown: harness run -p observe -p balanced."
)


def tuned(store: Store, facts: Facts) -> tuple[tuple[Sentence, ...], tuple[Picture, ...]]:
    """What tuning can say of a run; a sentence says why where it can say nothing."""
    watched = facts.totals[facts.totals["observed"].astype(bool)]["preset"].tolist()
    known = bundled()
    acting = [r["preset"] for r in rows(facts.cheapest) if not r["observed"]]
    wanted = next((name for name in acting if name in known), None)
    if not watched or wanted is None:
        return ((_NOTHING,),), ()
    observed = facts.totals[facts.totals["preset"] == watched[0]]
    if int(observed["episodes"].iloc[0]) > _READ:
        return ((f"More than {_READ:,} episodes were observed: see harness tune.",),), ()
    try:
        return _found(store, facts.run, str(watched[0]), wanted)
    except HarnessError as error:
        return (("Other thresholds cannot be shown: ", recorded(str(error), 300), "."),), ()


def _found(
    store: Store, run: str, watched: str, wanted: str
) -> tuple[tuple[Sentence, ...], tuple[Picture, ...]]:
    # Arrays of all readings: only where a report is made of an observed run.
    from harness.tune.corpus import read
    from harness.tune.ends import observed_preset
    from harness.tune.explore import outcome, start

    corpus = read(store, run, watched)
    begin = start(corpus, observed_preset(store, corpus), load_preset(wanted))
    ends = outcome(corpus, [begin.preset])
    curve = ends.incidence[begin.preset.name]
    told = (
        f": {count(len(corpus))} episodes, of which {count(ends.left_out)} cannot be told without "
        "a replay. Shown are the guards of "
    )
    sentences: list[Sentence] = [(
        "Observed under ", recorded(watched), told, recorded(wanted),
        " as a sweep applies them: each stops at once.",
    )]  # fmt: skip
    if begin.notes:
        sentences.append((recorded("; ".join(begin.notes), 600), "."))
    worth = _worth(corpus, begin.preset)
    pictures = [
        Picture("incidence", ("By when has what ended the loops?",),
                lambda: charts.incidence(curve, "inherit"), _curve(curve)),
        *_attributed(worth),
        *_steps(corpus, begin.preset, worth),
    ]  # fmt: skip
    return tuple(sentences), tuple(pictures)


def _curve(frame: pd.DataFrame) -> Table:
    return table(
        ("cause", ">iteration", ">at risk", ">ended", ">share by then", ">95 % interval"),
        (
            (r["cause"], count(r["iteration"]), count(r["at_risk"]), count(r["events"]),
             share(r["share"]), f"{share(r['low'])} to {share(r['high'])}")
            for r in rows(frame) if r["events"]
        ),
    )  # fmt: skip


def _worth(corpus: Corpus, preset: Preset) -> pd.DataFrame | None:
    """What each guard is worth, where that is a matter of seconds; none that changes nothing."""
    from harness.tune.explore import worth_frame

    if len(corpus) > _MOST:
        return None
    try:
        frame = worth_frame(corpus, preset)
    except HarnessError:
        # Too many guards fire to tell them apart: the other pictures stand without this one.
        return None
    return frame[frame["share"] != 0]


def _attributed(frame: pd.DataFrame | None) -> list[Picture]:
    if frame is None or frame.empty:
        return []
    numbers = table(
        ("measure", "guard", ">fair share", ">alone", ">missing without it"),
        (
            (_MEASURES.get(r["measure"], r["measure"]), recorded(r["guard"]),
             *(_amount(r["measure"], r[name]) for name in ("share", "alone", "left_out")))
            for r in rows(frame)
        ),
    )  # fmt: skip
    return [Picture("worth", ("What is each guard worth?",),
                    lambda: charts.attribution(frame, "inherit"), numbers)]  # fmt: skip


def _amount(measure: str, value: float) -> str:
    if measure == "saved":
        return usd(value)
    return score(value) if measure == "lost" else count(value)


def _steps(corpus: Corpus, preset: Preset, worth: pd.DataFrame | None) -> list[Picture]:
    """Every threshold of the guards that end most iterations."""
    from harness.tune.explore import step_frame

    if worth is None:
        return []
    saving = worth[worth["measure"] == "iterations"].sort_values(
        ["share", "guard"], ascending=[False, True]
    )
    names = [name for name in saving["guard"].tolist() if name in preset.guards][:_STEPPED]
    return [
        _step(f"steps-{at}", name, float(preset.guards[name].threshold),
              step_frame(corpus, name, preset))
        for at, name in enumerate(names, 1)
    ]  # fmt: skip


def _step(place: str, name: str, threshold: float, frame: pd.DataFrame) -> Picture:
    shown = frame[["threshold", "false_stops", "cost_saved", "lost"]]
    thinned = frame.iloc[:: max(1, -(-len(frame) // _ROWS))]
    numbers = table(
        (">threshold", ">false stops", ">cost saved", ">quality lost", ">ended", ">iterations"),
        (
            (score(r["threshold"]), count(r["false_stops"]), usd(r["cost_saved"]),
             score(r["lost"]), count(r["ended"]), count(r["iterations"]))
            for r in rows(thinned)
        ),
        "" if len(thinned) == len(frame) else f"of {len(frame):,} thresholds that matter",
    )  # fmt: skip
    return Picture(
        place, ("What would another threshold of ", recorded(name), " have done?"),
        lambda: charts.step_function(shown, threshold, "inherit", name), numbers,
    )  # fmt: skip
