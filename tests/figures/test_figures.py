"""Figures say what the store and the terminal say, for any choice of episodes."""

from __future__ import annotations

import pandas as pd
import pytest

from harness import figures
from harness.errors import HarnessError
from harness.figures import Chosen
from harness.score import agreement
from harness.store.queries import query

RUN = {"run": "sample"}
ALL = Chosen(runs=("sample",))
TAGGED = "SELECT content_hash FROM scenarios WHERE list_contains(tags, 'stagnation')"


_TOKENS = (
    "list_sum([{0}.input_uncached, {0}.cache_read, {0}.cache_write, {0}.output, {0}.reasoning])"
)
DIFFERENCES = {
    "iterations": "(c.exit_iteration - b.exit_iteration)::DOUBLE",
    "tokens": f"({_TOKENS.format('c')} - {_TOKENS.format('b')})::DOUBLE",
    "cost_usd": "(c.cost_pico_usd - b.cost_pico_usd) / 1e12",
    "best_score": "if(scenario IN (SELECT scenario FROM scenarios WHERE direction = 'lower'), "
    "b.best_score - c.best_score, c.best_score - b.best_score)",
}


def table(frame, *columns):
    return [tuple(row) for row in frame[list(columns)].itertuples(index=False, name=None)]


def test_exits_are_those_of_the_terminal(store):
    said = {(r["preset"], r["exit_reason"], r["exit_group"], r["episodes"])
            for r in store.rows(query("by_preset"), RUN)}  # fmt: skip
    found = figures.exits(store, ALL)
    assert set(table(found, "preset", "exit_reason", "exit_group", "episodes")) == said
    assert found.groupby("preset")["share"].sum().round(12).tolist() == [1, 1, 1]


def test_totals_are_those_of_the_terminal(store):
    said = {r["preset"]: r for r in store.rows(query("totals_by_preset"), RUN)}
    for row in figures.totals(store, ALL).to_dict("records"):
        told = said[row["preset"]]
        assert {
            "episodes": row["episodes"], "iterations": row["iterations"],
            "tokens": row["tokens"], "without_tokens": row["tokens_unknown"],
            "without_cost": row["cost_unknown"], "scored": row["scored"],
            "needs_human": row["needs_human"], "unknown_verdicts": row["unknown_verdicts"],
            "censored": row["censored"], "diverged": row["diverged"],
        }.items() <= told.items()  # fmt: skip
        assert row["cost_usd"] == pytest.approx(told["cost_pico_usd"] / 1e12)
        assert row["mean_best"] == pytest.approx(told["best_score"])


def test_agreement_is_that_of_the_score(store):
    said = {
        r["preset"]: (r["cases"], r["right_verdicts"], r["false_stops"], r["late"], r["missed"],
                      r["wrong_reasons"], r["unknown"])
        for r in agreement(store, "sample")
    }  # fmt: skip
    found = figures.totals(store, ALL)
    columns = ("preset", "judged", "right", "false_stops", "late", "missed", "wrong_reasons",
               "not_judged")  # fmt: skip
    assert {row[0]: row[1:] for row in table(found, *columns)} == said


@pytest.mark.parametrize(
    ("chosen", "where"),
    [
        (Chosen(), "true"),
        (Chosen(runs=("none",)), "false"),
        (Chosen(presets=("balanced", "observe")), "preset IN ('balanced', 'observe')"),
        (Chosen(families=("spin",)), "family = 'spin'"),
        (Chosen(models=("gpt-4o-mini",)), "model = 'gpt-4o-mini'"),
        (Chosen(models=("(unknown)",)), "model IS NULL"),
        (Chosen(outcomes=("(unknown)",)), "outcome IS NULL"),
        (Chosen(tags=("stagnation",)), f"content_hash IN ({TAGGED})"),
        (Chosen(families=("spin",), presets=("observe",)),
         "family = 'spin' AND preset = 'observe'"),
    ],
)  # fmt: skip
def test_filters_choose_what_they_name(store, chosen, where):
    (expected,) = store.rows(f"SELECT count(*) AS n FROM episodes WHERE {where}")
    assert figures.count(store, chosen) == expected["n"]
    assert int(figures.totals(store, chosen)["episodes"].sum()) == expected["n"]
    assert len(figures.episodes(store, chosen, limit=10_000)) == expected["n"]


def test_choices_are_all_values(store):
    found = figures.choices(store)
    assert found["runs"] == ["sample"]
    assert found["presets"] == ["balanced", "observe", "reflection"]
    assert found["families"] == ["reflection", "spin"]
    assert set(found) == {"runs", "presets", "families", "tags", "models", "outcomes"}


def test_the_matrix_has_each_cell_once_and_says_where_presets_part(store):
    found = figures.matrix(store, ALL, limit=1_000)
    cells = table(found, "scenario", "preset")
    assert len(cells) == len(set(cells)) == figures.count(store, ALL)
    for _, rows in found.groupby("scenario"):
        endings = set(table(rows, "exit_reason", "iteration"))
        assert set(rows["differs"]) == {len(endings) > 1}
    some, everything = figures.differing(store, ALL)
    assert everything == found["scenario"].nunique()
    assert some == found[found["differs"]]["scenario"].nunique()
    part = figures.matrix(store, ALL, limit=2, offset=1, only_differing=True)
    assert part["scenario"].nunique() == 2


