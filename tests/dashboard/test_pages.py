"""Each page's logic, run in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.store.database import Store
from tests.dashboard.conftest import PAGES


def _texts(app) -> str:
    found = [*app.text, *app.caption, *app.info, *app.code, *app.success, *app.warning]
    return "\n".join(str(one.value) for one in found)


def _episode(store: Path, scenario: str, preset: str) -> str:
    rows = Store(store).rows(
        "SELECT episode_id FROM episodes WHERE scenario = ? AND preset = ? "
        "AND run_id = 'first'", [scenario, preset],
    )  # fmt: skip
    return rows[0]["episode_id"]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_speaks_both_languages(page, ran: Path, name: str) -> None:
    english = page(ran, name)
    chinese = page(ran, name, lang="中文")
    assert english.title[0].value != chinese.title[0].value
    assert english.title[0].value.endswith("?")


@pytest.mark.parametrize("name", PAGES)
def test_no_store_says_what_to_run(page, tmp_path: Path, name: str) -> None:
    app = page(tmp_path / "none.duckdb")
    assert "harness run" in _texts(app)


def test_an_empty_store_says_what_to_run(page, tmp_path: Path) -> None:
    Store(tmp_path / "empty.duckdb").create()
    assert "harness run" in _texts(page(tmp_path / "empty.duckdb"))


@pytest.mark.parametrize("name", PAGES[:-1])
def test_filters_that_nothing_fits(page, ran: Path, name: str) -> None:
    # The first run knows one preset only.
    app = page(ran, name, runs=["before"], presets=["reflection"])
    assert app.multiselect(key="runs").value == ["before"]
    assert app.info, _texts(app)


def test_which_preset_is_cheapest(page, ran: Path) -> None:
    app = page(ran, runs=["first"])
    app.slider(key="accept").set_value(0.05).run()
    assert app.code[0].value == "balanced"
    assert "an episode" in _texts(app)
    # Nothing may be lost: another answer, or none.
    strict = app.slider(key="accept").set_value(0.0).run()
    assert "balanced" not in [one.value for one in strict.code]


def test_only_the_chosen_presets_are_counted(page, ran: Path) -> None:
    every = page(ran, runs=["first"])
    some = page(ran, runs=["first"], presets=["cost", "reflection"])
    assert int(every.metric[0].value) == 2 * int(some.metric[0].value)
    assert some.multiselect(key="presets").value == ["cost", "reflection"]


def test_a_filter_that_the_store_does_not_know_is_dropped(page, ran: Path) -> None:
    app = page(ran, presets=["nonsense"])
    assert app.multiselect(key="presets").value == []


def test_why_did_this_one_stop(page, ran: Path) -> None:
    app = page(ran, "episode", episode=_episode(ran, "reflection/plateau", "reflection"))
    told = _texts(app)
    assert "stagnation (stuck) by stagnation in iteration 4" in told
    assert "signal 0.01 < threshold 0.02" in told
    assert "Reworded the meas" in told
    beside = app.selectbox(key="beside").set_value("balanced").run()
    assert "stagnation (stuck) by stagnation in iteration 5" in _texts(beside)


def test_an_episode_that_is_not_there(page, ran: Path) -> None:
    app = page(ran, "episode", episode="<b>nonsense</b>")
    assert [error.value for error in app.error] == ["This cannot be shown:"]
    assert "no episode" in _texts(app)


def test_iterations_show_what_was_recorded_there(page, ran: Path) -> None:
    app = page(ran, "episode", episode=_episode(ran, "reflection/plateau", "reflection"))
    first = app.slider(key="iteration").set_value(1).run()
    assert "First summary" in _texts(first)


def test_run_against_run(page, ran: Path) -> None:
    app = page(ran, "compare", before="before", after="first", presets=["cost"])
    assert "No regression" in _texts(app) or "cannot be told" in _texts(app)
    same = page(ran, "compare", before="first", after="first")
    assert "two different runs" in _texts(same)


def test_a_turned_threshold_moves_the_figures(page, ran: Path) -> None:
    app = page(ran, "tune", start="reflection")
    knob = next(one for one in app.select_slider if one.label.startswith("quality"))
    before = [tile.value for tile in app.metric]
    after = knob.set_value("off").run()
    assert not after.exception
    assert [tile.value for tile in after.metric] != before
    assert "quality" not in next(c.value for c in after.code if "[guards]" in c.value)


def test_a_run_that_observed_nothing_cannot_be_tuned(page, ran: Path) -> None:
    app = page(ran, "tune", runs=["before"])
    assert "harness run -p observe" in _texts(app)
