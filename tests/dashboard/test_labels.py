"""What a reader says of a stop is kept, and score, truth and tuning hear of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.labels import clear_label, label_of, set_label, stops
from harness.preset import load_presets
from harness.run import run
from harness.score import agreement
from harness.store.database import Store
from tests.examples import scenario, step
from tests.stored import jsonl, refusal

#: Nobody wrote down what a sensible user expects of it.
FLAT = scenario(
    [step(text=f"Draft {n}.", score=score) for n, score in enumerate((0.5, 0.6, 0.6, 0.6, 0.9))],
    id="labels/flat",
)
PRESETS = ["reflection", "balanced", "observe"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "labels.duckdb")
    run([jsonl(tmp_path / "flat.jsonl", FLAT)], load_presets(PRESETS), made, run_id="one")
    return made


def _episode(store: Store, preset: str) -> str:
    (row,) = store.rows("SELECT episode_id FROM episodes WHERE preset = ?", [preset])
    return row["episode_id"]


def _agreement(store: Store) -> dict[str, str]:
    rows = store.rows("SELECT preset, agreement FROM agreement WHERE run_id = 'one'")
    return {row["preset"]: row["agreement"] for row in rows}


def test_a_false_stop_is_one_in_the_score(store: Store) -> None:
    episode = _episode(store, "reflection")
    assert label_of(store, episode) is None
    assert agreement(store, "one") == []
    set_label(store, episode, "false", "It was about to get better.")
    assert label_of(store, episode)["label"] == "false"
    assert _agreement(store)["reflection"] == "false stop"
    counted = {row["preset"]: row["false_stops"] for row in agreement(store, "one")}
    assert counted["reflection"] == 1


@pytest.mark.parametrize(("label", "told"), [("right", "right"), ("late", "late")])
def test_right_and_late(store: Store, label: str, told: str) -> None:
    set_label(store, _episode(store, "reflection"), label)
    assert _agreement(store)["reflection"] == told


def test_a_second_label_replaces_the_first_and_can_be_taken_away(store: Store) -> None:
    episode = _episode(store, "reflection")
    set_label(store, episode, "late")
    set_label(store, episode, "right", "on second thoughts")
    assert label_of(store, episode)["note"] == "on second thoughts"
    clear_label(store, episode)
    assert label_of(store, episode) is None
    assert _agreement(store) == {}


def test_a_label_holds_for_the_same_stop_of_another_run(store: Store, tmp_path: Path) -> None:
    set_label(store, _episode(store, "reflection"), "false")
    run([tmp_path / "flat.jsonl"], load_presets(["reflection"]), store, run_id="two")
    (row,) = store.rows("SELECT agreement FROM agreement WHERE run_id = 'two'")
    assert row["agreement"] == "false stop"


def test_what_a_label_says_of_other_stops(store: Store) -> None:
    set_label(store, _episode(store, "reflection"), "false")
    ((content, found),) = stops(store).items()
    (at,) = store.rows("SELECT exit_iteration AS n FROM episodes WHERE preset = 'reflection'")
    assert content == FLAT.content_hash
    assert found == (at["n"], 0)
    # Watching ends nothing, so it is no answer.
    assert _agreement(store)["observe"] == "unknown"


def test_refusals(store: Store) -> None:
    assert "choose from: false, late, right" in refusal(
        set_label, store, _episode(store, "reflection"), "wrong"
    )
    assert "no episode 'x'" in refusal(set_label, store, "x", "right")
    assert "was not stopped" in refusal(set_label, store, _episode(store, "observe"), "right")


def test_a_store_of_an_older_harness_gets_the_table(store: Store) -> None:
    episode = _episode(store, "reflection")
    store.execute("DROP VIEW agreement")
    store.execute("DROP VIEW labelled")
    store.execute("DROP TABLE labels")
    store.execute("UPDATE store_meta SET value = 'older' WHERE key = 'schema'")
    assert label_of(store, episode) is None
    assert stops(store) == {}
    clear_label(store, episode)
    set_label(store, episode, "right")
    assert _agreement(store)["reflection"] == "right"


def test_the_page_asks_and_keeps(page, store: Store) -> None:
    episode = _episode(store, "reflection")
    app = page(store.path, "episode", episode=episode)
    app.radio[0].set_value("late")
    app.text_input[0].set_value("<b>three drafts ago</b>")
    next(button for button in app.button if button.label == "Save").click()
    app.run()
    assert not app.exception
    assert label_of(store, episode)["label"] == "late"
    assert "<b>three drafts ago</b>" in [text.value for text in app.text]
    next(button for button in app.button if "away" in button.label).click()
    app.run()
    assert label_of(store, episode) is None
    watched = page(store.path, "episode", episode=_episode(store, "observe"))
    assert not watched.radio


def test_tuning_believes_readers(store: Store) -> None:
    import numpy as np

    from harness.tune.corpus import read
    from harness.tune.risk import at_risk
    from harness.tune.sums import worth
    from harness.tune.value import at_iterations, judged

    def false(corpus):
        steps = np.arange(1, 6, dtype=np.int32)[:, None]
        one = at_iterations(corpus, steps).false_stop[:, 0]
        assert worth(corpus)["false_stops"].tolist() == one.tolist()
        assert at_risk(corpus).tolist() == [one.sum()]
        return one.tolist()

    episode = _episode(store, "reflection")
    (at,) = store.rows("SELECT exit_iteration AS n FROM episodes WHERE episode_id = ?", [episode])
    assert at["n"] == 4
    # By the scores alone, every stop before the last draft misses the best one.
    assert false(read(store, "one", "observe")) == [True] * 4 + [False]
    set_label(store, episode, "late")
    corpus = read(store, "one", "observe")
    assert false(corpus) == [True] * 3 + [False] * 2
    assert judged(corpus).all()
    set_label(store, episode, "false")
    assert false(read(store, "one", "observe")) == [True] * 4 + [False]