def test_pairs_are_differences_of_the_same_scenario(store):
    found = figures.paired(store, ALL, "observe")
    for row in found.to_dict("records"):
        (told,) = store.rows(
            "SELECT count(d) AS n, avg(d) AS mean, count(*) FILTER (d < 0) AS less FROM "
            f"(SELECT {DIFFERENCES[row['metric']]} AS d "
            "FROM episodes c JOIN episodes b USING (scenario) "
            "WHERE b.preset = 'observe' AND c.preset = ?)",
            [row["preset"]],
        )
        assert (row["scenarios"], row["less"]) == (told["n"], told["less"]), row
        assert row["mean"] == pytest.approx(told["mean"], abs=1e-9), row
        if row["low"] == row["low"] and row["low"] is not None:
            assert row["low"] <= row["mean"] <= row["high"]


def test_pairs_of_large_runs_have_normal_intervals(store):
    found = figures.paired(store, ALL, "observe", bootstrapped=0)
    assert set(found["method"]) == {"normal"}
    known = found[found["low"].notna()]
    assert (known["low"] < known["mean"]).all()
    assert (known["mean"] < known["high"]).all()


def test_a_normal_interval_is_near_the_bootstrapped_one():
    values = pd.Series([(n * 37 % 101) / 101 for n in range(300)])
    clusters = pd.Series([f"c{n % 100}" for n in range(300)])
    exact = figures.mean_interval(values, clusters)
    near = figures.mean_interval(values, clusters, bootstrapped=0)
    assert near == pytest.approx(exact, abs=0.01)
    assert figures.mean_interval(values * 0, clusters, bootstrapped=0) == (None, None)


def test_an_episode_is_all_that_is_stored_of_it(store):
    (row,) = store.rows(
        "SELECT episode_id, exit_iteration FROM episodes WHERE scenario = 'spin/cycle-of-three' "
        "AND preset = 'balanced'"
    )
    found = figures.episode(store, row["episode_id"])
    key = [row["episode_id"]]
    for part, source in (("iterations", "iterations"), ("signals", "signals"),
                         ("conditions", "conditions"), ("calls", "calls"), ("spans", "spans"),
                         ("events", "mechanism_events"), ("checks", "checks")):  # fmt: skip
        (told,) = store.rows(f"SELECT count(*) AS n FROM {source} WHERE episode_id = ?", key)
        assert len(found[part]) == told["n"], part
    signals = found["signals"]
    fired = signals[signals["fired"]]
    assert len(fired)
    assert (fired["margin"] >= 0).all()
    assert (found["spans"]["depth"] >= 0).all()
    assert found["spans"]["start_ms"].min() == 0
    assert found["head"]["exit_iteration"].tolist() == [row["exit_iteration"]]


def test_huge_texts_are_cut_and_say_how_long_they_were(store):
    (row,) = store.rows("SELECT episode_id FROM episodes ORDER BY episode_id LIMIT 1")
    texts = figures.episode(store, row["episode_id"], most=5)["texts"]
    assert texts["text"].str.len().max() == 5
    assert texts["length"].max() > 5


def test_guards_count_their_readings(store):
    for row in figures.guards(store, ALL).to_dict("records"):
        (told,) = store.rows(
            "SELECT count(*) AS readings, count(*) FILTER (s.fired) AS fired, "
            "count(*) FILTER (s.unknown) AS unknown FROM signals s JOIN episodes e "
            "USING (run_id, episode_id) WHERE e.preset = ? AND s.guard = ?",
            [row["preset"], row["guard"]],
        )
        assert told.items() <= row.items()


def test_the_rest_is_asked_without_surprise(store):
    assert figures.runs(store)["run_id"].tolist() == ["sample"]
    assert int(figures.data(store)["episodes"].sum()) == figures.count(store)
    assert int(figures.lengths(store, ALL)["episodes"].sum()) == figures.count(store)
    assert set(figures.trend(store, ALL)["run_id"]) == {"sample"}
    assert len(figures.lessons(store, limit=1)) <= 1
    for name in ("mechanisms", "decided", "roles"):
        assert not getattr(figures, name)(store, ALL).empty


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda s: figures.episodes(s, order="cots"), "order"),
        (lambda s: figures.paired(s, ALL, "observed"), "base preset"),
        (lambda s: figures.episode(s, "nothing"), "no episode 'nothing'"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(store, ask, says):
    with pytest.raises(HarnessError, match=says) as caught:
        ask(store)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("order", figures.ORDERS)
def test_every_order_pages_without_gap_or_double(store, order):
    everything = figures.episodes(store, ALL, limit=10_000, order=order)["episode_id"].tolist()
    pages = [
        figures.episodes(store, ALL, limit=25, offset=at, order=order)["episode_id"].tolist()
        for at in range(0, len(everything), 25)
    ]
    assert sum(pages, []) == everything  # noqa: RUF017 - three short lists
